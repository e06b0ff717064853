// The parts of a Long Range Arena task as a protocol sees them, and what a run writes down of them: RUN/data.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tasks/family.h"
#include "tasks/lra/config.h"
#include "tasks/lra/sources.h"

namespace primal::tasks {

struct LraFacts {
  std::string name;                  ///< "lra/listops"
  int64_t tokens = 0;                ///< sequences are cut to so many
  std::vector<std::string> classes;  ///< in the order of the model's outputs
  int64_t per_example = 1;           ///< sequences
  std::string fingerprint;           ///< of the training data before anything is held out
  std::string test_fingerprint;      ///< of TEST
};

nlohmann::json to_json(const LraFacts& facts);
/// Reads data.json. Throws Error with the path.
LraFacts read_lra_facts(const std::filesystem::path& path);

/// Of the set as it came: nothing is held out yet.
LraFacts facts_of(const LraConfig& config, const TokenParts& parts);

/// Reads all parts of the task of the configuration; makes them first if they are missing, can be made and
/// opening.progress shows it.
TokenParts load_lra(const LraConfig& config, const Opening& opening);

/// Holds a validation part out of TRAIN if the task has none: stratified, by the seed of the run. Throws Error if the
/// share is too small for a single example.
void hold_out(TokenParts& parts, double share, uint64_t seed);

/// The longest sequence of the configuration's task.
int64_t tokens_of(const LraConfig& config);

}  // namespace primal::tasks
