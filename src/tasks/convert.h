// `primal convert`: layers of a trained run replaced by primal ones, which first learn what the old ones did; then the
// whole model is trained for a while.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "tasks/conversion.h"

namespace primal::tasks {

struct ConvertRequest {
  std::filesystem::path run;
  std::string layers = "last";                    ///< last, all (that are not primal), or numbers from below: "1,3"
  std::vector<std::string> set{};                 ///< "key=value" for the new run
  std::optional<std::filesystem::path> folder{};  ///< of the new run; default: RUN-converted
  std::string length{};                           ///< of the training that follows; default: a tenth of the run's own
  std::string data{};                             ///< --data
  int64_t threads = 0;                            ///< 0: as the run
  int64_t examples = 0;                           ///< to learn from, spread over all; 0: 2048, fewer of long ones
  int64_t steps = 400;                            ///< of gradient descent for each layer
  bool tune = true;                               ///< else the new run is left as the conversion made it
  bool scratch = false;                           ///< also the new configuration from scratch, as long as RUN was
};

struct ConvertSummary {
  bool interrupted = false;
  std::filesystem::path folder{};
  Conversion conversion{};
};

/// The new run is a run like any other; besides it has convert.json, the weights of before the training in converted/,
/// and in scratch/ and scratch-full/ the runs to compare with. The same request goes on where it stopped. Throws Error
/// if the run is not finished, a layer cannot be converted, or the folder has something else.
ConvertSummary convert(const ConvertRequest& request, base::Progress& progress);

}  // namespace primal::tasks
