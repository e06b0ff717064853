#include "train/optimizer.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>
#include <utility>

#include "kernels/cpu_target.h"
#include "kernels/optimizer_step.h"
#include "ops/parallel.h"
#include "primal/error.h"
#include "train/optimizer_rule.h"

namespace primal::train {

namespace {

// Elements per unit of parallel work. A step over them takes about 20 us, well above the cost of handing out work.
constexpr int64_t kBlock = 16384;

template <typename... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  std::ostringstream message;
  message << "optimizer: ";
  (message << ... << parts);
  throw Error(message.str());
}

void require_number(bool met, const char* option, double value, const char* expected) {
  if (!met) fail(option, " ", value, ", expected ", expected);
}

bool is_rate(double value) { return value >= 0 && std::isfinite(value); }
bool is_average(double value) { return value >= 0 && value < 1; }

/// Arrays laid end to end and cut into blocks of fixed size, so that many small ones cost no more than one large one,
/// and sums per block do not depend on the number of threads.
class Blocks {
 public:
  void append(int64_t size) { ends_.push_back(total() + size); }
  int64_t count() const { return (total() + kBlock - 1) / kBlock; }

  /// Calls body(block, array, first element of the array, elements) in parallel, for each part of an array in a block.
  template <typename Body>
  void for_each(const Body& body) const {
    ops::parallel_for(0, count(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) for_each_in(block, body);
    });
  }

 private:
  int64_t total() const { return ends_.empty() ? 0 : ends_.back(); }

  template <typename Body>
  void for_each_in(int64_t block, const Body& body) const {
    int64_t at = block * kBlock;
    const int64_t stop = std::min(at + kBlock, total());
    auto array = static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), at) - ends_.begin());
    for (; at < stop; ++array) {
      const int64_t size = std::min(stop, ends_[array]) - at;
      if (size > 0) body(block, array, at - (array == 0 ? 0 : ends_[array - 1]), size);
      at += size;
    }
  }

  std::vector<int64_t> ends_;
};

void check_parameter(const Optimizer::Parameter& parameter) {
  const at::Tensor& value = parameter.value;
  if (!value.defined()) fail("parameter ", parameter.name, " is undefined");
  if (value.scalar_type() != at::kFloat && value.scalar_type() != at::kDouble) {
    fail("parameter ", parameter.name, " is ", value.scalar_type(), ", expected float32 or float64");
  }
  if (!value.is_cpu()) fail("parameter ", parameter.name, " is on ", value.device(), ", expected cpu");
  if (!value.is_contiguous()) {
    fail("parameter ", parameter.name, " has strides ", value.strides(), " for shape ", value.sizes(),
         ", expected it to be contiguous");
  }
}

// A tensor taken twice would be updated twice per step.
void check_different(const std::vector<Optimizer::Parameter>& parameters) {
  std::set<std::string> names;
  std::map<const void*, std::string> tensors;
  for (const auto& [name, value, decay] : parameters) {
    if (!names.insert(name).second) fail("two parameters have the name ", name);
    const auto [other, added] = tensors.emplace(value.unsafeGetTensorImpl(), name);
    if (!added) fail("parameters ", other->second, " and ", name, " are one tensor, expected each tensor once");
  }
}

// As the kernels need it: in rows without gaps. Undefined if there is none.
at::Tensor gradient_of(const Optimizer::Parameter& parameter) {
  const at::Tensor& gradient = parameter.value.grad();
  if (!gradient.defined()) return {};
  if (gradient.layout() != at::kStrided) {
    fail("gradient of ", parameter.name, " is ", gradient.layout(), ", expected a dense one");
  }
  return gradient.contiguous();
}

template <typename T>
T* data_or_null(const at::Tensor& tensor, int64_t first) {
  return tensor.defined() ? tensor.mutable_data_ptr<T>() + first : nullptr;
}

/// One parameter of a step.
struct Update {
  at::Tensor value, gradient, m, v;
  kernels::StepCoefficients coefficients;

  void run(int64_t first, int64_t size) const {
    value.scalar_type() == at::kFloat ? run_as<float>(first, size) : run_as<double>(first, size);
  }

  template <typename T>
  void run_as(int64_t first, int64_t size) const {
    kernels::optimizer_step(coefficients, size,
                            {value.mutable_data_ptr<T>() + first, gradient.const_data_ptr<T>() + first,
                             data_or_null<T>(m, first), data_or_null<T>(v, first)});
  }
};

double sum_of_squares(const at::Tensor& x, int64_t first, int64_t size) {
  return x.scalar_type() == at::kFloat ? kernels::sum_of_squares(x.const_data_ptr<float>() + first, size)
                                       : kernels::sum_of_squares(x.const_data_ptr<double>() + first, size);
}

void check_like(const std::string& name, const at::Tensor& actual, const at::Tensor& expected) {
  if (!actual.defined()) fail("state ", name, " is undefined, expected shape ", expected.sizes());
  if (actual.sizes() != expected.sizes()) {
    fail("state ", name, " has shape ", actual.sizes(), ", expected ", expected.sizes());
  }
  if (actual.scalar_type() != expected.scalar_type()) {
    fail("state ", name, " is ", actual.scalar_type(), ", expected ", expected.scalar_type());
  }
}

int64_t checked_count(const std::string& name, const at::Tensor& count) {
  const auto steps = count.item<int64_t>();
  if (steps < 0) fail("state ", name, " is ", steps, ", expected 0 or more");
  return steps;
}

}  // namespace

void check(const OptimizerOptions& o) {
  require_number(is_rate(o.lr), "lr", o.lr, "a finite number, 0 or more");
  require_number(is_average(o.beta1), "beta1", o.beta1, "0 <= beta1 < 1");
  require_number(is_average(o.beta2), "beta2", o.beta2, "0 <= beta2 < 1");
  require_number(is_rate(o.eps), "eps", o.eps, "a finite number, 0 or more");
  require_number(is_rate(o.weight_decay), "weight_decay", o.weight_decay, "a finite number, 0 or more");
  require_number(is_average(o.momentum), "momentum", o.momentum, "0 <= momentum < 1");
  if (o.nesterov && (o.kind != OptimizerKind::sgd || o.momentum == 0)) {
    fail("nesterov with ", base::name_in(kOptimizerNames, o.kind), " and momentum ", o.momentum,
         ", expected sgd with momentum > 0");
  }
}

Optimizer::Optimizer(std::vector<Parameter> parameters, OptimizerOptions options) : options_(options) {
  kernels::use_cpu_target_of_environment();
  check(options_);
  for (const Parameter& parameter : parameters) check_parameter(parameter);
  check_different(parameters);
  for (Parameter& parameter : parameters) {
    const auto zeros = [&](bool needed) {
      return needed ? at::zeros(parameter.value.sizes(), parameter.value.options()) : at::Tensor();
    };
    at::Tensor m = zeros(has_first_moment(options_)), v = zeros(has_second_moment(options_));
    slots_.push_back({std::move(parameter), std::move(m), std::move(v)});
  }
}

double clip_scale(double norm, double largest) { return largest > 0 ? std::min(1.0, largest / (norm + 1e-6)) : 1; }

double Optimizer::gradient_norm() const {
  std::vector<at::Tensor> gradients;
  Blocks blocks;
  for (const Slot& slot : slots_) {
    at::Tensor gradient = gradient_of(slot.parameter);
    if (!gradient.defined()) continue;
    blocks.append(gradient.numel());
    gradients.push_back(std::move(gradient));
  }
  std::vector<double> sums(static_cast<size_t>(blocks.count()), 0.0);
  blocks.for_each([&](int64_t block, size_t array, int64_t first, int64_t size) {
    sums[static_cast<size_t>(block)] += sum_of_squares(gradients[array], first, size);
  });
  double sum = 0;
  for (const double block : sums) sum += block;
  return std::sqrt(sum);
}

void Optimizer::step(double lr, double gradient_scale, std::optional<double> momentum) {
  require_number(is_rate(lr), "lr", lr, "a finite number, 0 or more");
  require_number(std::isfinite(gradient_scale), "gradient_scale", gradient_scale, "a finite number");
  const double first_moment =
      momentum.value_or(options_.kind == OptimizerKind::sgd ? options_.momentum : options_.beta1);
  require_number(is_average(first_moment), "momentum", first_moment, "0 <= momentum < 1");
  if (first_moment != 0 && !has_first_moment(options_)) {
    fail("momentum ", first_moment, " for a step of sgd that was made without momentum, expected 0");
  }
  std::vector<Update> updates;
  Blocks blocks;
  for (Slot& slot : slots_) {
    at::Tensor gradient = gradient_of(slot.parameter);
    if (!gradient.defined()) continue;
    const double decay = slot.parameter.decay ? options_.weight_decay : 0;
    const auto coefficients = step_coefficients(options_, {lr, first_moment, decay, gradient_scale, ++slot.steps});
    blocks.append(gradient.numel());
    updates.push_back({slot.parameter.value, std::move(gradient), slot.m, slot.v, coefficients});
  }
  blocks.for_each([&](int64_t, size_t array, int64_t first, int64_t size) { updates[array].run(first, size); });
  // Autograd must see the change: a backward pass through the old values is a mistake it can report.
  for (const Update& update : updates) update.value.unsafeGetTensorImpl()->bump_version();
}

void Optimizer::zero_grad() {
  // Without a tensor to add to, the backward pass hands its own over: no zeros are written, and nothing is added.
  for (Slot& slot : slots_) slot.parameter.value.mutable_grad().reset();
}

std::map<std::string, at::Tensor> Optimizer::state_of(const Slot& slot) {
  const std::string& name = slot.parameter.name;
  std::map<std::string, at::Tensor> state{{name + ".step", at::scalar_tensor(slot.steps, at::kLong)}};
  if (slot.m.defined()) state[name + ".m"] = slot.m;
  if (slot.v.defined()) state[name + ".v"] = slot.v;
  return state;
}

std::map<std::string, at::Tensor> Optimizer::state() const {
  std::map<std::string, at::Tensor> all;
  for (const Slot& slot : slots_) {
    for (const auto& [name, tensor] : state_of(slot)) all[name] = tensor.clone();
  }
  return all;
}

void Optimizer::load_state(const std::map<std::string, at::Tensor>& state) {
  std::set<std::string> expected;
  for (const Slot& slot : slots_) {
    for (const auto& [name, tensor] : state_of(slot)) {
      const auto found = state.find(name);
      if (found == state.end()) fail("state ", name, " is missing, expected shape ", tensor.sizes());
      check_like(name, found->second, tensor);
      expected.insert(name);
    }
    checked_count(slot.parameter.name + ".step", state.at(slot.parameter.name + ".step"));
  }
  for (const auto& [name, tensor] : state) {
    if (!expected.contains(name)) {
      fail("state ", name, " of shape ", tensor.sizes(), " belongs to no parameter of this ",
           base::name_in(kOptimizerNames, options_.kind));
    }
  }
  for (Slot& slot : slots_) {
    for (auto& [name, tensor] : state_of(slot)) tensor.copy_(state.at(name));
    slot.steps = state.at(slot.parameter.name + ".step").item<int64_t>();
  }
}

}  // namespace primal::train
