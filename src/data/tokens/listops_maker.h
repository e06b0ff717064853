// Makes the files of ListOps by the rules of the Long Range Arena.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "data/tokens/listops_expression.h"

namespace primal::data {

struct ListOpsRequest {
  std::filesystem::path folder;  ///< made if it is not there
  int64_t seed = 1;
  int64_t train = 96000, val = 2000, test = 2000;  ///< examples
  ListOpsLimits limits = {};
  int64_t threads = 1;  ///< nothing in the files depends on it
  /// Told between two pieces of work; of = twice the examples, as each is drawn and later written.
  std::function<void(int64_t done, int64_t of)> progress = nullptr;
  std::function<bool()> stop = nullptr;  ///< asked every few hundredths of a second
};

/// Writes basic_train.tsv, basic_val.tsv and basic_test.tsv, whose expressions are all different: the same bytes for
/// the same seed on every machine. About 660 MB with the defaults, and 115 MB of memory. False if it was stopped: then
/// no file was written. Throws primal::Error if the request makes no sense or cannot be met, or a file cannot be
/// written.
bool make_listops(const ListOpsRequest& request);

}  // namespace primal::data
