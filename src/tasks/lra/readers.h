// The files of the Long Range Arena's tasks as token sets: all parts of a folder, or one file.
#pragma once

#include <cstdint>
#include <filesystem>

#include "tasks/lra/token_parts.h"

namespace primal::tasks {

// Of each sequence the first `tokens` are kept.
TokenParts read_listops_parts(const std::filesystem::path& place, int64_t tokens);
TokenParts read_text_parts(const std::filesystem::path& place, int64_t tokens);
TokenParts read_aan_parts(const std::filesystem::path& place, int64_t tokens);
TokenParts read_wikitext_parts(const std::filesystem::path& place, int64_t tokens);
TokenParts read_image_parts(const std::filesystem::path& place, int64_t tokens);
TokenParts read_pathfinder_parts(const std::filesystem::path& place, int64_t tokens);

data::TokenSet read_listops_file(const std::filesystem::path& file, int64_t tokens);
data::TokenSet read_text_file(const std::filesystem::path& file, int64_t tokens);
data::TokenSet read_pairs_file(const std::filesystem::path& file, int64_t tokens);
data::TokenSet read_image_file(const std::filesystem::path& file, int64_t tokens);
data::TokenSet read_pathfinder_file(const std::filesystem::path& file, int64_t tokens);

}  // namespace primal::tasks
