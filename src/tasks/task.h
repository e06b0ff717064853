// A task: a training problem with a place in a run directory. What every command works on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "train/problem.h"

namespace primal::tasks {

using train::Evaluation;
using train::Part;

/// Some examples: of a part of the task's own data, or of a file.
struct DataChoice {
  Part part = Part::test;
  std::optional<std::filesystem::path> file{};
  int64_t examples = 0;  ///< the first so many; 0 = all
  int64_t tokens = 0;    ///< fewer if they have more tokens than this, but at least one; 0 = any
  bool spread = false;   ///< evenly over all instead of the first: files are often sorted by class
};

/// The places of the examples that may be chosen among `all`, in the order of the choice. Of a choice that is spread
/// every beginning is, too.
std::vector<int64_t> order_of(const DataChoice& choice, int64_t all);

struct PredictRequest {
  std::filesystem::path input;  ///< "-" = standard input
  int64_t batch = 0;            ///< examples that go through the model together; 0 = as the task likes
};
/// Gets whole lines, ready to be written.
using LineWriter = std::function<void(std::string_view)>;

/// Whether data with fingerprint `now` can be those of a run that wrote down `then`. Nothing is known of a run that
/// wrote down none, and an older version may have written down less.
bool is_of_same_data(std::string_view then, std::string_view now);

class Task : public train::Problem {
 public:
  /// data.json: what has to be known of the training data to use the model on other data. Every task has "name", and
  /// "fingerprint" of the training data; also "test_fingerprint" of TEST if the run evaluates it.
  virtual nlohmann::json facts() const = 0;
  virtual bool has(Part part) const = 0;
  /// Of the data, for people: "JapaneseVowels: 216 training series, 54 for validation, ...".
  virtual std::string description() const = 0;
  /// What is odd about data and configuration and worth knowing before the first step.
  virtual std::vector<std::string> notes() const { return {}; }

  /// What the choice is, for people: "JapaneseVowels TEST, 370 series". Reads it.
  virtual std::string describe(const DataChoice& choice) = 0;
  /// The model over these examples in batches, so that memory is bounded; without gradient, for nn::listen().
  virtual void forward(const DataChoice& choice) = 0;

  /// The same task with nothing held out of the training data, for a refit. It has the data that were read for this
  /// one: files may have changed meanwhile. By default an Error: not every task holds something out.
  virtual std::unique_ptr<Task> whole();

  /// What is odd about these examples, for who has just evaluated them.
  virtual std::vector<std::string> notes(const DataChoice& /*choice*/) { return {}; }

  /// By default an Error: not every task can.
  virtual Evaluation evaluate_file(const std::filesystem::path& file);
  /// Answers to new examples. Gives what the user should know besides.
  virtual std::vector<std::string> predict(const PredictRequest& request, const LineWriter& write);
};

}  // namespace primal::tasks
