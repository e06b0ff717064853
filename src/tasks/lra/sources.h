// The tasks of the Long Range Arena: where their files are looked for, how they are read and, if they can be, made.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/search_path.h"
#include "tasks/lra/token_parts.h"
#include "tasks/make_data.h"

namespace primal::tasks {

/// A folder below one of the search path, and the file or folder by which it is known.
struct DataPlace {
  std::string folder, probe;
};

struct LraSource {
  std::string name;            ///< as in data.task: "listops"
  std::string help;            ///< one line
  int64_t tokens = 0;          ///< longest sequence as published
  int64_t symbols = 256;       ///< values that a token can have
  bool is_image = false;       ///< grey values, row by row
  bool has_validation = true;  ///< else the honest protocol holds a part of TRAIN out
  std::vector<DataPlace> places;
  std::string advice;  ///< how to get the files
  /// place: a folder that was found; tokens: sequences are cut to so many.
  TokenParts (*read)(const std::filesystem::path& place, int64_t tokens) = nullptr;
  /// Examples of one file, with their labels.
  data::TokenSet (*read_file)(const std::filesystem::path& file, int64_t tokens) = nullptr;
  /// How the files are made; null: they cannot be.
  const DataMaker* maker = nullptr;
};

std::span<const LraSource> lra_sources();
/// By its name. Throws Error that lists them.
const LraSource& lra_source(const std::string& name);

/// The folder with the files of the task, or nothing.
std::optional<std::filesystem::path> find_lra(const LraSource& source, const data::SearchPath& search);
/// The same, or an Error that says what was looked for, where, and how to get it.
std::filesystem::path locate_lra(const LraSource& source, const data::SearchPath& search);

/// What `primal data make` can make of them.
std::span<const DataMaker> lra_makers();

}  // namespace primal::tasks
