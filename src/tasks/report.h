// `primal report`: run directories to one HTML file.
#pragma once

#include <filesystem>
#include <vector>

namespace primal::tasks {

/// Writes the page and gives its path: `output`, or report.html in the first folder. A folder that holds the runs of
/// several seeds stands for all of them.
std::filesystem::path write_report(const std::vector<std::filesystem::path>& folders,
                                   const std::filesystem::path& output = {});

}  // namespace primal::tasks
