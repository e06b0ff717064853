#include "train/batches_ahead.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <mutex>
#include <semaphore>
#include <stdexcept>
#include <thread>

namespace primal::train {
namespace {

using namespace std::chrono_literals;

class Recorder : public Problem {
 public:
  torch::nn::Module& model() override { throw std::logic_error("not used"); }
  const Metric& metric() const override { return run::accuracy_metric(); }
  int64_t examples() const override { return 0; }
  BatchLoss loss(Batch& /*batch*/) override { return {}; }
  Evaluation evaluate(Part /*part*/) override { return {}; }

  std::unique_ptr<Batch> batch(std::vector<int64_t> examples, base::Random random) const override {
    {
      const std::lock_guard lock(mutex);
      if (std::ssize(makers) == fails_at) throw std::runtime_error("the batch cannot be read");
      chances.push_back(random.next());
      threads.push_back(at::get_num_threads());
      makers.push_back(std::this_thread::get_id());
    }
    made.release();
    return std::make_unique<Batch>(std::move(examples));
  }

  int64_t fails_at = -1;
  mutable std::mutex mutex;
  mutable std::vector<int> threads;
  mutable std::vector<uint64_t> chances;
  mutable std::vector<std::thread::id> makers;
  mutable std::counting_semaphore<> made{0};
};

// 7 examples in batches of 3.
OrderOptions options(int64_t accumulate = 1) { return {.examples = 7, .batch = 3, .accumulate = accumulate}; }

TEST(BatchesAhead, GivesTheStepsInOrder) {
  const Recorder problem;
  BatchesAhead batches(problem, options(2), 0, 3);
  Order order(options(2));
  for (const auto& [first, last] : {std::pair{0, 2}, {2, 3}, {3, 5}}) {
    const auto step = batches.next();
    ASSERT_EQ(std::ssize(step), last - first);
    for (int k = first; k < last; ++k) EXPECT_EQ(step[k - first]->examples, order.examples_of(k)) << k;
  }
  EXPECT_THROW(batches.next(), std::logic_error);
}

TEST(BatchesAhead, ABatchHasTheSameChancesWhereverARunBegins) {
  const Recorder whole, resumed;
  BatchesAhead all(whole, options(), 0, 6), rest(resumed, options(), 4, 6);
  for (int i = 0; i < 6; ++i) all.next();
  for (int i = 0; i < 2; ++i) rest.next();
  EXPECT_EQ(resumed.chances, std::vector(whole.chances.begin() + 4, whole.chances.end()));
  EXPECT_NE(whole.chances[0], whole.chances[1]);
  const Recorder other;
  OrderOptions other_seed = options();
  other_seed.seed = 2;
  BatchesAhead(other, other_seed, 0, 1).next();
  EXPECT_NE(other.chances[0], whole.chances[0]);
}

TEST(BatchesAhead, MakesTheNextStepBeforeItIsAskedFor) {
  const Recorder problem;
  BatchesAhead batches(problem, options(), 0, 9);
  batches.next();
  ASSERT_TRUE(problem.made.try_acquire_for(10s));  // the one that was given
  ASSERT_TRUE(problem.made.try_acquire_for(10s));  // and the next one, without another call
  EXPECT_FALSE(problem.made.try_acquire_for(20ms)) << "two steps ahead";
}

TEST(BatchesAhead, WorksElsewhereOnOneThread) {
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  const Recorder problem;
  BatchesAhead batches(problem, options(), 0, 2);
  batches.next();
  batches.next();
  EXPECT_EQ(problem.threads, (std::vector<int>{1, 1}));
  EXPECT_NE(problem.makers[0], std::this_thread::get_id());
  EXPECT_EQ(at::get_num_threads(), 2);
  at::set_num_threads(before);
}

TEST(BatchesAhead, AnErrorComesOutWhereTheStepIsAskedFor) {
  Recorder problem;
  problem.fails_at = 2;
  BatchesAhead batches(problem, options(), 0, 9);
  batches.next();
  EXPECT_EQ(batches.next().size(), 1u);
  EXPECT_THROW(batches.next(), std::runtime_error);
}

TEST(BatchesAhead, ARunMayBeLeftInTheMiddleAndBeEmpty) {
  const Recorder problem;
  { const BatchesAhead batches(problem, options(), 0, 9); }
  const BatchesAhead nothing(problem, options(), 5, 5);
}

}  // namespace
}  // namespace primal::train
