// Text of a token where one line must hold it.
#pragma once

#include <string>
#include <string_view>

namespace primal::tasks {

/// \n, \r, \t and \\ for those characters, \x1b for other control characters and for bytes that are no UTF-8 by
/// themselves.
std::string visible_text(std::string_view text);

}  // namespace primal::tasks
