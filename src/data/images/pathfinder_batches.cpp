#include "data/images/pathfinder_batches.h"

#include <algorithm>
#include <atomic>
#include <future>

#include "base/text.h"
#include "data/images/pathfinder_image.h"

namespace primal::data {
namespace {

void check_pathfinder_order(const PathfinderOrder& order) {
  constexpr int64_t kMostPictures = 1'000'000'000, kMostThreads = 1024;
  if (order.count < 1 || order.count > kMostPictures) {
    base::fail("pathfinder", "number of pictures ", order.count, " is not between 1 and ", kMostPictures);
  }
  if (order.threads < 1 || order.threads > kMostThreads) {
    base::fail("pathfinder", "number of threads ", order.threads, " is not between 1 and ", kMostThreads);
  }
}

/// One batch, whose pictures the threads take one by one.
class BatchInWork {
 public:
  BatchInWork(const PathfinderOrder& order, const PathfinderPainter& painter, int64_t number)
      : order_(order),
        painter_(painter),
        first_(number * kPathfinderBatch),
        area_(order.options.size * order.options.size) {
    pictures_ = std::min(kPathfinderBatch, order.count - first_);
    batch_.number = number;
    batch_.labels.resize(pictures_);
    batch_.margins.resize(pictures_);
    batch_.pixels.resize(pictures_ * area_);
  }

  /// Nothing if it was interrupted.
  const PathfinderBatch* make() {
    std::vector<std::future<void>> others;
    for (int64_t i = 1; i < std::min(order_.threads, pictures_); ++i) {
      others.push_back(std::async(std::launch::async, [this] { work(nullptr); }));
    }
    work(order_.progress);
    for (std::future<void>& other : others) other.get();
    return done_ == pictures_ ? &batch_ : nullptr;
  }

 private:
  void work(const PathfinderProgress& progress) {
    try {
      for (int64_t k = next_++; k < pictures_ && !is_interrupted(); k = next_++) {
        const PathfinderImage image = painter_.image(order_.seed, static_cast<uint64_t>(first_ + k));
        batch_.labels[k] = image.label;
        batch_.margins[k] = image.margin;
        std::ranges::copy(image.grey.pixels, batch_.pixels.begin() + k * area_);
        const int64_t done = ++done_;
        if (progress) progress(first_ + done, order_.count);
      }
    } catch (...) {
      next_ = pictures_;  // the other threads need not go on
      throw;
    }
  }

  bool is_interrupted() const { return order_.stop && order_.stop(); }

  const PathfinderOrder& order_;
  const PathfinderPainter& painter_;
  int64_t first_, area_, pictures_ = 0;
  PathfinderBatch batch_;
  std::atomic<int64_t> next_ = 0, done_ = 0;
};

}  // namespace

bool make_pathfinder_batches(const PathfinderOrder& order, const std::function<void(const PathfinderBatch&)>& take) {
  check_pathfinder_order(order);
  const PathfinderPainter painter(order.options);
  const int64_t batches = (order.count + kPathfinderBatch - 1) / kPathfinderBatch;
  for (int64_t number = 0; number < batches; ++number) {
    BatchInWork work(order, painter, number);
    const PathfinderBatch* batch = work.make();
    if (batch == nullptr) return false;
    take(*batch);
    if (order.progress) order.progress(std::min((number + 1) * kPathfinderBatch, order.count), order.count);
  }
  return true;
}

}  // namespace primal::data
