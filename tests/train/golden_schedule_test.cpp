// The one-cycle schedule of the published Long Range Arena runs, against the rates and momenta that they used.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/settings.h"
#include "primal/safetensors.h"
#include "train/schedule.h"

namespace primal::train {
namespace {

TEST(GoldenSchedule, OneCycleIsThatOfThePublishedRuns) {
  const SafetensorsFile file =
      load_safetensors(std::filesystem::path(PRIMAL_GOLDEN_DIR) / "lra_training_primalformer.safetensors");
  const int64_t steps = std::stoll(file.metadata.at("steps"));
  const double peak = std::stod(file.metadata.at("lr"));
  ScheduleOptions schedule;
  base::Settings settings;  // as a preset would say it
  add_settings(settings, schedule);
  settings.set("schedule.name", "one_cycle", "test");
  settings.set("schedule.warmup", file.metadata.at("warmup") + " steps", "test");
  settings.set("schedule.annealing", "linear", "test");
  settings.set("schedule.cycle_momentum", "true", "test");
  schedule.total_steps = steps;
  schedule.warmup_steps = schedule.warmup.count;
  const at::Tensor &rates = file.tensors.at("learning_rates"), &momenta = file.tensors.at("beta1");
  ASSERT_EQ(rates.numel(), steps);
  for (int64_t step = 0; step < steps; ++step) {
    EXPECT_NEAR(learning_rate(schedule, peak, step), rates[step].item<double>(), 1e-12 * peak) << step;
    EXPECT_NEAR(momentum(schedule, 0.9, step), momenta[step].item<double>(), 1e-12) << step;
  }
}

}  // namespace
}  // namespace primal::train
