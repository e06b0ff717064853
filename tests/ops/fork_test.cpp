#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include "ops/recycled_memory.h"
#include "primal/attention.h"
#include "primal/feature_map.h"
#include "support/threads.h"

namespace primal::ops {
namespace {

constexpr unsigned kSeconds = 30;  // a child that hangs is ended by then

bool child_ends(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    alarm(kSeconds);
    work();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// How many of the children that are forked while another thread works as well come to an end.
int children_that_end(int forks, const std::function<void()>& work, const std::function<void()>& others) {
  const tests::ThreadsGuard restore;
  at::set_num_threads(1);
  work();
  std::atomic<bool> done = false;
  std::thread other([&] {
    at::set_num_threads(1);
    while (!done) others();
  });
  int ended = 0;
  for (int i = 0; i < forks && ended == i; ++i) ended += child_ends(work) ? 1 : 0;
  done = true;
  other.join();
  return ended;
}

TEST(Fork, LeavesTheMemoryOfLargeTensorsUsable) {
  const auto work = [] {
    for (int i = 0; i < 100; ++i) recycled_tensor({1 << 18}, at::kFloat);
  };
  EXPECT_EQ(children_that_end(100, work, work), 100);
}

TEST(Fork, LeavesFeatureMapsUsable) {
  const at::Tensor u = at::ones({1, 2});
  const auto work = [&] {
    for (int i = 0; i < 100; ++i) find_feature_map("polynomial(2)")->forward(u);
  };
  EXPECT_EQ(children_that_end(100, work, work), 100);
}

TEST(Fork, LeavesTheAttentionUsable) {
  // A layer and tokens of its own for each thread: PyTorch locks tensors that it looks at.
  const auto worker = [] {
    PrimalAttention layer(PrimalAttentionOptions{.width = 64, .heads = 4, .rank = 3});
    return [layer, x = at::randn({2, 4096, 64})]() mutable {
      const at::NoGradGuard no_grad;
      layer->forward(x);
    };
  };
  EXPECT_EQ(children_that_end(50, worker(), worker()), 50);
}

}  // namespace
}  // namespace primal::ops
