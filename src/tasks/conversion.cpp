#include "tasks/conversion.h"

#include <array>
#include <cmath>
#include <utility>

#include "base/format.h"
#include "base/json_fields.h"
#include "base/json_file.h"

namespace primal::tasks {

namespace {

constexpr std::array<std::pair<const char*, const char*>, 6> kScoreRows{{{kBefore, "before"},
                                                                         {kFreshLayers, "with fresh layers"},
                                                                         {kConverted, "after conversion"},
                                                                         {kTuned, "after training on"},
                                                                         {kScratch, "from scratch, as long"},
                                                                         {kScratchFull, "from scratch, in full"}}};

nlohmann::json converted_layer_json(const ConvertedLayer& layer) {
  return {{"name", layer.name},
          {"kind", layer.kind},
          {"rank", layer.rank},
          {"rows", layer.rows},
          {"explained", {{"random", layer.random}, {"closed_form", layer.closed_form}, {"distilled", layer.distilled}}},
          {"sequences", layer.sequences},
          {"tokens", layer.tokens},
          {"held_out", layer.held_out}};
}

ConvertedLayer converted_layer_from(const base::Fields& fields) {
  const base::Fields explained = fields.object("explained");
  return {.name = fields.text("name"),
          .kind = fields.text("kind"),
          .rank = fields.whole("rank"),
          .rows = fields.whole("rows"),
          .random = explained.number("random"),
          .closed_form = explained.number("closed_form"),
          .distilled = explained.number("distilled"),
          .sequences = fields.whole("sequences"),
          .tokens = fields.whole("tokens"),
          .held_out = fields.flag_if_any("held_out")};
}

nlohmann::json convert_score_json(const ConvertScore& score) {
  nlohmann::json json = {{"score", score.score}};
  if (score.loss) json["loss"] = *score.loss;
  if (score.steps >= 0) json["steps"] = score.steps;
  if (score.seconds >= 0) json["seconds"] = score.seconds;
  return json;
}

ConvertScore convert_score_from(const nlohmann::json& json, const std::string& where) {
  const base::Fields fields(json, where);
  const double seconds = fields.number_if_any("seconds");
  return {.score = fields.number("score"),
          .loss = json.contains("loss") ? std::optional(fields.number("loss")) : std::nullopt,
          .steps = json.contains("steps") ? fields.whole("steps") : -1,
          .seconds = std::isnan(seconds) ? -1 : seconds};
}

std::string converted_layer_table(const Conversion& conversion) {
  std::string text = base::printed("%-10s %-10s %5s %6s  %10s %12s %10s\n", "layer", "was", "s", "rows", "random",
                                   "closed form", "distilled");
  for (const ConvertedLayer& layer : conversion.layers) {
    text +=
        base::printed("%-10s %-10s %5ld %6ld  %10s %12s %10s\n", layer.name.c_str(), layer.kind.c_str(), layer.rank,
                      layer.rows, base::format_percent(layer.random).c_str(),
                      base::format_percent(layer.closed_form).c_str(), base::format_percent(layer.distilled).c_str());
  }
  const ConvertedLayer& any = conversion.layers.front();
  text +=
      "share of the variance of the old layer's outputs that the new one explains: with random We and Wr, with those "
      "of an SVD, after gradient descent; " +
      std::to_string(any.sequences) + " training sequences" +
      (any.held_out ? ", a fifth of them held out for this and to choose by" : ", too few to hold any out") + "\n";
  return text;
}

}  // namespace

nlohmann::json to_json(const Conversion& conversion) {
  nlohmann::json json = {{"request", conversion.request}, {"run", conversion.run},
                         {"what", conversion.what},       {"data", conversion.data},
                         {"metric", conversion.metric},   {"layers", nlohmann::json::array()},
                         {"seconds", conversion.seconds}, {"scores", nlohmann::json::object()}};
  for (const ConvertedLayer& layer : conversion.layers) json["layers"].push_back(converted_layer_json(layer));
  for (const auto& [key, score] : conversion.scores) json["scores"][key] = convert_score_json(score);
  return json;
}

Conversion read_conversion(const std::filesystem::path& file) {
  const std::string name = file.string();
  const nlohmann::json json = base::parse_object(base::read_text_if_any(file).value_or(""), name);
  const base::Fields fields(json, name);
  Conversion conversion{.request = json.value("request", nlohmann::json::object()),
                        .run = fields.text("run"),
                        .what = fields.text("what"),
                        .data = fields.text("data"),
                        .metric = run::metric_from(json.value("metric", nlohmann::json()), name + ": field \"metric\""),
                        .seconds = fields.number("seconds")};
  for (const base::Fields& layer : fields.objects("layers")) conversion.layers.push_back(converted_layer_from(layer));
  if (conversion.layers.empty()) fields.fail("layers", "expected at least one, got none");
  fields.object("scores");
  for (const auto& [key, score] : json.at("scores").items()) {
    conversion.scores[key] = convert_score_from(score, name + ": field \"scores." + key + "\"");
  }
  return conversion;
}

std::string to_text(const Conversion& conversion) {
  std::string text = conversion.what + "\n\n" + converted_layer_table(conversion) + "\n";
  text += base::printed("%-24s %14s %10s %10s %10s\n", "", conversion.metric.name.c_str(), "loss", "steps", "time");
  for (const auto& [key, title] : kScoreRows) {
    const auto found = conversion.scores.find(key);
    if (found == conversion.scores.end()) continue;
    const ConvertScore& score = found->second;
    std::string line =
        base::printed("%-24s %14s %10s %10s %10s", title, run::format_score(conversion.metric, score.score).c_str(),
                      score.loss ? base::format_metric(*score.loss).c_str() : "",
                      score.steps >= 0 ? std::to_string(score.steps).c_str() : "",
                      score.seconds >= 0 ? base::format_duration(score.seconds).c_str() : "");
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text + conversion.metric.name + " on " + conversion.data + "\n";
}

}  // namespace primal::tasks
