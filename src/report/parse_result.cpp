#include <nlohmann/json.hpp>

#include "report/json_fields.h"
#include "report/parse_run.h"

namespace primal::report {
namespace {

/// Keeps sums of counts far from overflow, and exact in a double.
constexpr double kMostCases = 1e15;

train::TargetErrors target_errors(const Fields& object) {
  train::TargetErrors errors;
  errors.root_mean_square = object.number("rmse");
  errors.mean = object.number("mae");
  errors.median = object.number("median_error");
  errors.cases = object.whole("cases");
  for (const std::vector<double>& pair : object.number_rows("pairs")) {
    if (pair.size() != 2) object.fail("pairs", "expected pairs, got " + std::to_string(pair.size()) + " numbers");
    if (!std::isfinite(pair[0]) || !std::isfinite(pair[1])) object.fail("pairs", "expected numbers, got null");
    errors.pairs.emplace_back(pair[0], pair[1]);
  }
  return errors;
}

TestResult test_result(const Fields& object, train::Measure measure) {
  TestResult test;
  test.score = object.number(train::key_of(measure));
  test.loss = object.number_if_any("loss");
  if (measure == train::Measure::r2) {
    test.errors = target_errors(object);
    return test;
  }
  test.macro_f1 = object.number_if_any("macro_f1");
  test.classes = object.texts("classes");
  test.confusion = object.whole_rows("confusion");
  const std::size_t classes = test.classes.size();
  const auto wrong = [&](std::size_t size) {
    object.fail("confusion", "expected " + std::to_string(classes) + " x " + std::to_string(classes) +
                                 " numbers, as there are classes, got a side of " + std::to_string(size));
  };
  if (test.confusion.size() != classes) wrong(test.confusion.size());
  double cases = 0;
  for (const auto& row : test.confusion) {
    if (row.size() != classes) wrong(row.size());
    for (std::int64_t count : row) cases += static_cast<double>(count);
  }
  if (cases > kMostCases) object.fail("confusion", "more than 1e15 cases");
  return test;
}

analysis::LayerFacts layer_facts(const Fields& object) {
  analysis::LayerFacts layer;
  layer.name = object.text("name");
  layer.rank = object.whole("rank");
  layer.rows = object.whole_if_any("rows");
  layer.tokens = object.whole_if_any("tokens");
  layer.heads = object.whole_if_any("heads");
  layer.lambda = object.number_rows("lambda");
  layer.singular_values_e = object.numbers_if_any("singular_values_e");
  layer.singular_values_r = object.numbers_if_any("singular_values_r");
  layer.effective_rank_e = object.number("effective_rank_e");
  layer.effective_rank_r = object.number("effective_rank_r");
  for (const auto& head : layer.lambda) {
    if (static_cast<std::int64_t>(head.size()) == layer.rank) continue;
    object.fail("lambda", "expected " + std::to_string(layer.rank) + " values per head, as the rank says, got " +
                              std::to_string(head.size()));
  }
  return layer;
}

}  // namespace

Result parse_result(std::string_view text, const std::string& file) {
  const nlohmann::json json = parse_object(text, file);
  const Fields fields(json, file);
  Result result;
  result.preset = fields.text("preset");
  result.model = fields.text("model");
  result.data = fields.text("data");
  result.protocol = fields.text("protocol");
  result.refit = fields.flag_if_any("refit");
  result.kept_last = fields.flag_if_any("kept_last");
  result.seed = fields.whole("seed");
  result.epochs = fields.whole("epochs");
  const double best = fields.number_if_any("best_epoch");  // -1 if no epoch was chosen
  result.best_epoch = best >= 1 && best <= static_cast<double>(result.epochs) ? static_cast<std::int64_t>(best) : 0;
  if (json.contains("measure")) {  // files of older runs do not say
    const auto measure = train::measure_of_key(fields.text("measure"));
    if (!measure) fields.fail("measure", "expected \"accuracy\" or \"r2\"");
    result.measure = *measure;
  }
  result.validation_score = fields.number_if_any(train::validation_key_of(result.measure).c_str());
  if (const auto test = json.find("test"); test == json.end() || !test->is_null()) {  // null: TEST was not looked at
    result.test = test_result(fields.object("test"), result.measure);
  }
  result.seconds = fields.number_if_any("seconds");
  result.tokens_per_second = fields.number_if_any("tokens_per_second");
  result.peak_memory_mb = fields.number_if_any("peak_memory_mb");
  result.parameters = fields.whole_if_any("parameters");
  result.threads = fields.whole_if_any("threads");
  result.cpu = fields.text_if_any("cpu");
  return result;
}

std::vector<analysis::LayerFacts> parse_analysis(std::string_view text, const std::string& file) {
  const nlohmann::json json = parse_object(text, file);
  std::vector<analysis::LayerFacts> layers;
  for (const Fields& object : Fields(json, file).objects("layers")) layers.push_back(layer_facts(object));
  return layers;
}

}  // namespace primal::report
