#include "tasks/time_series/series_data.h"

#include <algorithm>
#include <cmath>

#include "data/series/series_reader.h"
#include "primal/error.h"

namespace primal::tasks {

namespace {

namespace fs = std::filesystem;

// A share of TRAIN that serves as TEST must not change with the seed of the run: it is the same for all seeds.
constexpr uint64_t kTestShareSeed = 20230530;

data::TimeSeriesSet read_labelled(const fs::path& path) {
  data::TimeSeriesSet set = data::read_series(path);
  if (set.labels.empty() && set.targets.empty()) {
    throw Error(path.string() + ": the series have neither class labels nor targets");
  }
  data::interpolate_missing(set);
  return set;
}

bool has_different_targets(const data::TimeSeriesSet& set) {
  return std::ranges::any_of(set.targets, [&](double target) { return target != set.targets.front(); });
}

// There is something to learn.
void check_answers(const data::TimeSeriesSet& train, const fs::path& file) {
  if (!train.labels.empty()) {
    if (train.class_names.size() >= 2) return;
    throw Error(file.string() + ": expected series of at least two classes, got only \"" + train.class_names.front() +
                "\"");
  }
  if (has_different_targets(train)) return;
  throw Error(c10::str(file.string(), ": expected at least two different targets, got only ", train.targets.front()));
}

data::TimeSeriesSet scaled(data::TimeSeriesSet set, const SeriesFacts& facts, bool times, const fs::path& file) {
  if (times) check_times(facts, !set.times.empty(), file.string());
  align(facts, set, file.string());
  apply(facts, set, file.string());
  return set;
}

fs::path existing(const char* key, const std::string& file) {
  if (!fs::exists(file)) throw Error(std::string(key) + ": there is no file " + file);
  return file;
}

}  // namespace

SeriesData::SeriesData(const TimeSeriesConfig& config, const data::SearchPath& search)
    : times_(looks_at_times(config)),
      chooses_by_test_(config.run.protocol == Protocol::paper),
      validation_(config.data.validation),
      test_share_(0),
      seed_(static_cast<uint64_t>(config.train.seed)) {
  if (config.data.train.empty()) {
    if (!config.data.test.empty()) throw Error("data.test: given without data.train");
    const data::Located found = data::locate(search, config.data.set);
    name_ = found.name;
    train_ = found.train;
    test_ = found.test;
    return;
  }
  is_own_ = true;
  train_ = existing("data.train", config.data.train);
  name_ = train_.stem().string();
  if (!config.data.test.empty()) {
    test_ = existing("data.test", config.data.test);
  } else {
    test_share_ = config.data.test_share;
  }
}

data::Split SeriesData::test_split(const data::TimeSeriesSet& whole) const {
  data::Split parts = data::split(whole, test_share_, kTestShareSeed);
  if (test_share_ > 0 && parts.held_out.empty()) {
    throw Error(c10::str(train_.string(), ": ", whole.cases(), " series are too few to hold some out as TEST ",
                         "(data.test_share = ", test_share_, "); add data, or give it 0 for no TEST"));
  }
  return parts;
}

// What the first lines of a TEST file of one's own say, long before its series are looked at.
void SeriesData::check_head_of_test(const data::TimeSeriesSet& train) const {
  const auto reader = data::open_series(test_);
  const bool has_same = train.targets.empty() ? reader->has_labels() : reader->has_targets();
  if (!has_same) {
    throw Error(test_.string() + ": the series have no " + (train.targets.empty() ? "class labels" : "targets"));
  }
  SeriesFacts wanted;
  wanted.channels = train.channels;
  wanted.channel_names = train.channel_names;
  wanted.has_times = !train.times.empty();
  if (times_) check_times(wanted, reader->has_times(), test_.string());
  if (reader->channels() == 0) return;  // a .ts file that does not say
  data::TimeSeriesSet head;
  head.channels = reader->channels();
  head.channel_names = reader->channel_names();
  align_channels(wanted, head, test_.string());
}

TrainingData SeriesData::load_training(bool hold_out) const {
  TrainingData data;
  data.train = read_labelled(train_);
  const std::string fingerprint = fingerprint_of(data.train);
  check_answers(data.train, train_);
  if (is_own_ && !test_.empty()) check_head_of_test(data.train);
  if (test_.empty()) data.train = data.train.subset(test_split(data.train).train);
  if (hold_out) {
    const data::TimeSeriesSet whole = std::move(data.train);
    const data::Split parts = data::split(whole, validation_, seed_);
    data.train = whole.subset(parts.train);
    data.validation = whole.subset(parts.held_out);
    if (data.validation.cases() == 0) {
      throw Error(train_.string() + ": " + std::to_string(whole.cases()) +
                  " series are too few to hold some out for validation; add data or use the paper protocol");
    }
  }
  if (!data.train.targets.empty() && !has_different_targets(data.train)) {
    throw Error(c10::str(train_.string(), ": the ", data.train.cases(),
                         " series that are left to train on all have target ", data.train.targets.front(),
                         "; hold out fewer (data.validation, data.test_share), or add data"));
  }
  data.train.name = name_;
  data.facts = facts_of(data.train);
  if (data.facts.target && !std::isnormal(data.facts.target->deviation)) {
    throw Error(c10::str(train_.string(), ": expected targets whose deviation is a number, got ",
                         data.facts.target->deviation, "; give them another unit"));
  }
  data.facts.fingerprint = fingerprint;
  if (chooses_by_test_ && !test_.empty()) {
    data::TimeSeriesSet test = read_labelled(test_);
    data.facts.test_fingerprint = fingerprint_of(test);
    data.test = scaled(std::move(test), data.facts, times_, test_);
  }
  apply(data.facts, data.train, train_.string());
  apply(data.facts, data.validation, train_.string());
  return data;
}

data::TimeSeriesSet SeriesData::load_test(const SeriesFacts& facts) const {
  if (!has_test()) throw Error("data.test_share: 0, so this run has no TEST; give a file");
  if (!test_.empty()) return load_labelled(test_, facts, times_);
  const data::TimeSeriesSet whole = read_labelled(train_);
  return scaled(whole.subset(test_split(whole).held_out), facts, times_, train_);
}

data::TimeSeriesSet load_unlabelled(const fs::path& file, const SeriesFacts& facts, bool times) {
  data::TimeSeriesSet set = data::read_series(file, {.labels_optional = true});
  data::interpolate_missing(set);
  if (times) check_times(facts, !set.times.empty(), file.string());
  align_channels(facts, set, file.string());
  apply(facts, set, file.string());
  return set;
}

data::TimeSeriesSet load_labelled(const fs::path& file, const SeriesFacts& facts, bool times) {
  return scaled(read_labelled(file), facts, times, file);
}

}  // namespace primal::tasks
