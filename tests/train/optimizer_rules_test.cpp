#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "support/cpu_targets.h"
#include "support/optimizers.h"
#include "support/tensors.h"
#include "train/optimizer.h"

namespace primal::train {
namespace {

using tests::close;
using tests::on_every_cpu_target;
using tests::set_gradient;
using tests::values;
using tests::Values;

OptimizerOptions options_of_torch_runs(OptimizerKind kind) {
  return {.kind = kind, .lr = 0.02, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-6, .weight_decay = 0.1};
}

// What the numbers below were made with, torch 2.13:
//
//   torch.set_default_dtype(torch.float64)
//   p = torch.tensor([0.5, -1.25, 2.0], requires_grad=True)
//   optimizer = ...([p], lr=0.02, weight_decay=0.1, ...)   # as above each test's numbers
//   for t in range(8):
//       p.grad = torch.tensor([0.3, -0.7, 0.2]) * (t - 2.5) + 0.1 * p.detach()
//       optimizer.step()
//       if t in (0, 4, 5, 7): print(p)
//
// With beta2 = 0.95, RAdam is rectified from t = 5 on.
std::vector<at::Tensor> run_of_torch(const OptimizerOptions& options, at::ScalarType type) {
  const at::Tensor p = values({0.5, -1.25, 2.0}, type);
  Optimizer optimizer({{"p", p}}, options);
  std::vector<at::Tensor> printed;
  for (int t = 0; t < 8; ++t) {
    set_gradient(p, values({0.3, -0.7, 0.2}, type) * (t - 2.5) + 0.1 * p);
    optimizer.step(options.lr);
    if (t == 0 || t == 4 || t == 5 || t == 7) printed.push_back(p.clone());
  }
  return printed;
}

void expect_run(const OptimizerOptions& options, const std::vector<Values>& expected) {
  on_every_cpu_target([&] {
    for (const auto type : {at::kDouble, at::kFloat}) {
      const std::vector<at::Tensor> actual = run_of_torch(options, type);
      ASSERT_EQ(actual.size(), expected.size());
      for (size_t i = 0; i < actual.size(); ++i) {
        EXPECT_TRUE(close(actual[i], values(expected[i]), type == at::kDouble ? 1e-13 : 1e-6)) << "print " << i;
      }
    }
  });
}

// torch.optim.AdamW(..., betas=(0.8, 0.95), eps=1e-6)
TEST(Optimizer, AdamWAgreesWithTorch) {
  expect_run(options_of_torch_runs(OptimizerKind::adamw), {{0.518999971428612, -1.26749998769232, 2.01599993333356},
                                                           {0.555335780856022, -1.29774606095367, 2.00675051154799},
                                                           {0.544889399022367, -1.2857640611866, 1.98681507082298},
                                                           {0.511703287465802, -1.24956002854672, 1.94154380843695}});
}

// torch.optim.Adam(..., betas=(0.8, 0.95), eps=1e-6)
TEST(Optimizer, AdamAgreesWithTorch) {
  expect_run(options_of_torch_runs(OptimizerKind::adam), {{0.519999969230817, -1.26999998666668, 2.019999800002},
                                                          {0.554698059344106, -1.30437543946645, 1.96924534579441},
                                                          {0.543587090529335, -1.29315971107906, 1.95002917179862},
                                                          {0.510800465978528, -1.26026295213272, 1.90937525407456}});
}

// torch.optim.RAdam(..., betas=(0.8, 0.95), eps=1e-6)
TEST(Optimizer, RAdamAgreesWithTorch) {
  expect_run(options_of_torch_runs(OptimizerKind::radam), {{0.513, -1.28, 2.002},
                                                           {0.529262322513902, -1.31661995933514, 1.9863323510634},
                                                           {0.527252829075277, -1.31456986223982, 1.98283160747809},
                                                           {0.518869162939663, -1.30613207696638, 1.97246963742525}});
}

// torch.optim.SGD(..., momentum=0.9)
TEST(Optimizer, SgdAgreesWithTorch) {
  expect_run(options_of_torch_runs(OptimizerKind::sgd), {{0.513, -1.28, 2.002},
                                                         {0.558382699312128, -1.38188613639168, 1.95211855947571},
                                                         {0.539695094804595, -1.33675774352663, 1.90918050952115},
                                                         {0.434738738494723, -1.08836165224068, 1.76925107405639}});
}

// torch.optim.SGD(..., momentum=0.9, nesterov=True)
TEST(Optimizer, NesterovAgreesWithTorch) {
  OptimizerOptions options = options_of_torch_runs(OptimizerKind::sgd);
  options.nesterov = true;
  expect_run(options, {{0.5247, -1.307, 2.0038},
                       {0.556268177323046, -1.3757732653543, 1.92712915022587},
                       {0.522085137166719, -1.29434202727071, 1.87092423574513},
                       {0.375699151037797, -0.949059502007373, 1.69902909240882}});
}

// torch.optim.SGD(..., momentum=0)
TEST(Optimizer, SgdWithoutMomentumAgreesWithTorch) {
  OptimizerOptions options = options_of_torch_runs(OptimizerKind::sgd);
  options.momentum = 0;
  expect_run(options, {{0.513, -1.28, 2.002},
                       {0.504721596227328, -1.25936367130368, 1.97007999961651},
                       {0.487702709842419, -1.21932621661847, 1.95219967961805},
                       {0.435892891407037, -1.09778711610498, 1.90466931737598}});
}

// SPEC 3.1, as it stands there. beta2 = 0.999: the first five steps are not rectified.
TEST(Optimizer, PublishedRAdamIsTheFormulaOfItsAuthors) {
  const double lr = 1e-3, b1 = 0.9, b2 = 0.999, eps = 1e-8, weight_decay = 0.1;
  const at::Tensor p = values({0.4});
  Optimizer optimizer({{"p", p}}, {.kind = OptimizerKind::radam_published, .weight_decay = weight_decay});
  double x = 0.4, m = 0, v = 0;
  int rectified = 0;
  for (int t = 1; t <= 20; ++t) {
    const double g = std::sin(t) + x;
    set_gradient(p, values({g}));
    optimizer.step(lr);

    m = b1 * m + (1 - b1) * g;
    v = b2 * v + (1 - b2) * g * g;
    const double b2t = std::pow(b2, t), rho_inf = 1999;
    const double rho = rho_inf - 2 * t * b2t / (1 - b2t);
    x -= lr * weight_decay * x;
    if (rho >= 5) {
      ++rectified;
      const double r = std::sqrt((1 - b2t) * (rho - 4) * (rho - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho));
      x -= lr * r / (1 - std::pow(b1, t)) * m / (std::sqrt(v) + eps);
    } else {
      x -= lr / (1 - std::pow(b1, t)) * m;
    }
    ASSERT_NEAR(p.item<double>(), x, 1e-13) << "step " << t;
  }
  EXPECT_EQ(rectified, 15);
}

}  // namespace
}  // namespace primal::train
