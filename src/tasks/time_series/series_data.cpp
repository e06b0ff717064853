#include "tasks/time_series/series_data.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "data/series/series_reader.h"
#include "primal/error.h"
#include "tasks/task.h"
#include "tasks/time_series/data_notes.h"

namespace primal::tasks {

namespace {

namespace fs = std::filesystem;

// A share of TRAIN that serves as TEST must not change with the seed of the run: it is the same for all seeds.
constexpr uint64_t kTestShareSeed = 20230530;

// To be scaled as the training series were.
data::ReadOptions as_in(const SeriesFacts& facts) { return {.all_remainders = !facts.scaling.precise.empty()}; }

data::TimeSeriesSet read_labelled(const fs::path& path, const data::ReadOptions& options = {}) {
  data::TimeSeriesSet set = data::read_series(path, options);
  if (set.labels.empty() && set.targets.empty()) {
    throw Error(path.string() +
                ": the series have neither class labels nor targets (in a .ts file a line @classLabel true with the "
                "names of the classes says so, in a CSV file a column label or target)");
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

// A run reads its files again when it goes on and when it is evaluated.
fs::path existing(const char* key, const std::string& file) {
  const fs::file_status status = fs::status(file);
  if (!fs::exists(status)) throw Error(std::string(key) + ": there is no file " + file);
  // /dev/stdin may stand for a file, but for another one tomorrow.
  if (fs::is_other(status) || file.starts_with("/dev/") || file.starts_with("/proc/")) {
    throw Error(std::string(key) + ": " + file +
                " can be read only once, and the run needs it again: write it to a file first");
  }
  return file;
}

}  // namespace

SeriesData::SeriesData(const TimeSeriesConfig& config, const data::SearchPath& search)
    : times_(looks_at_times(config)),
      wants_test_(config.run.test || config.run.protocol == Protocol::paper),
      refits_(config.run.refit),
      keeps_length_(config.run.refit && !config.train.start_from.empty()),
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

SeriesData::Sets SeriesData::read(bool with_test) const {
  Sets sets{.train = read_labelled(train_), .test = {}, .fingerprint = {}, .test_fingerprint = {}, .test_series = {}};
  sets.fingerprint = fingerprint_of(sets.train, sets.train.precise);
  check_answers(sets.train, train_);
  if (!test_.empty()) {
    if (!with_test || !wants_test_) return sets;
    sets.test = read_labelled(test_, {.all_remainders = !sets.train.precise.empty()});
    sets.test_fingerprint = fingerprint_of(*sets.test, sets.train.precise);
    return sets;
  }
  const data::Split parts = test_split(sets.train);
  if (test_share_ > 0) {
    sets.test = sets.train.subset(parts.held_out);
    sets.test_series = sets.test->ids;
    sets.test_fingerprint = fingerprint_of_cases(*sets.test, sets.train.precise);
  }
  sets.train = sets.train.subset(parts.train);
  return sets;
}

TrainingData SeriesData::load_training(bool hold_out, bool with_test) {
  if (!sets_) sets_ = read(with_test);
  Sets sets = refits_ ? *sets_ : std::move(*sets_);
  if (!refits_) sets_.reset();
  TrainingData data;
  data.train = std::move(sets.train);
  const int64_t longest = data.train.longest();
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
  if (keeps_length_) data.facts.tokens = longest;
  data.notes = channel_notes(data.train);
  if (data.facts.target && !std::isnormal(data.facts.target->deviation)) {
    throw Error(c10::str(train_.string(), ": expected targets whose deviation is a number, got ",
                         data.facts.target->deviation, "; give them another unit"));
  }
  data.facts.fingerprint = sets.fingerprint;
  data.facts.test_fingerprint = sets.test_fingerprint;
  data.facts.test_series = std::move(sets.test_series);
  if (sets.test) data.test = scaled(std::move(*sets.test), data.facts, times_, test_.empty() ? train_ : test_);
  apply(data.facts, data.train, train_.string());
  if (hold_out) apply(data.facts, data.validation, train_.string());
  return data;
}

data::TimeSeriesSet SeriesData::load_test(const SeriesFacts& facts) {
  if (!has_test()) throw Error("data.test_share: 0, so this run has no TEST; give a file");
  if (test_.empty()) return scaled(held_out_then(read_labelled(train_, as_in(facts)), facts), facts, times_, train_);
  data::TimeSeriesSet test = read_labelled(test_, as_in(facts));
  if (!is_of_same_data(facts.test_fingerprint, fingerprint_of(test, facts.scaling.precise))) {
    notes_.push_back(test_.string() + " has changed since this run began: this is another TEST");
  }
  return scaled(std::move(test), facts, times_, test_);
}

// Drawn anew from a file that has changed, TEST would have series that the model was trained on.
data::TimeSeriesSet SeriesData::held_out_then(const data::TimeSeriesSet& whole, const SeriesFacts& facts) {
  if (is_of_same_data(facts.fingerprint, fingerprint_of(whole, facts.scaling.precise)))
    return whole.subset(test_split(whole).held_out);
  const std::string changed = train_.string() + ": has changed since this run began, and ";
  if (facts.test_series.empty()) {
    throw Error(changed + "which of its series were TEST was not written down; restore it, or give a file");
  }
  std::map<std::string, int64_t> number;
  for (int64_t i = 0; i < whole.cases(); ++i) number.emplace(whole.ids[i], i);
  std::vector<int64_t> chosen;
  for (const std::string& id : facts.test_series) {
    const auto found = number.find(id);
    if (found == number.end()) {
      throw Error(changed + "series " + base::in_quotes(id) + " of TEST is gone; restore it, or give a file");
    }
    chosen.push_back(found->second);
  }
  data::TimeSeriesSet test = whole.subset(chosen);
  if (fingerprint_of_cases(test, facts.scaling.precise) != facts.test_fingerprint) {
    throw Error(changed + "so have series of TEST; restore it, or give a file");
  }
  notes_.push_back(train_.string() + " has changed since this run began: TEST is still the " +
                   std::to_string(test.cases()) + " series that the run held out");
  return test;
}

data::TimeSeriesSet load_unlabelled(const fs::path& file, const SeriesFacts& facts, bool times) {
  data::ReadOptions options = as_in(facts);
  options.labels_optional = true;
  data::TimeSeriesSet set = data::read_series(file, options);
  data::interpolate_missing(set);
  if (times) check_times(facts, !set.times.empty(), file.string());
  align_channels(facts, set, file.string());
  apply(facts, set, file.string());
  return set;
}

data::TimeSeriesSet load_labelled(const fs::path& file, const SeriesFacts& facts, bool times) {
  return scaled(read_labelled(file, as_in(facts)), facts, times, file);
}

}  // namespace primal::tasks
