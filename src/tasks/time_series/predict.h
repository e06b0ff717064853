// Classes or targets of new series, as a stream: series in, lines of CSV out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "tasks/time_series/trained_model.h"

namespace primal::tasks {

struct PredictSummary {
  int64_t series = 0;
  int64_t cut = 0;  ///< longer than the longest training series: what came after was not looked at
};

/// Reads .ts or CSV, "-" = standard input, and hands lines of CSV to `write` as soon as they are known: a head, then
/// id, predicted class, probability of each class; or id, predicted target. Memory does not grow with the number of
/// series. `batch`: series that go through the model together; 1 answers each as soon as it is complete.
PredictSummary predict(TrainedModel& trained, const std::filesystem::path& input, int64_t batch,
                       const std::function<void(std::string_view)>& write);

}  // namespace primal::tasks
