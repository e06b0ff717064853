#include "models/generator.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "models/small_language_model.h"
#include "support/errors.h"
#include "support/tensors.h"

namespace primal::models {
namespace {

using tests::error_of;
using tests::small_language_model;
using tests::SmallLanguage;

const std::vector<int64_t> kPrompt = {3, 1, 4, 1, 5};

std::vector<int64_t> drawn(Generator& generator, int64_t count) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < count; ++i) {
    for (const int64_t id : generator.next()) ids.push_back(id);
  }
  return ids;
}

TEST(Sampling, TemperatureZeroTakesTheLikeliestAndTheFirstOfEquals) {
  EXPECT_EQ(sample(torch::tensor({0.5F, 2.0F, 2.0F}), {.temperature = 0}, {}, 0.99), 1);
}

TEST(Sampling, ChanceRunsThroughTheDistribution) {
  const torch::Tensor logits = torch::tensor({std::log(0.2F), std::log(0.5F), std::log(0.3F)});
  EXPECT_EQ(sample(logits, {}, {}, 0.1), 0);
  EXPECT_EQ(sample(logits, {}, {}, 0.21), 1);
  EXPECT_EQ(sample(logits, {}, {}, 0.69), 1);
  EXPECT_EQ(sample(logits, {}, {}, 0.71), 2);
  EXPECT_EQ(sample(logits, {}, {}, 0.999999), 2);
}

TEST(Sampling, TopKAndTopPLeaveTheLikeliestOnly) {
  const torch::Tensor logits = torch::tensor({std::log(0.2F), std::log(0.5F), std::log(0.3F)});
  for (const double chance : {0.0, 0.3, 0.6, 0.99}) {
    EXPECT_NE(sample(logits, {.top_k = 2}, {}, chance), 0);
    EXPECT_NE(sample(logits, {.top_p = 0.7}, {}, chance), 0);
    EXPECT_EQ(sample(logits, {.top_p = 0.4}, {}, chance), 1);
  }
  EXPECT_EQ(sample(logits, {.top_k = 2}, {}, 0.63), 2);  // 0.5 / 0.8 = 0.625
}

TEST(Sampling, RepetitionMakesRecentTokensLessLikelyWhateverTheSign) {
  EXPECT_EQ(sample(torch::tensor({2.0F, 1.5F}), {.temperature = 0, .repetition = 2}, std::vector<int64_t>{0}, 0), 1);
  EXPECT_EQ(sample(torch::tensor({-1.0F, -1.5F}), {.temperature = 0, .repetition = 2}, std::vector<int64_t>{0, 0}, 0),
            1);
}

TEST(Sampling, InfiniteLogitsAreNeverDrawnAndAllOfThemAreAnError) {
  const float never = -std::numeric_limits<float>::infinity();
  for (const double chance : {0.0, 0.5, 0.99})
    EXPECT_EQ(sample(torch::tensor({never, 1.0F, never}), {}, {}, chance), 1);
  EXPECT_EQ(error_of([&] {
              sample(torch::tensor({never, never}), {}, {}, 0);
            }),
            "the model gives no token a finite logit");
}

TEST(Sampling, OptionsOutOfTheirRangeAreNamed) {
  EXPECT_EQ(error_of([] { check({.temperature = -1}); }), "temperature: expected 0 or more, got -1");
  EXPECT_EQ(error_of([] { check({.top_k = -2}); }), "top-k: expected 0 or more, got -2");
  EXPECT_EQ(error_of([] { check({.top_p = 0}); }), "top-p: expected more than 0, at most 1, got 0");
  EXPECT_EQ(error_of([] { check({.repetition = 0}); }), "repetition: expected more than 0, got 0");
}

TEST(Generator, LogitsAreThoseOfTheFullPass) {
  LanguageModel model = small_language_model();
  Generator generator(model, 2, {});
  generator.read(kPrompt);
  const torch::NoGradGuard no_grad;
  const torch::Tensor whole = model->logits(model->forward(torch::tensor(kPrompt).unsqueeze(0)).out).select(1, -1);
  EXPECT_TRUE(tests::close(generator.logits(), whole.expand({2, -1}), 1e-5));
}

TEST(Generator, TheSameSeedWritesTheSameAndSequencesDiffer) {
  LanguageModel model = small_language_model();
  Generator a(model, 2, {.seed = 5}), b(model, 2, {.seed = 5}), c(model, 2, {.seed = 6});
  for (Generator* generator : {&a, &b, &c}) generator->read(kPrompt);
  const std::vector<int64_t> first = drawn(a, 12);
  EXPECT_EQ(first, drawn(b, 12));
  EXPECT_NE(first, drawn(c, 12));
  std::vector<int64_t> even, odd;
  for (size_t i = 0; i < first.size(); i += 2) {
    even.push_back(first[i]);
    odd.push_back(first[i + 1]);
  }
  EXPECT_NE(even, odd);
}

TEST(Generator, ForbiddenIdsAreNeverDrawn) {
  Generator generator(small_language_model(), 1, {.temperature = 100}, {0, 1, 2, 3});
  generator.read(kPrompt);
  for (const int64_t id : drawn(generator, 100)) EXPECT_GT(id, 3);
}

class GeneratorStates : public testing::TestWithParam<SmallLanguage> {};

TEST_P(GeneratorStates, GoOnBitForBit) {
  LanguageModel model = small_language_model(GetParam());
  Generator whole(model, 2, {.repetition = 1.3, .seed = 9});
  whole.read(kPrompt);
  drawn(whole, 5);
  const nn::StateTensors saved = whole.save();
  nn::StateTensors copy;
  for (const auto& [name, tensor] : saved) copy[name] = tensor.clone();
  const std::vector<int64_t> rest = drawn(whole, 10);
  const torch::Tensor logits = whole.logits();

  Generator second(model, 2, {.repetition = 1.3, .seed = 9});
  second.load(copy);
  EXPECT_EQ(drawn(second, 10), rest);
  EXPECT_TRUE(at::equal(second.logits(), logits));
  EXPECT_EQ(second.tokens(), whole.tokens());
}

INSTANTIATE_TEST_SUITE_P(
    All, GeneratorStates,
    testing::Values(SmallLanguage{}, SmallLanguage{.kinds = {"primal", "primal"}, .memory = Memory::decay, .kernel = 3},
                    SmallLanguage{.kinds = {"linear", "cosformer", "window", "flow", "performer"}}));

TEST(Generator, AnAllPrimalStateDoesNotGrow) {
  Generator generator(small_language_model({.kinds = {"primal", "primal"}}), 1, {});
  generator.read(kPrompt);
  const int64_t bytes = generator.state_bytes();
  drawn(generator, 60);
  EXPECT_EQ(generator.state_bytes(), bytes);
  EXPECT_EQ(bytes, 2 * (2 * 16 * 8 + 8));  // two layers, each with two sums of 16 doubles and a count
}

TEST(Generator, RefusesAStateOfAnotherForm) {
  LanguageModel model = small_language_model();
  Generator generator(model, 1, {});
  generator.read(kPrompt);
  nn::StateTensors saved = generator.save();
  const auto refused = [&](nn::StateTensors tensors) {
    Generator other(model, 1, {});
    return error_of([&] { other.load(tensors); });
  };
  nn::StateTensors less = saved;
  less.erase("encoder.layers.1.attention.q_sum");
  EXPECT_EQ(refused(less), "the state has no tensor q_sum");
  nn::StateTensors more = saved;
  more["encoder.layers.2.attention.q_sum"] = torch::zeros({1});
  EXPECT_EQ(refused(more), "the state has a tensor layers.2.attention.q_sum that no layer knows");
  nn::StateTensors other = saved;
  other["encoder.layers.1.attention.count"] = torch::zeros({2}, torch::kInt64);
  EXPECT_EQ(refused(other), "tensor count of the state: expected [1] Long, got [2] Long");
  other = saved;
  other["recent"] = torch::tensor({{99}});
  EXPECT_EQ(refused(other), "the state has id 99 of 19");
  EXPECT_EQ(error_of([&] {
              Generator two(model, 2, {});
              two.load(saved);
            }),
            "tensor keys of the state: expected [2, 2, -1, 8] Float, got [1, 2, 5, 8] Float");
}

TEST(Generator, NeedsSomethingToBeginWith) {
  Generator generator(small_language_model(), 1, {});
  EXPECT_EQ(error_of([&] { generator.next(); }), "generator: something must be read before the first token");
}

}  // namespace
}  // namespace primal::models
