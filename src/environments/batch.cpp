#include "environments/batch.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace primal::environments {
namespace {

// Keeps the starts of episodes apart from what else is drawn from the same seed.
constexpr uint64_t kPurpose = 0x726f626f7473;  // "robots"

}  // namespace

EnvironmentBatch::EnvironmentBatch(const std::shared_ptr<const Simulator>& simulator, int64_t size, int64_t threads)
    : threads_(std::make_unique<WorkerThreads>(threads)) {
  if (size < 1) throw Error("robots: a batch of " + std::to_string(size) + " episodes, expected at least 1");
  for (int64_t i = 0; i < size; ++i) environments_.emplace_back(simulator);
  results_.resize(environments_.size());
  observations_.resize(environments_.size() * static_cast<std::size_t>(robot().states));
  for (int64_t i = 0; i < size; ++i) keep_observation(i);
}

void EnvironmentBatch::reset(uint64_t seed, int64_t first) {
  for (int64_t i = 0; i < size(); ++i) reset_one(i, seed, first + i);
}

void EnvironmentBatch::reset_one(int64_t index, uint64_t seed, int64_t number) {
  environments_[static_cast<std::size_t>(index)].reset(
      base::Random::numbered(seed, kPurpose, static_cast<uint64_t>(number)));
  results_[static_cast<std::size_t>(index)] = {};
  keep_observation(index);
}

std::span<const StepResult> EnvironmentBatch::step(std::span<const double> actions) {
  const auto width = static_cast<std::size_t>(robot().actions);
  if (actions.size() != environments_.size() * width) {
    base::fail(robot().name, actions.size(), " numbers of actions, expected ", size(), " times ", width);
  }
  std::vector<int64_t> live;
  for (int64_t i = 0; i < size(); ++i) {
    if (ended(i)) {
      results_[static_cast<std::size_t>(i)].reward = 0;
    } else {
      live.push_back(i);
    }
  }
  threads_->run(static_cast<int64_t>(live.size()), [&](int64_t piece) {
    const int64_t index = live[static_cast<std::size_t>(piece)];
    const auto place = static_cast<std::size_t>(index);
    results_[place] = environments_[place].step(actions.subspan(place * width, width));
    keep_observation(index);
  });
  return results_;
}

int64_t EnvironmentBatch::running() const {
  return std::ranges::count_if(results_, [](const StepResult& result) { return !result.ended(); });
}

void EnvironmentBatch::keep_observation(int64_t index) {
  const std::span<const double> observation = (*this)[index].observation();
  std::ranges::copy(observation, observations_.begin() + index * static_cast<int64_t>(observation.size()));
}

}  // namespace primal::environments
