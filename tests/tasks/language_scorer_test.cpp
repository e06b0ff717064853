#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>

#include "data/text/byte_coder.h"
#include "models/small_language_model.h"
#include "run/text_details.h"
#include "support/token_streams.h"
#include "tasks/language/scorer.h"

namespace primal::tasks {
namespace {

constexpr int64_t kBlock = 12;

const data::ByteCoder& coder() {
  static const data::ByteCoder bytes;
  return bytes;
}

models::LanguageModel byte_model(std::vector<std::string> kinds = {"softmax", "primal"}) {
  return tests::small_language_model(
      {.kinds = std::move(kinds), .padding = coder().size(), .vocabulary = coder().size() + 1});
}

data::TokenStream bytes_of_documents(const std::vector<int64_t>& documents) {
  return tests::stream_of(documents, coder().size());
}

// -log p of one token, by itself: the model reads what stands before it from `begin` on and says what comes next.
double nll_of(models::LanguageModel& model, const data::TokenStream& text, int64_t begin, int64_t token,
              bool begins_document) {
  const torch::NoGradGuard no_grad;
  std::vector<int64_t> ids{begins_document ? coder().end() : text.id(begin - 1)};
  for (int64_t i = begin; i < token; ++i) ids.push_back(text.id(i));
  const torch::Tensor features = model->forward(torch::tensor(ids).unsqueeze(0)).out.select(1, -1);
  return -at::log_softmax(model->logits(features), 1)[0][text.id(token)].item<double>();
}

class Scores : public testing::TestWithParam<std::tuple<int64_t, Breaks>> {};

TEST_P(Scores, AreThoseOfEveryTokenByItself) {
  const auto [context, breaks] = GetParam();
  models::LanguageModel model = byte_model();
  const data::TokenStream text = bytes_of_documents({30, 3, 14});
  const ScoringOptions options{.block = kBlock, .context = context, .breaks = breaks, .padding = coder().size()};
  const TextScores scores = score_text(*model, text, coder(), options);
  double sum = 0;
  int64_t places = 0;
  for (const Window& window : scoring_windows(text, kBlock, context, breaks)) {
    places += window.size();
    for (int64_t token = window.scored; token < window.end; ++token) {
      const double expected = nll_of(model, text, window.begin, token, window.begins_document);
      EXPECT_NEAR(scores.nll[static_cast<size_t>(token)], expected, 1e-4) << "token " << token;
      sum += expected;
    }
  }
  EXPECT_NEAR(scores.sum, sum, 1e-3);
  EXPECT_EQ(std::accumulate(scores.by_place_count.begin(), scores.by_place_count.end(), int64_t{0}), places);
}

INSTANTIATE_TEST_SUITE_P(All, Scores,
                         testing::Combine(testing::Values(0, 5, kBlock - 1),
                                          testing::Values(Breaks::none, Breaks::document)));

TEST(Scores, WithTheLongestContextEveryTokenSeesABlock) {
  models::LanguageModel model = byte_model();
  const data::TokenStream text = bytes_of_documents({25});
  const TextScores scores = score_text(*model, text, coder(), {.block = kBlock, .context = kBlock - 1});
  for (int64_t token = 0; token < text.size(); ++token) {
    const int64_t begin = std::max<int64_t>(0, token - (kBlock - 1));
    EXPECT_NEAR(scores.nll[static_cast<size_t>(token)], nll_of(model, text, begin, token, begin == 0), 1e-4);
  }
}

TEST(Scores, OfNothingBeforeAreNotThoseWithContext) {
  models::LanguageModel model = byte_model();
  const data::TokenStream text = bytes_of_documents({40});
  EXPECT_NE(score_text(*model, text, coder(), {.block = kBlock}).nll,
            score_text(*model, text, coder(), {.block = kBlock, .context = 6}).nll);
}

TEST(LanguageEvaluation, SaysTheSameInEveryUnit) {
  const data::TokenStream text = bytes_of_documents({20});  // 60 bytes, 10 words
  TextScores scores{.nll = std::vector<float>(20, 2.0F), .by_place_sum = {40}, .by_place_count = {20}};
  scores.sum = 40;
  const run::Evaluation evaluation = evaluation_of(scores, text, coder());
  EXPECT_DOUBLE_EQ(evaluation.score, 40 / std::numbers::ln2 / 60);
  EXPECT_DOUBLE_EQ(*evaluation.loss, 2);
  EXPECT_DOUBLE_EQ(evaluation.also.at("perplexity"), std::exp(2.0));
  EXPECT_DOUBLE_EQ(evaluation.also.at("word_perplexity"), std::exp(4.0));
  EXPECT_TRUE(language_metric("bytes").lower_is_better);
  EXPECT_EQ(language_metric("words").key, "perplexity");
}

TEST(LanguageEvaluation, ShowsPlacesAndPassages) {
  const data::TokenStream text = bytes_of_documents({480});
  TextScores scores{.nll = std::vector<float>(480, 1.0F),
                    .by_place_sum = std::vector<double>(8, 3.0),
                    .by_place_count = std::vector<int64_t>(8, 2)};
  for (size_t i = 96; i < 144; ++i) scores.nll[i] = 5;
  for (size_t i = 240; i < 288; ++i) scores.nll[i] = 0.1F;
  run::Evaluation evaluation;
  put_details(evaluation, scores, text, coder());
  const run::TextDetails details = run::text_details(evaluation);
  ASSERT_EQ(details.by_place.size(), 4U);  // 0, 1, 2-3, 4-7
  EXPECT_EQ(details.by_place[3].from, 4);
  EXPECT_EQ(details.by_place[3].to, 7);
  EXPECT_DOUBLE_EQ(details.by_place[3].loss, 1.5);
  ASSERT_FALSE(details.most_surprising.empty());
  EXPECT_EQ(details.most_surprising[0].tokens.size(), 48U);
  EXPECT_DOUBLE_EQ(details.most_surprising[0].tokens[0].nll, 5);
  EXPECT_NEAR(details.least_surprising[0].tokens[0].nll, 0.1, 1e-6);
}

TEST(LanguageEvaluation, OfATextShorterThanAPassageHasNone) {
  const data::TokenStream text = bytes_of_documents({10});
  TextScores scores{.nll = std::vector<float>(10, 1.0F), .by_place_sum = {10}, .by_place_count = {10}};
  run::Evaluation evaluation;
  put_details(evaluation, scores, text, coder());
  EXPECT_TRUE(run::text_details(evaluation).most_surprising.empty());
}

}  // namespace
}  // namespace primal::tasks
