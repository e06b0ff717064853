#include "tasks/offline_rl/offline_data.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace primal::tasks {

namespace {

constexpr float kNoAction = -10;

}  // namespace

int64_t real_steps(const models::DecisionWindows& windows) {
  const int64_t padded = windows.padding ? windows.padding->sum().item<int64_t>() : 0;
  return windows.timesteps.numel() - padded;
}

std::vector<int64_t> best_episodes(const data::Trajectories& trajectories, double share) {
  std::vector<double> returns;
  for (const data::Episode& episode : trajectories.episodes) returns.push_back(trajectories.episode_return(episode));
  std::vector<int64_t> order(returns.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto better = [&](int64_t a, int64_t b) {
    return returns[static_cast<size_t>(a)] > returns[static_cast<size_t>(b)];
  };
  std::ranges::stable_sort(order, better);
  constexpr double kRounding = 1e-9;  // 0.07 of 100 is 7, though the product is a little more
  const auto kept = std::ceil(share * static_cast<double>(order.size()) - kRounding);
  order.resize(std::max<size_t>(1, static_cast<size_t>(kept)));
  std::ranges::sort(order);
  return order;
}

Episodes::Episodes(const data::Trajectories& all, std::span<const int64_t> chosen, const OfflineFacts& facts,
                   double scale, bool delayed)
    : state_size_(all.state_size), action_size_(all.action_size) {
  for (const int64_t number : chosen) {
    const data::Episode& episode = all.episodes[static_cast<size_t>(number)];
    states_.insert(states_.end(), all.states.begin() + episode.begin * state_size_,
                   all.states.begin() + episode.end * state_size_);
    actions_.insert(actions_.end(), all.actions.begin() + episode.begin * action_size_,
                    all.actions.begin() + episode.end * action_size_);
    const size_t first = returns_to_go_.size();
    returns_to_go_.resize(first + static_cast<size_t>(episode.size()));
    double rest = 0;
    for (int64_t i = episode.size() - 1; i >= 0; --i) {
      rest += all.rewards[static_cast<size_t>(episode.begin + i)];
      returns_to_go_[first + static_cast<size_t>(i)] = static_cast<float>(rest / scale);
    }
    if (delayed) {  // then it is the whole return up to the last step
      std::fill(returns_to_go_.begin() + static_cast<int64_t>(first), returns_to_go_.end(),
                static_cast<float>(rest / scale));
    }
    ends_.push_back(std::ssize(returns_to_go_));
  }
  const auto size = static_cast<size_t>(state_size_);
  const auto standardised = [&](float value, size_t place) {
    return static_cast<float>((value - facts.mean[place]) / facts.deviation[place]);
  };
  for (size_t i = 0; i < states_.size(); ++i) states_[i] = standardised(states_[i], i % size);
  for (size_t i = 0; i < size; ++i) nowhere_.push_back(standardised(0, i));
}

int64_t Episodes::episode_of(int64_t row) const { return std::ranges::upper_bound(ends_, row) - ends_.begin(); }

Stretch Episodes::from(int64_t row, int64_t steps) const {
  const int64_t episode = episode_of(row);
  return {row, std::min(row + steps, ends_[static_cast<size_t>(episode)]), row - begin_of(episode)};
}

Stretch Episodes::up_to(int64_t row, int64_t steps) const {
  const int64_t first = begin_of(episode_of(row)), begin = std::max(first, row + 1 - steps);
  return {begin, row + 1, begin - first};
}

models::DecisionWindows Episodes::windows(std::span<const Stretch> stretches, int64_t steps) const {
  const int64_t count = std::ssize(stretches);
  models::DecisionWindows windows{.states = at::empty({count, steps, state_size_}),
                                  .actions = at::full({count, steps, action_size_}, kNoAction),
                                  .returns_to_go = at::zeros({count, steps}),
                                  .timesteps = at::zeros({count, steps}, at::kLong)};
  at::Tensor padding = at::zeros({count, steps}, at::kBool);
  bool is_padded = false;
  for (int64_t i = 0; i < count; ++i) {
    const Stretch& stretch = stretches[static_cast<size_t>(i)];
    const int64_t size = stretch.end - stretch.begin;
    float* states = windows.states[i].data_ptr<float>();
    std::copy_n(states_.begin() + stretch.begin * state_size_, size * state_size_, states);
    for (int64_t step = size; step < steps; ++step) std::ranges::copy(nowhere_, states + step * state_size_);
    std::copy_n(actions_.begin() + stretch.begin * action_size_, size * action_size_,
                windows.actions[i].data_ptr<float>());
    std::copy_n(returns_to_go_.begin() + stretch.begin, size, windows.returns_to_go[i].data_ptr<float>());
    std::iota(windows.timesteps[i].data_ptr<int64_t>(), windows.timesteps[i].data_ptr<int64_t>() + size,
              stretch.timestep);
    std::fill_n(padding[i].data_ptr<bool>() + size, steps - size, true);
    is_padded = is_padded || size < steps;
  }
  if (is_padded) windows.padding = padding;
  return windows;
}

}  // namespace primal::tasks
