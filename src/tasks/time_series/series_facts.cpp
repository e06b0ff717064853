#include "tasks/time_series/series_facts.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/crc32c.h"
#include "base/json_file.h"
#include "base/text.h"
#include "primal/error.h"

namespace primal::tasks {

namespace {

// In standard deviations. Squares of what the model makes of them must stay far below the largest float32, 3e38.
constexpr float kFarthest = 1e15F;

void check_range(const SeriesFacts& facts, const data::TimeSeriesSet& set, const std::string& file) {
  const auto check = [&](int64_t i, const char* what, double distance) {
    if (std::abs(distance) <= kFarthest) return;
    throw Error(c10::str(file, ": series ", base::in_quotes(set.ids[i]), ": a ", what, " lies ", std::abs(distance),
                         " standard deviations from the training series, expected at most ", kFarthest));
  };
  for (int64_t i = 0; i < set.cases(); ++i) {
    for (const float value : set.series(i)) check(i, "value", value);
    if (facts.target && !set.targets.empty()) check(i, "target", facts.target->forward(set.targets[i]));
  }
}

void check_kind(const SeriesFacts& facts, const data::TimeSeriesSet& set, const std::string& file) {
  if (facts.target && set.targets.empty()) {
    throw Error(file + ": the series have class labels, expected targets as the training series have");
  }
  if (!facts.target && set.labels.empty()) {
    throw Error(file + ": the series have targets, expected class labels as the training series have");
  }
}

template <typename T>
std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// Targets and remainders came later: sets without them have the fingerprints of before, and with them longer ones.
std::string checksums_of(std::vector<std::string_view> parts, const data::TimeSeriesSet& set,
                         const std::vector<int64_t>& precise) {
  if (!set.targets.empty()) parts.push_back(bytes_of(set.targets));
  std::vector<float> remainders;
  for (size_t step = 0; step < set.remainders.size(); step += static_cast<size_t>(set.channels)) {
    for (const int64_t channel : precise) remainders.push_back(set.remainders[step + static_cast<size_t>(channel)]);
  }
  if (!remainders.empty()) parts.push_back(bytes_of(remainders));
  std::string text;
  for (const std::string_view part : parts) text += base::crc32c_text(part);
  return text;
}

}  // namespace

std::string fingerprint_of(const data::TimeSeriesSet& set, const std::vector<int64_t>& precise) {
  std::string names;
  for (const auto* list : {&set.class_names, &set.channel_names}) {
    for (const std::string& name : *list) names += name + '\n';
  }
  return checksums_of({bytes_of(set.values), bytes_of(set.times), bytes_of(set.offsets), bytes_of(set.labels), names},
                      set, precise);
}

std::string fingerprint_of_cases(const data::TimeSeriesSet& set, const std::vector<int64_t>& precise) {
  std::string names;
  for (int64_t i = 0; i < set.cases(); ++i) {
    names += set.ids[i] + '\n';
    if (!set.labels.empty()) names += set.class_names[set.labels[i]] + '\n';
  }
  return checksums_of({bytes_of(set.values), bytes_of(set.times), bytes_of(set.offsets), names}, set, precise);
}

nlohmann::json to_json(const SeriesFacts& facts) {
  nlohmann::json json = {{"name", facts.name},
                         {"channels", facts.channels},
                         {"channel_names", facts.channel_names},
                         {"tokens", facts.tokens},
                         {"classes", facts.classes},
                         {"mean", facts.scaling.mean},
                         {"deviation", facts.scaling.deviation},
                         {"time_step", facts.time_scaling.step},
                         {"fingerprint", facts.fingerprint}};
  if (!facts.test_fingerprint.empty()) json["test_fingerprint"] = facts.test_fingerprint;
  if (!facts.test_series.empty()) json["test_series"] = facts.test_series;
  if (!facts.scaling.precise.empty()) json["precise"] = facts.scaling.precise;
  if (facts.has_times) json["has_times"] = *facts.has_times;
  if (facts.target) json["target"] = {{"mean", facts.target->mean}, {"deviation", facts.target->deviation}};
  return json;
}

SeriesFacts read_series_facts(const std::filesystem::path& path) {
  const nlohmann::json json = base::read_json(path);
  try {
    SeriesFacts facts;
    json.at("name").get_to(facts.name);
    json.at("channels").get_to(facts.channels);
    json.at("channel_names").get_to(facts.channel_names);
    json.at("tokens").get_to(facts.tokens);
    json.at("classes").get_to(facts.classes);
    json.at("mean").get_to(facts.scaling.mean);
    json.at("deviation").get_to(facts.scaling.deviation);
    json.at("time_step").get_to(facts.time_scaling.step);
    if (json.contains("has_times")) facts.has_times = json.at("has_times").get<bool>();
    if (json.contains("target")) {
      const nlohmann::json& target = json.at("target");
      facts.target = {target.at("mean").get<double>(), target.at("deviation").get<double>()};
    }
    facts.fingerprint = json.value("fingerprint", "");
    facts.test_fingerprint = json.value("test_fingerprint", "");
    facts.test_series = json.value("test_series", facts.test_series);
    const auto channels = static_cast<size_t>(facts.channels);
    if (facts.scaling.mean.size() != channels || facts.scaling.deviation.size() != channels) {
      throw Error(path.string() + ": mean and deviation are not of " + std::to_string(channels) + " channels");
    }
    facts.scaling.precise = json.value("precise", std::vector<int64_t>());
    for (const int64_t c : facts.scaling.precise) {
      if (c < 0 || c >= facts.channels) {
        throw Error(path.string() + ": precise: expected numbers of channels, got " + std::to_string(c));
      }
    }
    return facts;
  } catch (const nlohmann::json::exception& error) {
    throw Error(path.string() + ": " + base::reason_of(error));
  }
}

SeriesFacts facts_of(const data::TimeSeriesSet& train) {
  return {.name = train.name,
          .channels = train.channels,
          .channel_names = train.channel_names,
          .tokens = train.longest(),
          .classes = train.class_names,
          .target = train.targets.empty() ? std::nullopt : std::optional(data::target_scaling_of(train)),
          .scaling = data::scaling_of(train),
          .time_scaling = data::time_scaling_of(train),
          .has_times = !train.times.empty(),
          .fingerprint = {},
          .test_fingerprint = {},
          .test_series = {}};
}

void apply(const SeriesFacts& facts, data::TimeSeriesSet& set, const std::string& file) {
  data::standardise(set, facts.scaling);
  check_range(facts, set, file);
  if (set.times.empty()) return;
  for (int64_t i = 0; i < set.cases(); ++i) {
    const std::span times(set.times.data() + set.offsets[i], static_cast<size_t>(set.length(i)));
    const double steps = (times.back() - times.front()) / facts.time_scaling.step;
    if (!(steps <= kFarthest)) {
      throw Error(c10::str(file, ": series ", base::in_quotes(set.ids[i]), ": spans ", steps,
                           " times the usual step of the training series, expected at most ", kFarthest));
    }
    const std::vector<float> scaled = data::scaled_times(times, facts.time_scaling);
    std::copy(scaled.begin(), scaled.end(), times.begin());
  }
}

void check_times(const SeriesFacts& facts, bool has_times, const std::string& file) {
  if (!facts.has_times || *facts.has_times == has_times) return;
  throw Error(file + (*facts.has_times ? ": the series have no times, but the model was trained with them"
                                       : ": the series have times, but the model was trained without them"));
}

void align_channels(const SeriesFacts& facts, data::TimeSeriesSet& set, const std::string& file) {
  if (set.channels != facts.channels) {
    throw Error(file + ": the series have " + std::to_string(set.channels) + " channels, the training series " +
                std::to_string(facts.channels));
  }
  const auto& wanted = facts.channel_names;
  if (wanted.empty() || set.channel_names.empty() || wanted == set.channel_names) return;
  std::vector<size_t> source;  // of each wanted channel
  for (const std::string& name : wanted) {
    const auto found = std::find(set.channel_names.begin(), set.channel_names.end(), name);
    if (found == set.channel_names.end())
      throw Error(file + ": channel " + name + " of the training series is missing");
    source.push_back(static_cast<size_t>(found - set.channel_names.begin()));
  }
  for (std::vector<float>* numbers : {&set.values, &set.remainders}) {
    const std::vector<float> before = *numbers;
    for (size_t i = 0; i < before.size(); i += wanted.size()) {
      for (size_t c = 0; c < wanted.size(); ++c) (*numbers)[i + c] = before[i + source[c]];
    }
  }
  set.channel_names = wanted;
}

void align(const SeriesFacts& facts, data::TimeSeriesSet& set, const std::string& file) {
  align_channels(facts, set, file);
  check_kind(facts, set, file);
  std::vector<int64_t> number(set.class_names.size(), -1);  // in facts.classes
  for (size_t i = 0; i < number.size(); ++i) {
    const auto found = std::find(facts.classes.begin(), facts.classes.end(), set.class_names[i]);
    if (found != facts.classes.end()) number[i] = found - facts.classes.begin();
  }
  for (int64_t& label : set.labels) {
    if (number[label] < 0) {
      throw Error(file + ": class \"" + set.class_names[label] + "\" does not occur in the training series");
    }
    label = number[label];
  }
  set.class_names = facts.classes;
}

}  // namespace primal::tasks
