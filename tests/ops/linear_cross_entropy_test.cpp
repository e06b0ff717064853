#include "ops/linear_cross_entropy/linear_cross_entropy.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <limits>

#include "support/errors.h"
#include "support/tensors.h"
#include "support/threads.h"

namespace primal::ops {
namespace {

using at::Tensor;
using tests::close;
using tests::contains;
using tests::error_of;
using tests::same;

LinearCrossEntropy entropy_arguments(int64_t tokens, int64_t width, int64_t vocabulary,
                                     at::ScalarType dtype = at::kDouble) {
  torch::manual_seed(3);
  return {.hidden = torch::randn({tokens, width}, dtype).requires_grad_(),
          .weight = torch::randn({vocabulary, width}, dtype).requires_grad_(),
          .targets = torch::randint(vocabulary, {tokens}, at::kLong)};
}

struct EntropyAndGradients {
  Tensor sum, nll, hidden, weight;
};

/// Of half the sum: the gradient that comes in is not 1.
EntropyAndGradients with_gradients(const LinearCrossEntropy& a) {
  const auto [sum, nll] = linear_cross_entropy(a);
  const auto gradients = torch::autograd::grad({sum}, {a.hidden, a.weight}, {at::full_like(sum, 0.5)});
  return {sum.detach(), nll, gradients[0], gradients[1]};
}

EntropyAndGradients by_formula(const LinearCrossEntropy& a) {
  const Tensor logits = at::linear(a.hidden, a.weight);
  const Tensor sum =
      at::cross_entropy_loss(logits, a.targets, {}, at::Reduction::Sum, a.ignore_index, a.label_smoothing);
  const Tensor nll = at::cross_entropy_loss(logits, a.targets, {}, at::Reduction::None, a.ignore_index);
  const auto gradients = torch::autograd::grad({sum}, {a.hidden, a.weight}, {at::full_like(sum, 0.5)});
  return {sum.detach(), nll.detach(), gradients[0], gradients[1]};
}

void expect_close(const EntropyAndGradients& found, const EntropyAndGradients& expected, double tolerance) {
  EXPECT_TRUE(close(found.sum, expected.sum, tolerance));
  EXPECT_TRUE(close(found.nll, expected.nll, tolerance));
  EXPECT_TRUE(close(found.hidden, expected.hidden, tolerance));
  EXPECT_TRUE(close(found.weight, expected.weight, tolerance));
}

TEST(LinearCrossEntropy, IsTheCrossEntropyOfTheLogits) {
  for (const int64_t tokens : {0, 1, 7, 256, 300}) {
    for (const int64_t vocabulary : {1, 2, 37, 1000}) {
      for (const double smoothing : {0.0, 0.1, 1.0}) {
        SCOPED_TRACE(testing::Message() << tokens << " tokens, " << vocabulary << " words, smoothing " << smoothing);
        LinearCrossEntropy a = entropy_arguments(tokens, 9, vocabulary);
        a.label_smoothing = smoothing;
        expect_close(with_gradients(a), by_formula(a), 1e-12);
        LinearCrossEntropy single = a;
        single.hidden = a.hidden.detach().to(at::kFloat).requires_grad_();
        single.weight = a.weight.detach().to(at::kFloat).requires_grad_();
        expect_close(with_gradients(single), by_formula(single), 2e-5);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(LinearCrossEntropy, IgnoredTokensCountForNothingWhateverTheyHold) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    LinearCrossEntropy a = entropy_arguments(20, 6, 11, dtype);
    a.ignore_index = 4;
    a.targets.slice(0, 0, 20, 3).fill_(4);
    const EntropyAndGradients expected = by_formula(a);
    a.hidden.detach().slice(0, 0, 20, 3).fill_(std::numeric_limits<double>::quiet_NaN());
    expect_close(with_gradients(a), expected, dtype == at::kDouble ? 1e-12 : 1e-5);
    a.targets.fill_(4);
    const EntropyAndGradients nothing = with_gradients(a);
    for (const Tensor& tensor : {nothing.sum, nothing.nll, nothing.hidden, nothing.weight}) {
      EXPECT_TRUE(same(tensor, at::zeros_like(tensor)));
    }
  }
}

TEST(LinearCrossEntropy, DoesNotDependOnTheNumberOfThreads) {
  const tests::ThreadsGuard guard;
  for (const int64_t tokens : {7, 300}) {
    const LinearCrossEntropy a = entropy_arguments(tokens, 33, 777, at::kFloat);
    at::set_num_threads(1);
    const EntropyAndGradients one = with_gradients(a);
    for (const int threads : {2, 3}) {
      at::set_num_threads(threads);
      const EntropyAndGradients more = with_gradients(a);
      EXPECT_TRUE(same(more.sum, one.sum) && same(more.nll, one.nll));
      EXPECT_TRUE(same(more.hidden, one.hidden) && same(more.weight, one.weight));
    }
  }
}

TEST(LinearCrossEntropy, MayBeRunBackwardTwice) {
  const LinearCrossEntropy a = entropy_arguments(5, 4, 6);
  const auto [sum, nll] = linear_cross_entropy(a);
  const Tensor first = torch::autograd::grad({sum}, {a.weight}, {}, /*retain_graph=*/true)[0];
  EXPECT_TRUE(same(torch::autograd::grad({sum}, {a.weight})[0], first));
}

TEST(LinearCrossEntropy, ErrorsNameBothValues) {
  const LinearCrossEntropy good = entropy_arguments(5, 4, 6);
  const auto error_with = [&](const auto& change) {
    LinearCrossEntropy a = good;
    change(a);
    return error_of<c10::Error>([&] { linear_cross_entropy(a); });
  };
  EXPECT_TRUE(contains(error_with([](auto& a) {
                         a.targets = torch::tensor({0, 1, 2, 6, 3}, at::kLong);
                       }),
                       "linear_cross_entropy: target 6 is outside the vocabulary of 6"));
  EXPECT_TRUE(contains(error_with([](auto& a) {
                         a.weight = torch::randn({6, 3}, at::kDouble);
                       }),
                       "with the width 4 of hidden, got [6, 3]"));
  EXPECT_TRUE(contains(error_with([](auto& a) { a.targets = torch::zeros({4}, at::kLong); }), "[T] = [5], got [4]"));
  EXPECT_TRUE(contains(error_with([](auto& a) { a.weight = a.weight.to(at::kFloat); }),
                       "weight is Float but hidden is Double"));
  EXPECT_TRUE(contains(error_with([](auto& a) { a.label_smoothing = 1.5; }), "must be in [0, 1], got 1.5"));
}

}  // namespace
}  // namespace primal::ops
