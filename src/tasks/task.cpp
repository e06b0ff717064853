#include "tasks/task.h"

#include "primal/error.h"

namespace primal::tasks {

bool is_of_same_data(std::string_view then, std::string_view now) { return now.starts_with(then); }

std::unique_ptr<Task> Task::whole() { throw Error("run.refit: this family of tasks has no refit"); }

Evaluation Task::evaluate_file(const std::filesystem::path& file) {
  throw Error(file.string() + ": this family of tasks does not evaluate files");
}

std::vector<std::string> Task::predict(const PredictRequest& /*request*/, const LineWriter& /*write*/) {
  throw Error("this family of tasks does not predict");
}

}  // namespace primal::tasks
