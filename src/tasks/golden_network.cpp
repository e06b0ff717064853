#include "tasks/golden_network.h"

#include <ATen/ATen.h>

#include "train/optimizer.h"
#include "train/schedule.h"

namespace primal::tasks {

namespace {

train::Optimizer golden_optimizer(const GoldenFile& file, const torch::nn::Module& network) {
  std::vector<train::Optimizer::Parameter> parameters;
  for (const auto& item : network.named_parameters()) parameters.push_back({item.key(), item.value()});
  train::OptimizerOptions options{.kind = base::named(train::kOptimizerNames, "optimizer", file.text("optimizer")),
                                  .lr = file.number<double>("lr")};
  if (file.has("eps")) options.eps = file.number<double>("eps");
  return {std::move(parameters), options};
}

train::ScheduleOptions golden_schedule(const GoldenFile& file) {
  if (!file.has("schedule")) return {};
  train::ScheduleOptions options{.kind = base::named(train::kScheduleNames, "schedule", file.text("schedule")),
                                 .total_steps = file.number<int64_t>("steps"),
                                 .warmup_steps = file.number<int64_t>("warmup")};
  if (options.kind != train::ScheduleKind::one_cycle) return options;
  options.start_divisor = file.number<double>("div_factor");
  options.final_divisor = file.number<double>("final_div_factor");
  options.one_cycle_annealing = base::named(train::kAnnealingNames, "annealing", file.text("annealing"));
  options.cycle_momentum = true;
  options.low_momentum = file.number<double>("base_momentum");
  options.high_momentum = file.number<double>("max_momentum");
  return options;
}

}  // namespace

nn::EncoderLayerOptions golden_layer(const GoldenFile& file, const std::string& attention, int64_t rows) {
  nn::EncoderLayerOptions options{.attention = {.kind = attention,
                                                .width = file.number<int64_t>("D"),
                                                .heads = file.number<int64_t>("H"),
                                                .padding = Padding::ignore},
                                  .feed_forward = file.number<int64_t>("ffn")};
  if (attention == "primal") {
    options.attention.primal = {.rank = file.number<int64_t>("s"), .rows = rows, .sampling = Sampling::linspace};
  } else if (attention != "softmax") {
    file.fail("unknown attention \"" + attention + "\"");
  }
  return options;
}

Tensors expected_pass(const GoldenFile& file, const std::string& naming, const std::vector<std::string>& names) {
  Tensors result = file.gradients(naming);
  for (const std::string& name : names) result[name] = file.tensor(name);
  result["loss"] = file.tensor("loss");
  return result;
}

Tensors computed_pass(GoldenNetwork& network) {
  at::Tensor x = network.x();
  if (x.defined()) x.requires_grad_();
  GoldenNetwork::Results results = network.forward();
  results.loss.backward();
  Tensors all = gradients_of(network.network(), x);
  all.merge(results.values);
  all["loss"] = results.loss;
  return all;
}

Tensors expected_training(const GoldenFile& file) {
  Tensors result;
  for (const char* name : {"losses", "gradient_norms", "logits"}) result[name] = file.tensor(name);
  return result;
}

Tensors computed_training(const GoldenFile& file, GoldenNetwork& network) {
  const auto steps = file.number<int64_t>("steps");
  if (steps != file.tensor("losses").numel()) {
    file.fail(c10::str("losses of ", file.tensor("losses").numel(), " steps, the metadata asks for ", steps));
  }
  const auto clip = file.number<double>("clip");
  const train::ScheduleOptions schedule = golden_schedule(file);
  train::Optimizer optimizer = golden_optimizer(file, network.network());
  const train::OptimizerOptions& options = optimizer.options();
  std::vector<double> losses, norms;
  for (int64_t step = 0; step < steps; ++step) {
    const at::Tensor loss = network.forward().loss;
    loss.backward();
    losses.push_back(loss.item<double>());
    norms.push_back(optimizer.gradient_norm());
    optimizer.step(train::learning_rate(schedule, options.lr, step), train::clip_scale(norms.back(), clip),
                   train::momentum(schedule, options.beta1, step));
    optimizer.zero_grad();
  }
  return {{"losses", at::tensor(losses, at::kDouble)},
          {"gradient_norms", at::tensor(norms, at::kDouble)},
          {"logits", network.forward().values.at("logits")}};
}

}  // namespace primal::tasks
