#include "run/rollout_details.h"

#include <cmath>

#include "base/json_fields.h"

namespace primal::run {

namespace {

using Json = nlohmann::json;

constexpr const char* kRollouts = "rollouts";

// Millimetres and thousandths of a return: more digits only make the file longer.
double thousandth(double value) { return std::round(1e3 * value) / 1e3; }

Json numbers_json(const std::vector<double>& values) {
  Json list = Json::array();
  for (double value : values) list.push_back(thousandth(value));
  return list;
}

/// No target is NaN here and null in a file.
Json target_json(double target) { return std::isnan(target) ? Json() : Json(thousandth(target)); }

Json target_returns_json(const TargetReturns& target) {
  return {{"target", target_json(target.target)}, {"returns", numbers_json(target.returns)}, {"steps", target.steps}};
}

Json animation_json(const Animation& animation) {
  Json frames = Json::array();
  for (const auto& frame : animation.frames) frames.push_back(numbers_json(frame));
  return {{"title", animation.title},
          {"target", target_json(animation.target)},
          {"earned", thousandth(animation.earned)},
          {"steps", animation.steps},
          {"frame_seconds", animation.frame_seconds},
          {"frame_steps", animation.frame_steps},
          {"radii", numbers_json(animation.radii)},
          {"frames", frames}};
}

double finite(const base::Fields& fields, const char* key) {
  const double value = fields.number(key);
  if (!std::isfinite(value)) fields.fail(key, "expected a finite number, got " + std::to_string(value));
  return value;
}

double target_from(const base::Fields& fields) {
  const double target = fields.number("target");
  if (std::isinf(target)) fields.fail("target", "expected a finite number or null, got " + std::to_string(target));
  return target;
}

void expect_finite(const base::Fields& fields, const char* key, const std::vector<double>& values,
                   const std::string& place = "") {
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    fields.fail(key, "expected finite numbers, got " + std::to_string(values[i]) + " at " + place + std::to_string(i));
  }
}

std::vector<double> finite_numbers(const base::Fields& fields, const char* key) {
  std::vector<double> values = fields.numbers_if_any(key);
  expect_finite(fields, key, values);
  return values;
}

std::vector<int64_t> whole_numbers(const base::Fields& fields, const char* key) {
  std::vector<int64_t> wholes;
  for (double value : finite_numbers(fields, key)) {
    constexpr double kMost = 1e15;  // up to here every whole number is a double
    if (value < 0 || value > kMost || value != std::floor(value)) {
      fields.fail(key, "expected whole numbers from 0, got " + std::to_string(value));
    }
    wholes.push_back(static_cast<int64_t>(value));
  }
  return wholes;
}

TargetReturns target_returns_from(const base::Fields& fields) {
  TargetReturns target{.target = target_from(fields),
                       .returns = finite_numbers(fields, "returns"),
                       .steps = whole_numbers(fields, "steps")};
  if (target.steps.size() != target.returns.size()) {
    fields.fail("steps", "expected " + std::to_string(target.returns.size()) + " numbers, one for each return, got " +
                             std::to_string(target.steps.size()));
  }
  return target;
}

std::vector<std::vector<double>> frames_from(const base::Fields& fields, size_t capsules) {
  std::vector<std::vector<double>> frames = fields.number_rows("frames");
  for (size_t i = 0; i < frames.size(); ++i) {
    if (frames[i].size() != 4 * capsules) {
      fields.fail("frames", "expected 4 numbers for each of " + std::to_string(capsules) + " capsules, got " +
                                std::to_string(frames[i].size()) + " in frame " + std::to_string(i));
    }
    expect_finite(fields, "frames", frames[i], "frame " + std::to_string(i) + ", place ");
  }
  return frames;
}

Animation animation_from(const base::Fields& fields) {
  Animation animation{.title = fields.text("title"),
                      .target = target_from(fields),
                      .earned = finite(fields, "earned"),
                      .steps = fields.whole("steps"),
                      .frame_seconds = finite(fields, "frame_seconds"),
                      .radii = finite_numbers(fields, "radii"),
                      .frames = {},
                      .frame_steps = fields.whole_if_any("frame_steps")};
  for (double radius : animation.radii) {
    if (radius < 0) fields.fail("radii", "expected numbers from 0, got " + std::to_string(radius));
  }
  animation.frames = frames_from(fields, animation.radii.size());
  if (!animation.frames.empty() && animation.frame_seconds <= 0) {
    fields.fail("frame_seconds", "expected a number above 0, got " + std::to_string(animation.frame_seconds));
  }
  return animation;
}

}  // namespace

void put(Evaluation& evaluation, const RolloutDetails& details) {
  if (details.robot.empty()) return;
  Json targets = Json::array(), animations = Json::array();
  for (const TargetReturns& target : details.targets) targets.push_back(target_returns_json(target));
  for (const Animation& animation : details.animations) animations.push_back(animation_json(animation));
  evaluation.details[kRollouts] = {{"robot", details.robot},
                                   {"normalisation", details.normalisation},
                                   {"random_return", details.random_return},
                                   {"expert_return", details.expert_return},
                                   {"checkpoint", details.checkpoint},
                                   {"data_returns", numbers_json(details.data_returns)},
                                   {"targets", targets},
                                   {"animations", animations}};
  rollout_details(evaluation, "rollouts to be written");  // a file that nobody can read is worse than an error now
}

RolloutDetails rollout_details(const Evaluation& evaluation, const std::string& where) {
  RolloutDetails details;
  if (!evaluation.details.contains(kRollouts)) return details;
  const base::Fields fields = base::Fields(evaluation.details, where).object(kRollouts);
  details.robot = fields.text("robot");
  details.normalisation = fields.text_if_any("normalisation");
  details.random_return = finite(fields, "random_return");
  details.expert_return = finite(fields, "expert_return");
  details.checkpoint = fields.text_if_any("checkpoint");
  details.data_returns = finite_numbers(fields, "data_returns");
  const auto objects = [&](const char* key) {
    return evaluation.details[kRollouts].contains(key) ? fields.objects(key) : std::vector<base::Fields>{};
  };
  for (const base::Fields& target : objects("targets")) details.targets.push_back(target_returns_from(target));
  for (const base::Fields& animation : objects("animations")) details.animations.push_back(animation_from(animation));
  return details;
}

}  // namespace primal::run
