#include "run/analysis_file.h"

#include <nlohmann/json.hpp>

#include "base/json_fields.h"

namespace primal::run {

namespace {

LayerFacts layer_facts(const base::Fields& object) {
  LayerFacts layer;
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
    if (static_cast<int64_t>(head.size()) == layer.rank) continue;
    object.fail("lambda", "expected " + std::to_string(layer.rank) + " values per head, as the rank says, got " +
                              std::to_string(head.size()));
  }
  return layer;
}

nlohmann::json scales_json(const TimeScales& scales) {
  return {{"layer", scales.layer}, {"memory", scales.memory}, {"tokens", scales.tokens}};
}

}  // namespace

nlohmann::json to_json(const Spectra& spectra) {
  nlohmann::json list = nlohmann::json::array();
  for (const LayerFacts& layer : spectra.layers) {
    list.push_back({{"index", list.size()},
                    {"name", layer.name},
                    {"rank", layer.rank},
                    {"rows", layer.rows},
                    {"tokens", layer.tokens},
                    {"heads", layer.heads},
                    {"lambda", layer.lambda},
                    {"singular_values_e", layer.singular_values_e},
                    {"singular_values_r", layer.singular_values_r},
                    {"effective_rank_e", layer.effective_rank_e},
                    {"effective_rank_r", layer.effective_rank_r}});
  }
  nlohmann::json json = {{"layers", std::move(list)}};
  for (const TimeScales& scales : spectra.time_scales) json["time_scales"].push_back(scales_json(scales));
  for (const MatrixFacts& facts : spectra.matrices) json["matrices"].push_back(to_json(facts));
  if (!spectra.matrices_of.empty()) json["matrices_of"] = spectra.matrices_of;
  if (!spectra.what.empty()) json["what"] = spectra.what;
  if (!spectra.failure.empty()) json["failure"] = spectra.failure;
  return json;
}

Spectra parse_analysis(std::string_view text, const std::string& file) {
  const nlohmann::json json = base::parse_object(text, file);
  const base::Fields fields(json, file);
  Spectra spectra{.matrices_of = fields.text_if_any("matrices_of"),
                  .what = fields.text_if_any("what"),
                  .failure = fields.text_if_any("failure")};
  for (const base::Fields& object : fields.objects("layers")) spectra.layers.push_back(layer_facts(object));
  if (json.contains("matrices")) {  // earlier versions did not look at them
    for (const base::Fields& object : fields.objects("matrices")) spectra.matrices.push_back(matrix_facts(object));
  }
  if (!json.contains("time_scales")) return spectra;  // no layer has a memory
  for (const base::Fields& object : fields.objects("time_scales")) {
    spectra.time_scales.push_back({object.text("layer"), object.text("memory"), object.numbers_if_any("tokens")});
  }
  return spectra;
}

}  // namespace primal::run
