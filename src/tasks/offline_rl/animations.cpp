#include "tasks/offline_rl/animations.h"

#include <algorithm>
#include <cmath>

#include "environments/environment.h"

namespace primal::tasks {

namespace {

constexpr double kFrameSeconds = 0.04;  // about: 25 frames a second
constexpr int64_t kMostFrames = 250;    // of an episode; a frame takes about 200 bytes of the page

run::Animation animation_of(const PlayedEpisode& episode, const std::string& title, environments::Environment& stage) {
  const environments::RobotInfo& robot = stage.robot();
  const int64_t every = std::max<int64_t>(1, std::llround(kFrameSeconds / robot.step_seconds));
  const size_t joints = stage.positions().size();
  const std::vector<double> at_rest(stage.velocities().size(), 0);
  run::Animation animation{.title = title,
                           .target = episode.target,
                           .earned = episode.earned,
                           .steps = episode.steps,
                           .frame_seconds = static_cast<double>(every) * robot.step_seconds,
                           .frame_steps = every};
  for (int64_t step = 0; step <= episode.steps && std::ssize(animation.frames) < kMostFrames; step += every) {
    stage.set_state(std::span(episode.positions).subspan(static_cast<size_t>(step) * joints, joints), at_rest);
    std::vector<double> frame;
    animation.radii.clear();
    for (const environments::Capsule& capsule : stage.capsules()) {
      animation.radii.push_back(capsule.radius);
      frame.insert(frame.end(), {capsule.x1, capsule.z1, capsule.x2, capsule.z2});
    }
    animation.frames.push_back(std::move(frame));
  }
  return animation;
}

}  // namespace

std::vector<run::Animation> animations_of(const std::vector<PlayedEpisode>& episodes, environments::Robot robot,
                                          environments::Version version) {
  std::vector<const PlayedEpisode*> shown;
  for (const PlayedEpisode& episode : episodes) {
    const bool is_first = episode.target == episodes.front().target || std::isnan(episode.target);
    if (is_first && !episode.positions.empty()) shown.push_back(&episode);
  }
  std::ranges::stable_sort(shown, std::greater{}, &PlayedEpisode::earned);
  environments::Environment stage(environments::simulator(robot, version));
  std::vector<run::Animation> animations;
  const auto add = [&](size_t place, const char* title) {
    animations.push_back(animation_of(*shown[place], title, stage));
  };
  if (shown.empty()) return animations;
  add(0, "best");
  if (shown.size() > 2) add(shown.size() / 2, "median");
  if (shown.size() > 1) add(shown.size() - 1, "worst");
  return animations;
}

}  // namespace primal::tasks
