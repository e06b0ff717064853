// Where the program finds what came with it: presets, and the virtual environment with the aeon wheel.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/search_path.h"

namespace primal::tasks {

/// The folder of the running program; empty if the system does not tell.
std::filesystem::path program_folder();

/// The checkout that the program was built in; it need not be there.
std::filesystem::path checkout();

/// Folders that are looked in for presets and what belongs to them, in this order; they need not be there.
std::vector<std::filesystem::path> preset_folders();

/// Whether a preset of this name is there.
bool is_preset(const std::string& name);

/// The file of a preset such as "uea/JapaneseVowels", or the path itself if it ends in .toml. Throws Error that names
/// the nearest preset.
std::filesystem::path preset_file(const std::string& name);

/// "uea/JapaneseVowels", ..., sorted. Files whose name begins with an underscore are bases, not presets.
std::vector<std::string> preset_names();

/// `option` is the value of --data, or empty; then PRIMAL_DATA, data/, the aeon wheel.
data::SearchPath data_search_path(const std::string& option);

}  // namespace primal::tasks
