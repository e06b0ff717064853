#include "environments/moments.h"

#include <cassert>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace primal::environments {

void Moments::add(std::span<const double> values) {
  assert(values.size() == mean.size());
  ++count;
  for (size_t i = 0; i < mean.size(); ++i) {
    const double distance = values[i] - mean[i];
    mean[i] += distance / static_cast<double>(count);
    squares[i] += distance * (values[i] - mean[i]);
  }
}

void Moments::add(const Moments& other) {
  assert(other.mean.size() == mean.size());
  if (other.count == 0) return;
  const auto mine = static_cast<double>(count), others = static_cast<double>(other.count);
  const double all = mine + others;
  for (size_t i = 0; i < mean.size(); ++i) {
    const double distance = other.mean[i] - mean[i];
    mean[i] += distance * (others / all);
    squares[i] += other.squares[i] + distance * distance * (mine * others / all);
  }
  count += other.count;
}

std::vector<double> Moments::deviation() const {
  if (count < 2) return std::vector<double>(mean.size(), 1);
  std::vector<double> result;
  for (const double sum : squares) result.push_back(std::sqrt(sum / static_cast<double>(count - 1)));
  return result;
}

nlohmann::json to_json(const Moments& moments) {
  return {{"count", moments.count}, {"mean", moments.mean}, {"squares", moments.squares}};
}

Moments moments_of(const base::Fields& fields, int64_t size) {
  Moments moments(size);
  moments.count = fields.whole("count");
  for (auto [key, values] : {std::pair{"mean", &moments.mean}, std::pair{"squares", &moments.squares}}) {
    *values = fields.numbers_if_any(key);
    if (std::ssize(*values) == size) continue;
    fields.fail(key, "expected " + std::to_string(size) + " numbers, got " + std::to_string(values->size()));
  }
  return moments;
}

}  // namespace primal::environments
