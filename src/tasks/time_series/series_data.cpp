#include "tasks/time_series/series_data.h"

#include "data/series_reader.h"
#include "primal/error.h"

namespace primal::tasks {

namespace {

namespace fs = std::filesystem;

// A share of TRAIN that serves as TEST must not change with the seed of the run: it is the same for all seeds.
constexpr uint64_t kTestShareSeed = 20230530;

data::TimeSeriesSet read_labelled(const fs::path& path) {
  data::TimeSeriesSet set = data::read_series(path);
  if (set.labels.empty()) throw Error(path.string() + ": the series have no class labels");
  data::interpolate_missing(set);
  return set;
}

data::TimeSeriesSet scaled(data::TimeSeriesSet set, const SeriesFacts& facts, const fs::path& file) {
  align(facts, set, file.string());
  apply(facts, set);
  return set;
}

fs::path existing(const char* key, const std::string& file) {
  if (!fs::exists(file)) throw Error(std::string(key) + ": there is no file " + file);
  return file;
}

}  // namespace

SeriesData::SeriesData(const TimeSeriesConfig& config, const data::SearchPath& search)
    : validation_(config.data.validation), test_share_(0), seed_(static_cast<uint64_t>(config.train.seed)) {
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

data::TimeSeriesSet SeriesData::train_file() const {
  const data::TimeSeriesSet whole = read_labelled(train_);
  return test_.empty() ? whole.subset(data::split(whole, test_share_, kTestShareSeed).train) : whole;
}

data::TimeSeriesSet SeriesData::test_share() const {
  const data::TimeSeriesSet whole = read_labelled(train_);
  return whole.subset(data::split(whole, test_share_, kTestShareSeed).held_out);
}

TrainingData SeriesData::load_training(bool hold_out) const {
  TrainingData data;
  data.train = train_file();
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
  data.train.name = name_;
  data.facts = facts_of(data.train);
  apply(data.facts, data.train);
  apply(data.facts, data.validation);
  return data;
}

data::TimeSeriesSet SeriesData::load_test(const SeriesFacts& facts) const {
  return test_.empty() ? scaled(test_share(), facts, train_) : load_labelled(test_, facts);
}

data::TimeSeriesSet load_labelled(const fs::path& file, const SeriesFacts& facts) {
  return scaled(read_labelled(file), facts, file);
}

}  // namespace primal::tasks
