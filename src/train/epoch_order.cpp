#include "train/epoch_order.h"

#include <cstddef>
#include <numeric>
#include <utility>

#include "data/random.h"

namespace primal::train {

std::vector<int64_t> epoch_order(int64_t examples, int64_t seed, int64_t epoch) {
  std::vector<int64_t> order(static_cast<std::size_t>(examples));
  std::iota(order.begin(), order.end(), 0);
  // Two rounds of the generator part the streams of neighbouring seeds and epochs.
  data::Random random(data::Random(static_cast<uint64_t>(seed)).next() + static_cast<uint64_t>(epoch));
  for (int64_t i = examples - 1; i > 0; --i) std::swap(order[i], order[random.below(static_cast<uint64_t>(i) + 1)]);
  return order;
}

}  // namespace primal::train
