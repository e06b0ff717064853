#include "tasks/task.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "primal/error.h"

namespace primal::tasks {

bool is_of_same_data(std::string_view then, std::string_view now) { return now.starts_with(then); }

std::vector<int64_t> order_of(const DataChoice& choice, int64_t all) {
  std::vector<int64_t> order(static_cast<size_t>(choice.examples > 0 ? std::min(choice.examples, all) : all));
  std::iota(order.begin(), order.end(), 0);
  if (!choice.spread) return order;
  // Steps of the golden section, by a number of places that shares no factor with their number.
  auto step = std::max<int64_t>(std::llround(0.6180339887498949 * static_cast<double>(all)), 1);
  while (std::gcd(step, all) != 1) ++step;
  for (int64_t& place : order) place = place * step % all;
  return order;
}

std::unique_ptr<Task> Task::whole() { throw Error("run.refit: this family of tasks has no refit"); }

Evaluation Task::evaluate_file(const std::filesystem::path& file) {
  throw Error(file.string() + ": this family of tasks does not evaluate files");
}

std::vector<std::string> Task::predict(const PredictRequest& /*request*/, const LineWriter& /*write*/) {
  throw Error("this family of tasks does not predict");
}

}  // namespace primal::tasks
