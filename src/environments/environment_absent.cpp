// Takes the place of environment_mujoco.cpp and simulator_mujoco.cpp where MuJoCo is not there.
#include "environments/environment.h"
#include "primal/error.h"

namespace primal::environments {
namespace {

[[noreturn]] void fail_without_mujoco() {
  throw Error(
      "robots: primal was built without MuJoCo; `./primal train offline-rl/...` sets it up, or install "
      "tools/requirements-robots.txt and build again");
}

}  // namespace

class Simulator {};
struct Environment::Parts {};

bool has_simulator() { return false; }
std::shared_ptr<const Simulator> simulator(Robot, Version) { fail_without_mujoco(); }

Environment::Environment(std::shared_ptr<const Simulator>) { fail_without_mujoco(); }
Environment::~Environment() = default;
Environment::Environment(Environment&&) noexcept = default;
Environment& Environment::operator=(Environment&&) noexcept = default;
const RobotInfo& Environment::robot() const { fail_without_mujoco(); }
void Environment::reset(base::Random) { fail_without_mujoco(); }
void Environment::set_state(std::span<const double>, std::span<const double>) { fail_without_mujoco(); }
StepResult Environment::step(std::span<const double>) { fail_without_mujoco(); }
std::span<const double> Environment::observation() const { fail_without_mujoco(); }
std::span<const double> Environment::positions() const { fail_without_mujoco(); }
std::span<const double> Environment::velocities() const { fail_without_mujoco(); }
int64_t Environment::steps() const { fail_without_mujoco(); }
std::vector<Capsule> Environment::capsules() const { fail_without_mujoco(); }

}  // namespace primal::environments
