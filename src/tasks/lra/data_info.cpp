#include "tasks/lra/data_info.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "tasks/lra/sources.h"

namespace primal::tasks {

namespace {

nlohmann::json part_json(const std::string& part, const data::TokenSet& set) {
  std::vector<int64_t> lengths, cases(set.classes.size(), 0);
  for (int64_t i = 0; i < set.examples(); ++i) {
    for (int64_t which = 0; which < set.per_example; ++which) lengths.push_back(set.length(i, which));
    ++cases[set.labels[static_cast<size_t>(i)]];
  }
  std::ranges::sort(lengths);
  const auto mean = static_cast<double>(set.bytes.size()) / static_cast<double>(std::max<size_t>(lengths.size(), 1));
  nlohmann::json json = {{"part", part},
                         {"examples", set.examples()},
                         {"sequences", set.per_example},
                         {"shortest", lengths.front()},
                         {"longest", lengths.back()},
                         {"median_length", lengths[lengths.size() / 2]},
                         {"mean_length", mean}};
  for (size_t c = 0; c < cases.size(); ++c) json["classes"][set.classes[c]] = cases[c];
  return json;
}

std::string part_text(const nlohmann::json& part) {
  const auto whole = [&](const char* key) { return part.at(key).get<int64_t>(); };
  std::string text = part.at("part").get<std::string>() +
                     base::printed("\n  examples  %ld%s\n  lengths   %ld to %ld, median %ld, mean %.1f\n",
                                   whole("examples"), whole("sequences") == 2 ? " pairs" : "", whole("shortest"),
                                   whole("longest"), whole("median_length"), part.at("mean_length").get<double>());
  for (const auto& [name, cases] : part.at("classes").items()) {
    text += "    " + base::padded(name, 20) +
            base::printed(" %6ld  %5.1f %%\n", cases.get<int64_t>(),
                          100.0 * cases.get<double>() / static_cast<double>(whole("examples")));
  }
  return text;
}

}  // namespace

std::optional<DataInfo> lra_info(const std::string& name, const data::SearchPath& search) {
  const auto sources = lra_sources();
  const auto source = std::ranges::find_if(sources, [&](const LraSource& one) { return "lra/" + one.name == name; });
  if (source == sources.end()) return std::nullopt;
  const std::filesystem::path place = locate_lra(*source, search);
  const TokenParts parts = source->read(place, source->tokens);
  DataInfo info{.text = name + ": " + source->help + "\n" + place.string() + "\n", .json = nlohmann::json::array()};
  for (const auto& [part, set] :
       {std::pair{"TRAIN", &parts.train}, {"validation", &parts.validation}, {"TEST", &parts.test}}) {
    if (set->examples() == 0) continue;
    info.json.push_back(part_json(part, *set));
    info.text += part_text(info.json.back());
  }
  return info;
}

}  // namespace primal::tasks
