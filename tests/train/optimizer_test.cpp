#include "train/optimizer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "support/errors.h"
#include "support/optimizers.h"
#include "support/tensors.h"
#include "support/threads.h"
#include "train/compute_threads.h"

namespace primal::train {
namespace {

using tests::close;
using tests::error_of;
using tests::same;
using tests::set_gradient;
using tests::ThreadsGuard;
using tests::values;
using tests::Values;

const std::vector<OptimizerKind> kAllKinds{OptimizerKind::adamw, OptimizerKind::adam, OptimizerKind::radam,
                                           OptimizerKind::radam_published, OptimizerKind::sgd};

/// Parameters of several sizes around the size of a block, many of them tiny, with gradients by formula.
struct Model {
  explicit Model(at::ScalarType type = at::kFloat) {
    for (const int64_t size : {1, 3, 16384, 0, 7, 40000, 5, 16383, 64, 1}) {
      tensors.push_back(at::linspace(-1, 1, size, type));
      parameters.push_back({"p" + std::to_string(parameters.size()), tensors.back(), parameters.size() % 2 == 0});
    }
  }
  void set_gradients(int step) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      set_gradient(tensors[i], (tensors[i] * (3.0 + static_cast<double>(i)) + step).sin());
    }
  }
  void train(Optimizer& optimizer, int begin, int end) {
    for (int step = begin; step < end; ++step) {
      set_gradients(step);
      norms.push_back(optimizer.gradient_norm());
      optimizer.step(0.01, 1 / norms.back());
    }
  }
  std::vector<at::Tensor> tensors;
  std::vector<Optimizer::Parameter> parameters;
  Values norms;
};

void expect_same(const std::vector<at::Tensor>& actual, const std::vector<at::Tensor>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_TRUE(same(actual[i], expected[i])) << "tensor " << i;
}

TEST(Optimizer, TheNumberOfThreadsDoesNotChangeABit) {
  const ThreadsGuard guard;
  for (const OptimizerKind kind : kAllKinds) {
    std::vector<Model> runs;
    for (const int threads : {1, 2, 5}) {
      at::set_num_threads(threads);
      Model& model = runs.emplace_back();
      Optimizer optimizer(model.parameters, {.kind = kind, .weight_decay = 0.1});
      model.train(optimizer, 0, 8);
    }
    for (const Model& run : runs) {
      expect_same(run.tensors, runs.front().tensors);
      EXPECT_EQ(run.norms, runs.front().norms);
    }
  }
}

TEST(Optimizer, ARunContinuedFromItsStateEqualsAnUninterruptedOne) {
  for (const OptimizerKind kind : kAllKinds) {
    const OptimizerOptions options{.kind = kind, .weight_decay = 0.1};
    Model whole, parts;
    Optimizer uninterrupted(whole.parameters, options), first(parts.parameters, options);
    whole.train(uninterrupted, 0, 9);
    parts.train(first, 0, 4);
    const auto state = first.state();
    first.step(0);  // what happens to the first afterwards is not in the state
    Optimizer second(parts.parameters, options);
    second.load_state(state);
    parts.train(second, 4, 9);
    expect_same(parts.tensors, whole.tensors);
  }
}

TEST(Optimizer, EveryElementIsUpdatedAsIfAlone) {
  Model together;
  Optimizer optimizer(together.parameters, {.weight_decay = 0.1});
  together.set_gradients(0);
  optimizer.step(0.01);
  Model alone;
  alone.set_gradients(0);
  for (const Optimizer::Parameter& parameter : alone.parameters) {
    Optimizer({parameter}, {.weight_decay = 0.1}).step(0.01);
  }
  expect_same(together.tensors, alone.tensors);
}

TEST(Optimizer, TheScaleOfTheGradientsIsTheSameAsScaledGradients) {
  for (const OptimizerKind kind : kAllKinds) {
    Model told(at::kDouble), done(at::kDouble);
    Optimizer by_scale(told.parameters, {.kind = kind}), by_hand(done.parameters, {.kind = kind});
    for (int step = 0; step < 7; ++step) {
      told.set_gradients(step);
      done.set_gradients(step);
      for (at::Tensor& tensor : done.tensors) tensor.mutable_grad().mul_(0.3);
      by_scale.step(0.01, 0.3);
      by_hand.step(0.01);
    }
    for (size_t i = 0; i < told.tensors.size(); ++i) EXPECT_TRUE(close(told.tensors[i], done.tensors[i], 1e-12));
  }
}

TEST(Optimizer, TheGradientNormIsOverAllGradients) {
  for (const auto type : {at::kFloat, at::kDouble}) {
    Model model(type);
    const Optimizer optimizer(model.parameters, {});
    EXPECT_EQ(optimizer.gradient_norm(), 0);
    model.set_gradients(3);
    model.tensors[2].mutable_grad().reset();
    double sum = 0;
    for (const at::Tensor& tensor : model.tensors) {
      if (tensor.grad().defined()) sum += tensor.grad().to(at::kDouble).square().sum().item<double>();
    }
    EXPECT_NEAR(optimizer.gradient_norm(), std::sqrt(sum), 1e-10 * std::sqrt(sum));
  }
}

TEST(Optimizer, AGradientInAnotherOrderOfMemoryIsReadByItsIndices) {
  const at::Tensor p = at::zeros({2, 3}), q = at::zeros({2, 3});
  const at::Tensor gradient = at::arange(6, at::kFloat).view({3, 2}).t();
  set_gradient(p, gradient);
  set_gradient(q, gradient.contiguous());
  Optimizer optimizer({{"p", p}, {"q", q}}, {.kind = OptimizerKind::sgd, .momentum = 0});
  optimizer.step(1);
  EXPECT_TRUE(same(p, -gradient));
  EXPECT_TRUE(same(q, -gradient));
}

TEST(Optimizer, ParametersWithoutGradientAreLeftAloneAndDoNotCountTheStep) {
  const at::Tensor p = values({1, 2}), q = values({3, 4});
  Optimizer optimizer({{"p", p}, {"q", q}}, {.weight_decay = 0.5});
  set_gradient(p, values({1, 1}));
  optimizer.step(0.1);
  optimizer.step(0.1);
  EXPECT_TRUE(same(q, values({3, 4})));
  const auto state = optimizer.state();
  EXPECT_EQ(state.at("p.step").item<int64_t>(), 2);
  EXPECT_EQ(state.at("q.step").item<int64_t>(), 0);
  EXPECT_TRUE(same(state.at("q.m"), values({0, 0})));

  // Its first step is corrected as a first one: Adam then moves by the learning rate.
  set_gradient(q, values({1e-3, -5}));
  optimizer.step(0.1);
  EXPECT_TRUE(close(q, values({3 * 0.95 - 0.1, 4 * 0.95 + 0.1}), 1e-5));
}

TEST(Optimizer, OnlyParametersThatDecayDecay) {
  for (const OptimizerKind kind : kAllKinds) {
    const at::Tensor p = values({2}), q = values({2});
    Optimizer optimizer({{"p", p, true}, {"q", q, false}}, {.kind = kind, .weight_decay = 0.1});
    set_gradient(p, values({0}));
    set_gradient(q, values({0}));
    optimizer.step(0.1);
    EXPECT_LT(p.item<double>(), 2) << base::name_in(kOptimizerNames, kind);
    EXPECT_EQ(q.item<double>(), 2) << base::name_in(kOptimizerNames, kind);
  }
}

// torch's Adam under OneCycleLR sees a new beta1 in each step, and corrects the bias with that.
TEST(Optimizer, TheMomentumOfAStepCanBeGiven) {
  const at::Tensor p = values({0});
  Optimizer optimizer({{"p", p}}, {.eps = 0});
  double m = 0, v = 0, x = 0;
  const Values betas{0.95, 0.9, 0.85};
  for (size_t t = 1; t <= 3; ++t) {
    const double b1 = betas[t - 1], b2 = 0.999, g = static_cast<double>(t);
    set_gradient(p, values({g}));
    optimizer.step(0.1, 1, b1);
    m = b1 * m + (1 - b1) * g, v = b2 * v + (1 - b2) * g * g;
    const auto count = static_cast<double>(t);
    x -= 0.1 * (m / (1 - std::pow(b1, count))) / std::sqrt(v / (1 - std::pow(b2, count)));
    EXPECT_NEAR(p.item<double>(), x, 1e-13);
  }
}

TEST(Optimizer, AfterZeroGradABackwardPassHandsItsGradientOver) {
  Model model;
  Optimizer optimizer(model.parameters, {});
  model.set_gradients(1);
  optimizer.zero_grad();
  EXPECT_EQ(optimizer.gradient_norm(), 0);
  const at::Tensor& parameter = model.tensors[2].requires_grad_();
  (2 * parameter).sum().backward();
  EXPECT_TRUE(same(parameter.grad(), at::full_like(parameter, 2)));
}

TEST(Optimizer, AutogradSeesThatAStepChangedTheParameters) {
  const at::Tensor p = values({1});
  Optimizer optimizer({{"p", p}}, {});
  set_gradient(p, values({1}));
  const auto before = p._version();
  optimizer.step(0.1);
  EXPECT_GT(p._version(), before);
}

// |x| falls to 0 geometrically, and with it the moments: without flushing they would end as denormal numbers.
TEST(Optimizer, AConvergedModelHasNoDenormalNumbers) {
  const ThreadsGuard guard;
  set_up_compute_threads(2);
  const auto denormals = [](const at::Tensor& t) {
    // as bits: an operator on the numbers would flush what it should find
    const at::Tensor bits = t.view(at::kInt).bitwise_and(0x7fffffff);
    return bits.gt(0).logical_and(bits.lt(0x00800000)).sum().item<int64_t>();
  };
  ASSERT_EQ(denormals(at::full({3}, 1e-39)), 0) << "not flushed";
  for (const OptimizerKind kind : kAllKinds) {
    const at::Tensor p = at::linspace(-1, 1, 40000);
    Optimizer optimizer({{"p", p}}, {.kind = kind});
    set_gradient(p, p.clone());
    for (int step = 0; step < 3000; ++step) {
      p.mutable_grad().copy_(p).mul_(step < 100 ? 1.0 : 0.0);  // then no gradient any more
      optimizer.step(0.05);
    }
    for (const auto& [name, tensor] : optimizer.state()) {
      if (tensor.scalar_type() != at::kFloat) continue;
      EXPECT_EQ(denormals(tensor), 0) << base::name_in(kOptimizerNames, kind) << " " << name;
    }
    EXPECT_EQ(denormals(p), 0) << base::name_in(kOptimizerNames, kind);
    EXPECT_TRUE(p.isfinite().all().item<bool>()) << base::name_in(kOptimizerNames, kind);
  }
}

TEST(Optimizer, HasAStateOfNamedTensors) {
  const auto names = [](const OptimizerOptions& options) {
    std::string all;
    for (const auto& [name, tensor] : Optimizer({{"w", values({1, 2})}}, options).state()) all += name + " ";
    return all;
  };
  EXPECT_EQ(names({}), "w.m w.step w.v ");
  EXPECT_EQ(names({.kind = OptimizerKind::sgd}), "w.m w.step ");
  EXPECT_EQ(names({.kind = OptimizerKind::sgd, .momentum = 0}), "w.step ");
}

TEST(Optimizer, AStateThatDoesNotFitIsRefusedAndNothingIsChanged) {
  const at::Tensor p = values({1, 2});
  Optimizer optimizer({{"w", p}}, {});
  set_gradient(p, values({1, 1}));
  optimizer.step(0.1);
  const auto good = optimizer.state();
  const auto message = [&](const std::function<void(std::map<std::string, at::Tensor>&)>& spoil) {
    auto bad = good;
    bad["w.m"] = values({7, 7});
    spoil(bad);
    const std::string text = error_of([&] { optimizer.load_state(bad); });
    EXPECT_TRUE(same(optimizer.state().at("w.m"), good.at("w.m")));
    return text;
  };
  EXPECT_EQ(message([](auto& s) { s.erase("w.v"); }), "optimizer: state w.v is missing, expected shape [2]");
  EXPECT_EQ(message([](auto& s) { s["w.v"] = values({1, 2, 3}); }), "optimizer: state w.v has shape [3], expected [2]");
  EXPECT_EQ(message([](auto& s) {
              s["w.v"] = values({1, 2}, at::kFloat);
            }),
            "optimizer: state w.v is Float, expected Double");
  EXPECT_EQ(message([](auto& s) { s["w.v"] = at::Tensor(); }), "optimizer: state w.v is undefined, expected shape [2]");
  EXPECT_EQ(message([](auto& s) { s["x.m"] = values({1}); }),
            "optimizer: state x.m of shape [1] belongs to no parameter of this adamw");
  EXPECT_EQ(message([](auto& s) { s["w.step"] = at::scalar_tensor(-3, at::kLong); }),
            "optimizer: state w.step is -3, expected 0 or more");
}

TEST(Optimizer, WrongOptionsAreNamedWithWhatCameAndWhatWasExpected) {
  const auto message = [](const OptimizerOptions& options) { return error_of([&] { Optimizer({}, options); }); };
  EXPECT_EQ(message({.lr = -1}), "optimizer: lr -1, expected a finite number, 0 or more");
  EXPECT_EQ(message({.beta1 = 1}), "optimizer: beta1 1, expected 0 <= beta1 < 1");
  EXPECT_EQ(message({.beta2 = std::nan("")}), "optimizer: beta2 nan, expected 0 <= beta2 < 1");
  EXPECT_EQ(message({.eps = -1e-8}), "optimizer: eps -1e-08, expected a finite number, 0 or more");
  EXPECT_EQ(message({.weight_decay = -2}), "optimizer: weight_decay -2, expected a finite number, 0 or more");
  EXPECT_EQ(message({.kind = OptimizerKind::sgd, .momentum = 1.5}),
            "optimizer: momentum 1.5, expected 0 <= momentum < 1");
  EXPECT_EQ(message({.nesterov = true}),
            "optimizer: nesterov with adamw and momentum 0.9, expected sgd with momentum > 0");
}

TEST(Optimizer, AStepThatWouldSpoilTheParametersIsRefused) {
  const at::Tensor p = values({1});
  Optimizer optimizer({{"p", p}}, {});
  set_gradient(p, values({1}));
  EXPECT_EQ(error_of([&] { optimizer.step(std::nan("")); }), "optimizer: lr nan, expected a finite number, 0 or more");
  EXPECT_EQ(error_of([&] { optimizer.step(0.1, std::numeric_limits<double>::infinity()); }),
            "optimizer: gradient_scale inf, expected a finite number");
  EXPECT_EQ(error_of([&] { optimizer.step(0.1, 1, 1.0); }), "optimizer: momentum 1, expected 0 <= momentum < 1");
  EXPECT_TRUE(same(p, values({1})));
  EXPECT_EQ(optimizer.state().at("p.step").item<int64_t>(), 0);
}

TEST(Optimizer, ParametersThatItCannotUpdateAreRefused) {
  const auto message = [](std::vector<Optimizer::Parameter> parameters) {
    return error_of([&] { Optimizer(std::move(parameters), {}); });
  };
  const at::Tensor p = values({1});
  EXPECT_EQ(message({{"p", at::Tensor()}}), "optimizer: parameter p is undefined");
  EXPECT_EQ(message({{"p", at::zeros({2}, at::kHalf)}}), "optimizer: parameter p is Half, expected float32 or float64");
  EXPECT_EQ(message({{"p", at::zeros({2, 3}).t()}}),
            "optimizer: parameter p has strides [1, 3] for shape [3, 2], expected it to be contiguous");
  EXPECT_EQ(message({{"p", p}, {"p", values({1})}}), "optimizer: two parameters have the name p");
  EXPECT_EQ(message({{"p", p}, {"q", p}}), "optimizer: parameters p and q are one tensor, expected each tensor once");
}

TEST(Optimizer, NamesGoBothWays) {
  for (const OptimizerKind kind : kAllKinds) {
    EXPECT_EQ(base::named(kOptimizerNames, "optimizer", base::name_in(kOptimizerNames, kind)), kind);
  }
  EXPECT_EQ(error_of([] { base::named(kOptimizerNames, "optimizer", "adagrad"); }),
            "optimizer \"adagrad\" is unknown, expected one of adamw, adam, radam, radam_published, sgd");
}

TEST(ClipScale, TakesLongGradientsToTheLargestNorm) {
  EXPECT_DOUBLE_EQ(clip_scale(8, 4), 4 / 8.000001);
  EXPECT_DOUBLE_EQ(clip_scale(4, 4), 4 / 4.000001);
  EXPECT_LE(clip_scale(1e30, 4) * 1e30, 4);
}

TEST(ClipScale, LeavesShortGradientsAndNoLimitAlone) {
  EXPECT_EQ(clip_scale(3.9, 4), 1);
  EXPECT_EQ(clip_scale(0, 4), 1);
  EXPECT_EQ(clip_scale(1e30, 0), 1);
}

}  // namespace
}  // namespace primal::train
