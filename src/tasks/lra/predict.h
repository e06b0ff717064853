// Answers to new examples: a CSV line each.
#pragma once

#include <string>
#include <vector>

#include "models/token_classifier.h"
#include "tasks/lra/lra_data.h"
#include "tasks/lra/token_batches.h"
#include "tasks/task.h"

namespace primal::tasks {

/// The input is a file as the task's own reader takes it; its labels are not looked at. Of text also a file, or
/// standard input, with one text per line.
std::vector<std::string> predict_tokens(models::TokenClassifierImpl& model, const LraSource& source,
                                        const LraFacts& facts, const TokenCoding& coding, const PredictRequest& request,
                                        const LineWriter& write);

}  // namespace primal::tasks
