// Classes or targets of new series, as a stream: series in, lines of CSV out.
#pragma once

#include <string>
#include <vector>

#include "models/sequence_classifier.h"
#include "tasks/task.h"
#include "tasks/time_series/series_facts.h"

namespace primal::tasks {

/// Reads .ts or CSV, and hands lines of CSV to `write` as soon as they are known: a head, then id, predicted class,
/// probability of each class; or id, predicted target. Memory does not grow with the number of series. By default a
/// stream is answered series by series. `times`: the model looks at them.
std::vector<std::string> predict_series(models::SequenceClassifierImpl& model, const SeriesFacts& facts, bool times,
                                        const PredictRequest& request, const LineWriter& write);

}  // namespace primal::tasks
