#include "train/inputs_ahead.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <mutex>
#include <numeric>
#include <semaphore>
#include <stdexcept>
#include <thread>

namespace primal::train {
namespace {

using namespace std::chrono_literals;

class Recorder : public Problem {
 public:
  torch::nn::Module& model() override { throw std::logic_error("not used"); }
  int64_t examples() const override { return 0; }
  BatchLoss loss(BatchInputs& /*inputs*/) override { return {}; }
  Evaluation evaluate(Part /*part*/) override { return {}; }

  std::unique_ptr<BatchInputs> inputs(std::vector<int64_t> examples) const override {
    if (examples.front() == fails_at) throw std::runtime_error("example 6 cannot be read");
    {
      const std::lock_guard lock(mutex);
      threads.push_back(at::get_num_threads());
      makers.push_back(std::this_thread::get_id());
    }
    made.release();
    return std::make_unique<BatchInputs>(std::move(examples));
  }

  int64_t fails_at = -1;
  mutable std::mutex mutex;
  mutable std::vector<int> threads;
  mutable std::vector<std::thread::id> makers;
  mutable std::counting_semaphore<> made{0};
};

std::vector<int64_t> count_to(int64_t end) {
  std::vector<int64_t> numbers(static_cast<size_t>(end));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

TEST(InputsAhead, GivesTheBatchesInOrder) {
  const Recorder problem;
  InputsAhead inputs(problem, count_to(7), 3);
  EXPECT_EQ(inputs.next()->examples, (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(inputs.next()->examples, (std::vector<int64_t>{3, 4, 5}));
  EXPECT_EQ(inputs.next()->examples, (std::vector<int64_t>{6}));
  EXPECT_THROW(inputs.next(), std::logic_error);
}

TEST(InputsAhead, MakesTheNextBatchBeforeItIsAskedFor) {
  const Recorder problem;
  InputsAhead inputs(problem, count_to(9), 3);
  inputs.next();
  ASSERT_TRUE(problem.made.try_acquire_for(10s));  // the one that was given
  ASSERT_TRUE(problem.made.try_acquire_for(10s));  // and the next one, without another call
  EXPECT_FALSE(problem.made.try_acquire_for(20ms)) << "two batches ahead";
}

TEST(InputsAhead, WorksElsewhereOnOneThread) {
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  const Recorder problem;
  InputsAhead inputs(problem, count_to(2), 1);
  inputs.next();
  inputs.next();
  EXPECT_EQ(problem.threads, (std::vector<int>{1, 1}));
  EXPECT_NE(problem.makers[0], std::this_thread::get_id());
  EXPECT_EQ(at::get_num_threads(), 2);
  at::set_num_threads(before);
}

TEST(InputsAhead, AnErrorComesOutWhereTheBatchIsAskedFor) {
  Recorder problem;
  problem.fails_at = 6;
  InputsAhead inputs(problem, count_to(9), 3);
  inputs.next();
  EXPECT_EQ(inputs.next()->examples.front(), 3);
  EXPECT_THROW(inputs.next(), std::runtime_error);
}

TEST(InputsAhead, AnEpochMayBeLeftInTheMiddleAndBeEmpty) {
  const Recorder problem;
  { const InputsAhead inputs(problem, count_to(9), 3); }
  const InputsAhead nothing(problem, {}, 3);
}

}  // namespace
}  // namespace primal::train
