#include <mujoco/mujoco.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "base/text.h"
#include "environments/environment.h"
#include "environments/rules.h"
#include "environments/simulator_mujoco.h"

namespace primal::environments {
namespace {

std::span<double> of_joints(mjtNum* numbers, int count) { return {numbers, static_cast<std::size_t>(count)}; }

void check_size(const RobotInfo& robot, const char* what, std::size_t size, int64_t expected) {
  if (std::cmp_not_equal(size, expected)) {
    base::fail(robot.name, size, " numbers of ", what, ", expected ", expected);
  }
}

}  // namespace

struct Environment::Parts {
  struct Delete {
    void operator()(mjData* data) const { mj_deleteData(data); }
  };
  std::shared_ptr<const Simulator> simulator;
  std::unique_ptr<mjData, Delete> data;
  std::vector<double> observation;
  int64_t steps = 0;

  const mjModel& model() const { return *simulator->model(); }
  std::span<double> positions() const { return of_joints(data->qpos, model().nq); }
  std::span<double> velocities() const { return of_joints(data->qvel, model().nv); }
  void observe() { environments::observe(simulator->rules(), positions(), velocities(), observation); }
  /// To be called when positions and velocities have been set.
  void begin() {
    mj_forward(&model(), data.get());
    steps = 0;
    observe();
  }
  void set_controls(std::span<const double> action) const {
    const RobotInfo& robot = simulator->robot();
    check_size(robot, "an action", action.size(), robot.actions);
    for (std::size_t i = 0; i < action.size(); ++i) {
      if (std::isnan(action[i])) base::fail(robot.name, "number ", i + 1, " of the action is nan");
      data->ctrl[i] = std::clamp(action[i], -1.0, 1.0);
    }
  }
};

Environment::Environment(std::shared_ptr<const Simulator> simulator) : parts_(std::make_unique<Parts>()) {
  parts_->data.reset(mj_makeData(simulator->model()));
  parts_->observation.resize(static_cast<std::size_t>(simulator->robot().states));
  parts_->simulator = std::move(simulator);
  parts_->begin();
}
Environment::~Environment() = default;
Environment::Environment(Environment&&) noexcept = default;
Environment& Environment::operator=(Environment&&) noexcept = default;

const RobotInfo& Environment::robot() const { return parts_->simulator->robot(); }

void Environment::reset(base::Random random) {
  mj_resetData(&parts_->model(), parts_->data.get());
  add_start_noise(parts_->simulator->rules(), random, parts_->positions(), parts_->velocities());
  parts_->begin();
}

void Environment::set_state(std::span<const double> positions, std::span<const double> velocities) {
  check_size(robot(), "positions", positions.size(), parts_->model().nq);
  check_size(robot(), "velocities", velocities.size(), parts_->model().nv);
  mj_resetData(&parts_->model(), parts_->data.get());
  std::ranges::copy(positions, parts_->positions().begin());
  std::ranges::copy(velocities, parts_->velocities().begin());
  parts_->begin();
}

StepResult Environment::step(std::span<const double> action) {
  Parts& parts = *parts_;
  const Rules& rules = parts.simulator->rules();
  parts.set_controls(action);
  const double before = parts.positions()[0];
  for (int i = 0; i < rules.frame_skip; ++i) mj_step(&parts.model(), parts.data.get());
  ++parts.steps;
  parts.observe();
  const double seconds = parts.model().opt.timestep * rules.frame_skip;
  const double velocity = (parts.positions()[0] - before) / seconds;
  const bool upright = is_upright(robot().robot, parts.positions(), parts.velocities());
  const std::span<const double> clipped = of_joints(parts.data->ctrl, parts.model().nu);
  return {reward(rules, velocity, clipped, upright), !upright, parts.steps >= kTimeLimit};
}

std::span<const double> Environment::observation() const { return parts_->observation; }
std::span<const double> Environment::positions() const { return parts_->positions(); }
std::span<const double> Environment::velocities() const { return parts_->velocities(); }
int64_t Environment::steps() const { return parts_->steps; }

std::vector<Capsule> Environment::capsules() const {
  const mjModel& model = parts_->model();
  // The places that a step leaves behind are those before its last part. The next step computes them anew.
  mj_kinematics(&model, parts_->data.get());
  std::vector<Capsule> capsules;
  for (int geom = 0; geom < model.ngeom; ++geom) {
    if (model.geom_type[geom] != mjGEOM_CAPSULE) continue;
    const mjtNum* const centre = parts_->data->geom_xpos + 3 * geom;
    const mjtNum* const axes =
        parts_->data->geom_xmat + 9 * geom;  // rows of a matrix; a capsule lies along the third axis
    const mjtNum radius = model.geom_size[3 * geom], half = model.geom_size[3 * geom + 1];
    const double x = half * axes[2], z = half * axes[8];
    capsules.push_back({centre[0] - x, centre[2] - z, centre[0] + x, centre[2] + z, radius});
  }
  return capsules;
}

}  // namespace primal::environments
