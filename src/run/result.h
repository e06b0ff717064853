// result.json: how a run ended.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "run/evaluation.h"
#include "run/metrics.h"

namespace primal::run {

enum class Protocol {
  honest,  ///< the weights are chosen on a validation part; TEST is read once, at the end
  paper,   ///< as published: the best TEST score of all evaluations
};
const char* name_of(Protocol protocol);

struct Result {
  std::string family{};  ///< "" in files of runs that began when there was only one
  std::string preset{}, model{}, data{};
  Protocol protocol = Protocol::honest;
  bool refit = false;      ///< after the choice trained anew on all of TRAIN
  bool kept_last = false;  ///< the last weights, not those that the validation part likes best
  int64_t seed = 0;
  int64_t steps = 0, best_step = -1;   ///< best_step: of the kept weights; -1 = none were chosen
  double epochs = 0, best_epoch = -1;  ///< the same in passes over the training part
  Metric metric = accuracy_metric();
  double validation_score = kNoNumber;  ///< NaN with the paper protocol
  std::optional<Evaluation> test{};     ///< absent if TEST was not looked at
  double seconds = kNoNumber, tokens_per_second = kNoNumber, peak_memory_mb = kNoNumber;
  int64_t parameters = 0, threads = 0;
  std::string cpu{};
};

nlohmann::json to_json(const Result& result);
/// As the file has it.
std::string to_text(const Result& result);
/// Throws Error, "<file>: field ...".
Result parse_result(std::string_view text, const std::string& file);
Result read_result(const std::filesystem::path& path);

/// "epoch 12 of 100", or "step 3500 of 5000" for a run that does not count whole passes.
std::string describe_best(const Result& result);

}  // namespace primal::run
