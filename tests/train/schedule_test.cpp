#include "train/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/errors.h"

namespace primal::train {
namespace {

using tests::contains;
using tests::error_of;

constexpr double kBase = 0.1;

struct Point {
  int64_t step;
  double lr, momentum;
};

void expect_points(const ScheduleOptions& options, const std::vector<Point>& points) {
  for (const Point& point : points) {
    EXPECT_NEAR(learning_rate(options, kBase, point.step), point.lr, 1e-14) << "step " << point.step;
    EXPECT_NEAR(momentum(options, 0.9, point.step), point.momentum, 1e-14) << "step " << point.step;
  }
}

// The numbers of torch 2.13 come from
//
//   p = torch.zeros(1, requires_grad=True)
//   optimizer = torch.optim.AdamW([p], lr=0.1)
//   scheduler = ...(optimizer, ...)   # as above each test's numbers
//   for step in range(...):
//       print(step, optimizer.param_groups[0]["lr"], optimizer.param_groups[0]["betas"][0])
//       optimizer.step(); scheduler.step()

TEST(Schedule, ConstantIsTheBaseRate) {
  EXPECT_EQ(learning_rate({}, kBase, 0), kBase);
  EXPECT_EQ(learning_rate({}, kBase, 1'000'000'000), kBase);
}

// StepLR(optimizer, step_size=5, gamma=0.3)
TEST(Schedule, StepAgreesWithTorch) {
  expect_points({.kind = ScheduleKind::step, .step_factor = 0.3, .step_every = 5},
                {{0, 0.1, 0.9}, {4, 0.1, 0.9}, {5, 0.03, 0.9}, {9, 0.03, 0.9}, {10, 0.009, 0.9}, {17, 0.0027, 0.9}});
}

// CosineAnnealingLR(optimizer, T_max=20, eta_min=0.005)
TEST(Schedule, CosineAgreesWithTorch) {
  expect_points({.kind = ScheduleKind::cosine, .total_steps = 20, .final_fraction = 0.05},
                {{0, 0.1, 0.9},
                 {1, 0.099415196178269, 0.9},
                 {7, 0.0740645487376285, 0.9},
                 {10, 0.0525, 0.9},
                 {19, 0.00558480382173096, 0.9},
                 {20, 0.005, 0.9}});
}

// OneCycleLR(optimizer, 0.1, total_steps=30)
TEST(Schedule, OneCycleAgreesWithTorch) {
  expect_points({.kind = ScheduleKind::one_cycle, .total_steps = 30, .cycle_momentum = true},
                {{0, 0.004, 0.95},
                 {1, 0.00765378243945825, 0.946193976625564},
                 {5, 0.0703688047535243, 0.880865828381745},
                 {8, 0.1, 0.85},
                 {9, 0.0994415435450912, 0.850558458688744},
                 {20, 0.0388741978063711, 0.911126046697816},
                 {28, 0.000558856454908819, 0.949441541311256},
                 {29, 4e-07, 0.95}});
}

// OneCycleLR(optimizer, 0.1, total_steps=25): the rise takes 7.5 steps
TEST(Schedule, OneCycleWithAPeakBetweenTwoStepsAgreesWithTorch) {
  expect_points({.kind = ScheduleKind::one_cycle, .total_steps = 25, .cycle_momentum = true},
                {{0, 0.004, 0.95},
                 {1, 0.00949811076864593, 0.94427280128266},
                 {6, 0.0986052072364505, 0.851452909128697},
                 {7, 0.0997987155049032, 0.850201285300238},
                 {20, 0.0123467773141127, 0.937653573300181},
                 {24, 4e-07, 0.95}});
}

// OneCycleLR(optimizer, 0.1, total_steps=40, pct_start=10/40, anneal_strategy="linear"), as the LRA experiments use it
TEST(Schedule, LinearOneCycleWithWarmUpStepsAgreesWithTorch) {
  expect_points({.kind = ScheduleKind::one_cycle,
                 .total_steps = 40,
                 .warmup_steps = 10,
                 .one_cycle_annealing = Annealing::linear,
                 .cycle_momentum = true},
                {{0, 0.004, 0.95},
                 {1, 0.0146666666666667, 0.938888888888889},
                 {8, 0.0893333333333333, 0.861111111111111},
                 {9, 0.1, 0.85},
                 {10, 0.09666668, 0.853333333333333},
                 {30, 0.03000028, 0.92},
                 {39, 3.99999999997624e-07, 0.95}});
}

TEST(Schedule, OneCycleLeavesTheMomentumAloneUnlessAsked) {
  const ScheduleOptions options{.kind = ScheduleKind::one_cycle, .total_steps = 30};
  for (int64_t step = 0; step < 40; ++step) EXPECT_EQ(momentum(options, 0.9, step), 0.9);
}

TEST(Schedule, InverseSqrtIsThatOfFairseq) {
  const ScheduleOptions options{.kind = ScheduleKind::inverse_sqrt, .warmup_steps = 6000, .warmup_start_lr = 1e-7};
  EXPECT_NEAR(learning_rate(options, 1e-3, 0), 1e-7, 1e-18);
  EXPECT_NEAR(learning_rate(options, 1e-3, 1), 1e-7 + (1e-3 - 1e-7) / 6000, 1e-18);
  EXPECT_NEAR(learning_rate(options, 1e-3, 3000), (1e-7 + 1e-3) / 2, 1e-18);
  EXPECT_NEAR(learning_rate(options, 1e-3, 6000), 1e-3, 1e-18);
  EXPECT_NEAR(learning_rate(options, 1e-3, 24000), 0.5e-3, 1e-18);
  EXPECT_NEAR(learning_rate(options, 1e-3, 150000), 2e-4, 1e-18);
}

// The Decision Transformer's min((t + 1) / warmup, 1).
TEST(Schedule, WarmUpWithoutAStartRateBeginsAboveZeroAndReachesTheBaseOnItsLastStep) {
  const ScheduleOptions options{.warmup_steps = 4};
  const std::vector<double> expected{0.025, 0.05, 0.075, 0.1, 0.1, 0.1};
  for (size_t step = 0; step < expected.size(); ++step) {
    EXPECT_NEAR(learning_rate(options, kBase, static_cast<int64_t>(step)), expected[step], 1e-16);
  }
}

TEST(Schedule, CosineFallsFromTheEndOfTheWarmUpToTheEndOfTheRun) {
  const ScheduleOptions options{
      .kind = ScheduleKind::cosine, .total_steps = 30, .warmup_steps = 10, .final_fraction = 0.05};
  EXPECT_NEAR(learning_rate(options, kBase, 9), kBase, 1e-16);
  EXPECT_NEAR(learning_rate(options, kBase, 10), kBase, 1e-16);
  EXPECT_NEAR(learning_rate(options, kBase, 20), 0.0525, 1e-16);
  EXPECT_NEAR(learning_rate(options, kBase, 30), 0.005, 1e-16);
}

TEST(Schedule, StepsAfterTheLastKeepItsRate) {
  for (const ScheduleKind kind : {ScheduleKind::cosine, ScheduleKind::one_cycle}) {
    const ScheduleOptions options{.kind = kind, .total_steps = 10, .final_fraction = 0.25, .cycle_momentum = false};
    const double last = kind == ScheduleKind::cosine ? 0.025 : 4e-7;
    EXPECT_NEAR(learning_rate(options, kBase, 10), last, 1e-16);
    EXPECT_NEAR(learning_rate(options, kBase, 1000), last, 1e-16);
  }
}

TEST(Schedule, RunsOfOneStepAreFinite) {
  for (const double rise : {0.0, 0.3, 1.0}) {
    const ScheduleOptions options{.kind = ScheduleKind::one_cycle, .total_steps = 1, .rise_fraction = rise};
    EXPECT_EQ(learning_rate(options, kBase, 0), kBase);
  }
}

TEST(Schedule, WrongOptionsAreNamedWithWhatCameAndWhatWasExpected) {
  const auto message = [](const ScheduleOptions& options) { return error_of([&] { check(options); }); };
  EXPECT_EQ(message({.warmup_steps = -1}), "schedule: warmup -1, expected 0 or more");
  EXPECT_EQ(message({.kind = ScheduleKind::step}), "schedule: step_every 0, expected a positive number of steps");
  EXPECT_EQ(message({.kind = ScheduleKind::cosine, .total_steps = 5, .warmup_steps = 5}),
            "schedule: warmup 5, expected fewer than the 5 steps of the run");
  EXPECT_EQ(message({.kind = ScheduleKind::inverse_sqrt}),
            "schedule: warmup 0, expected a positive number for inverse_sqrt");
  EXPECT_EQ(message({.kind = ScheduleKind::one_cycle}), "schedule: total_steps 0, expected a positive number");
  EXPECT_EQ(message({.kind = ScheduleKind::one_cycle, .total_steps = 9, .rise_fraction = std::nan("")}),
            "schedule: rise_fraction nan, expected 0 to 1");
  EXPECT_EQ(message({.cycle_momentum = true}),
            "schedule: cycle_momentum true, expected false, because only one_cycle cycles it");
  EXPECT_EQ(error_of([] { learning_rate({}, kBase, -1); }), "schedule: step -1, expected 0 or more");
}

TEST(Schedule, NamesGoBothWays) {
  for (const char* name : {"constant", "step", "cosine", "inverse_sqrt", "one_cycle"}) {
    EXPECT_EQ(base::name_in(kScheduleNames, base::named(kScheduleNames, "schedule", name)), name);
  }
  EXPECT_EQ(error_of([] { base::named(kScheduleNames, "schedule", "cos"); }),
            "schedule \"cos\" is unknown, expected one of constant, step, cosine, inverse_sqrt, one_cycle");
}

}  // namespace
}  // namespace primal::train
