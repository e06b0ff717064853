// Held-out parts (prepare.h).
#include <primal/error.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <sstream>

#include "base/random.h"
#include "data/series/prepare.h"

namespace primal::data {
namespace {

void shuffle(std::vector<int64_t>& items, base::Random& random) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

/// How many of each class to hold out: fraction * size rounded down, and the rest, one by one, where most was cut off.
/// A class keeps one case; if that leaves a rest, further rounds give it to the classes that have room.
std::vector<int64_t> quotas(const std::vector<int64_t>& sizes, double fraction) {
  const int64_t total = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  int64_t rest = std::llround(fraction * static_cast<double>(total));
  std::vector<int64_t> quota(sizes.size()), order(sizes.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  for (std::size_t c = 0; c < sizes.size(); ++c) {
    const auto share = static_cast<int64_t>(std::floor(fraction * static_cast<double>(sizes[c])));
    quota[c] = std::clamp<int64_t>(share, 0, std::max<int64_t>(sizes[c] - 1, 0));
    rest -= quota[c];
  }
  std::ranges::stable_sort(order, std::greater(), [&](int64_t c) {
    return fraction * static_cast<double>(sizes[c]) - static_cast<double>(quota[c]);
  });
  for (bool room = true; rest > 0 && room;) {
    room = false;
    for (const int64_t c : order) {
      if (rest == 0 || quota[c] + 1 >= sizes[c]) continue;
      ++quota[c];
      --rest;
      room = true;
    }
  }
  return quota;
}

/// The group of each target: equally many cases in each, by size.
std::vector<int64_t> target_groups(const std::vector<double>& targets, int64_t groups) {
  std::vector<int64_t> order(targets.size()), group(targets.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::ranges::stable_sort(order, {}, [&](int64_t i) { return targets[i]; });
  for (std::size_t place = 0; place < order.size(); ++place) {
    group[order[place]] = static_cast<int64_t>(place) * groups / std::ssize(order);
  }
  return group;
}

}  // namespace

Split stratified_split(std::span<const int64_t> labels, int64_t classes, double fraction, uint64_t seed) {
  if (!(fraction >= 0 && fraction < 1)) {
    std::ostringstream message;
    message << "split: expected a fraction from 0 to below 1, got " << fraction;
    throw Error(message.str());
  }
  std::vector<std::vector<int64_t>> members(classes);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    assert(labels[i] >= 0 && labels[i] < classes);
    members[labels[i]].push_back(static_cast<int64_t>(i));
  }
  std::vector<int64_t> sizes;
  for (const auto& cases : members) sizes.push_back(static_cast<int64_t>(cases.size()));
  const std::vector<int64_t> quota = quotas(sizes, fraction);
  base::Random random(seed);
  Split result;
  for (int64_t c = 0; c < classes; ++c) {
    shuffle(members[c], random);
    const auto end = members[c].begin() + quota[c];
    result.held_out.insert(result.held_out.end(), members[c].begin(), end);
    result.train.insert(result.train.end(), end, members[c].end());
  }
  std::ranges::sort(result.train);
  std::ranges::sort(result.held_out);
  return result;
}

Split random_split(int64_t cases, double fraction, uint64_t seed) {
  return stratified_split(std::vector<int64_t>(cases, 0), 1, fraction, seed);
}

Split split(const TimeSeriesSet& set, double fraction, uint64_t seed) {
  constexpr int64_t kCasesOfGroup = 10, kMostGroups = 10;
  if (!set.targets.empty()) {
    const int64_t groups = std::clamp<int64_t>(set.cases() / kCasesOfGroup, 1, kMostGroups);
    return stratified_split(target_groups(set.targets, groups), groups, fraction, seed);
  }
  if (set.labels.empty()) return random_split(set.cases(), fraction, seed);
  return stratified_split(set.labels, static_cast<int64_t>(set.class_names.size()), fraction, seed);
}

}  // namespace primal::data
