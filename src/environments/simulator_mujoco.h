// A robot's model as MuJoCo has compiled it.
#pragma once

#include <mujoco/mujoco.h>

#include <filesystem>
#include <memory>

#include "environments/environment.h"
#include "environments/rules.h"

namespace primal::environments {

class Simulator {
 public:
  /// Throws Error, which names the file, if it is not there or not a model of this robot.
  Simulator(Robot robot, Version version, const std::filesystem::path& file);

  const mjModel* model() const { return model_.get(); }
  const RobotInfo& robot() const { return robot_; }
  const Rules& rules() const { return rules_; }

 private:
  struct Delete {
    void operator()(mjModel* model) const { mj_deleteModel(model); }
  };
  const RobotInfo& robot_;
  Rules rules_;
  std::unique_ptr<mjModel, Delete> model_;
};

}  // namespace primal::environments
