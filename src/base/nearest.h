// The name that was probably meant, for error messages.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace primal::base {

/// The candidate with the fewest single-character changes from `name`, upper and lower case being equal; the first of
/// several. Nothing if more than half of the longer name would have to change.
std::optional<std::string> nearest(std::string_view name, std::span<const std::string> candidates);

}  // namespace primal::base
