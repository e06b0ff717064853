#include "models/token_classifier.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <memory>

#include "support/errors.h"
#include "support/tensors.h"

namespace primal::models {
namespace {

using tests::close;
using tests::error_of;

constexpr int64_t kVocabulary = 20, kWidth = 8;

TokenClassifierOptions small_tokens(TokenPooling pooling = TokenPooling::mean) {
  const nn::AttentionOptions primal{.width = kWidth, .heads = 2, .primal = {.rank = 3, .rows = 6}};
  const nn::AttentionOptions softmax{.kind = "softmax", .width = kWidth, .heads = 2};
  return {.vocabulary = kVocabulary,
          .outputs = 3,
          .tokens = 12,
          .hidden = 5,
          .pooling = pooling,
          .layers = {{.attention = softmax, .feed_forward = 16, .norm_first = true},
                     {.attention = primal, .feed_forward = 16, .norm_first = true}}};
}

// As published: padded tokens count like any other in the attention, and their features are dropped.
TokenClassifierOptions published_tokens() {
  TokenClassifierOptions options = small_tokens(TokenPooling::padded_mean);
  for (nn::EncoderLayerOptions& layer : options.layers) {
    layer.attention.padding = Padding::ignore;
    layer.attention.masking = nn::Masking::published;
  }
  return options;
}

TokenClassifierOptions token_pairs() {
  TokenClassifierOptions options = small_tokens();
  options.pairs = true;
  return options;
}

TokenBatch tokens_of(const torch::Tensor& ids, const std::vector<int64_t>& lengths) {
  return {ids, padding_mask(torch::tensor(lengths), ids.size(1))};
}

torch::Tensor random_ids(int64_t count, int64_t tokens) {
  return torch::randint(1, kVocabulary, {count, tokens}, torch::kInt64);
}

// Features of the tokens behind the encoder, of a model in evaluation mode.
nn::EncoderOutput encoded_tokens(TokenClassifierImpl& model, const TokenBatch& batch) {
  const torch::Tensor x = model.tokens(batch.ids) + model.positions.narrow(0, 0, batch.ids.size(1));
  return model.encoder(x, nn::EncoderMasks{batch.padding});
}

// Sum of the features of the real tokens, token by token, [D] of each sequence.
std::vector<torch::Tensor> plain_sums(const torch::Tensor& features, const std::vector<int64_t>& lengths) {
  std::vector<torch::Tensor> sums;
  for (size_t i = 0; i < lengths.size(); ++i) {
    torch::Tensor sum = torch::zeros({kWidth});
    for (int64_t token = 0; token < lengths[i]; ++token) sum += features[static_cast<int64_t>(i)][token];
    sums.push_back(sum);
  }
  return sums;
}

// ReLU between the two maps, of one vector.
torch::Tensor plain_head(ClassifierHeadImpl& head, const torch::Tensor& x) {
  const torch::Tensor hidden = (head.linear1->weight.mv(x) + head.linear1->bias).clamp_min(0);
  return head.linear2->weight.mv(hidden) + head.linear2->bias;
}

class TokenClassifierTest : public testing::Test {
 protected:
  TokenClassifierTest() { torch::manual_seed(1); }
};

TEST_F(TokenClassifierTest, ParametersHaveTheNamesThatFilesHave) {
  const TokenClassifier model(small_tokens());
  std::vector<std::string> names;
  for (const auto& parameter : model->named_parameters()) {
    if (!parameter.key().starts_with("encoder.layers.")) names.push_back(parameter.key());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"positions", "tokens.weight", "encoder.norm.weight", "encoder.norm.bias",
                                             "head.linear1.weight", "head.linear1.bias", "head.linear2.weight",
                                             "head.linear2.bias"}));
  EXPECT_EQ(model->positions.sizes(), (std::vector<int64_t>{12, kWidth}));
  EXPECT_EQ(model->head->linear1->weight.sizes(), (std::vector<int64_t>{5, kWidth}));
  EXPECT_EQ(TokenClassifier(token_pairs())->head->linear1->weight.sizes(), (std::vector<int64_t>{5, 4 * kWidth}));
}

// Published: normal with deviation 0.02, whatever the default of an embedding.
TEST_F(TokenClassifierTest, EmbeddingsBeginSmall) {
  TokenClassifierOptions options = small_tokens();
  options.vocabulary = options.tokens = 2000;
  const TokenClassifier model(options);
  EXPECT_NEAR(model->tokens->weight.std().item<double>(), 0.02, 1e-3);
  EXPECT_NEAR(model->positions.std().item<double>(), 0.02, 1e-3);
}

TEST_F(TokenClassifierTest, TheMeanDoesNotFeelHowFarASequenceWasPadded) {
  TokenClassifier model(small_tokens());
  model->eval();
  const torch::Tensor ids = random_ids(2, 7), further = at::cat({ids, random_ids(2, 5)}, 1);
  const auto [near_outputs, near_terms] = model->forward(tokens_of(ids, {7, 5}));
  const auto [far_outputs, far_terms] = model->forward(tokens_of(further, {7, 5}));
  EXPECT_TRUE(close(far_outputs, near_outputs, 1e-5));
  EXPECT_TRUE(close(far_terms[0].objective(), near_terms[0].objective(), 1e-5));
}

TEST_F(TokenClassifierTest, WhateverIdStandsInPaddingHasNoEffect) {
  for (const TokenPooling pooling : {TokenPooling::mean, TokenPooling::padded_mean}) {
    TokenClassifier model(small_tokens(pooling));
    const torch::Tensor ids = random_ids(2, 12), padding = padding_mask(torch::tensor({7, 5}), 12);
    const auto gradients = [&](int64_t filler) {
      model->zero_grad();
      const auto [outputs, terms] = model->forward({ids.masked_fill(padding, filler), padding});
      (outputs.square().sum() + terms[0].le.sum()).backward();
      std::vector<torch::Tensor> all{outputs};
      for (const torch::Tensor& parameter : model->parameters()) all.push_back(parameter.grad().clone());
      return all;
    };
    const auto expected = gradients(0), actual = gradients(kVocabulary - 1);
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(at::equal(actual[i], expected[i]));
  }
}

TEST_F(TokenClassifierTest, TheMeanIsOverTheRealTokens) {
  TokenClassifier model(small_tokens());
  model->eval();
  const TokenBatch batch = tokens_of(random_ids(2, 9), {9, 4});
  const auto sums = plain_sums(encoded_tokens(*model, batch).out, {9, 4});
  const torch::Tensor outputs = model->forward(batch).outputs;
  EXPECT_TRUE(close(outputs[0], plain_head(*model->head, sums[0] / 9), 1e-5));
  EXPECT_TRUE(close(outputs[1], plain_head(*model->head, sums[1] / 4), 1e-5));
}

TEST_F(TokenClassifierTest, ThePaddedMeanDividesByThePaddedLength) {
  for (const TokenClassifierOptions& options : {small_tokens(TokenPooling::padded_mean), published_tokens()}) {
    TokenClassifier model(options);
    model->eval();
    const TokenBatch batch = tokens_of(random_ids(2, 11), {9, 4});
    const auto sums = plain_sums(encoded_tokens(*model, batch).out, {9, 4});
    const torch::Tensor outputs = model->forward(batch).outputs;
    EXPECT_TRUE(close(outputs[0], plain_head(*model->head, sums[0] / 11), 1e-5));
    EXPECT_TRUE(close(outputs[1], plain_head(*model->head, sums[1] / 11), 1e-5));
  }
}

TEST_F(TokenClassifierTest, AsPublishedThePaddingIsFelt) {
  TokenClassifier model(published_tokens());
  model->eval();
  const torch::Tensor ids = random_ids(1, 7), further = at::constant_pad_nd(ids, {0, 4});
  EXPECT_FALSE(close(model->forward(tokens_of(further, {7})).terms[0].le,
                     model->forward(tokens_of(ids, {7})).terms[0].le, 1e-4));
}

TEST_F(TokenClassifierTest, ThePositionOfATokenMatters) {
  TokenClassifier model(small_tokens());
  model->eval();
  const torch::Tensor ids = random_ids(1, 8);
  EXPECT_FALSE(
      close(model->forward(tokens_of(ids.flip(1), {8})).outputs, model->forward(tokens_of(ids, {8})).outputs, 1e-4));
}

// As a picture that is black all over, where black is padding.
TEST_F(TokenClassifierTest, ASequenceOfPaddingAloneHasAFiniteAnswer) {
  for (const TokenClassifierOptions& options :
       {small_tokens(), small_tokens(TokenPooling::padded_mean), published_tokens()}) {
    TokenClassifier model(options);
    const auto [outputs, terms] = model->forward(tokens_of(random_ids(2, 6), {0, 6}));
    EXPECT_TRUE(close(outputs[0], plain_head(*model->head, torch::zeros({kWidth})), 1e-6));
    (outputs.sum() + terms[0].objective().sum()).backward();
    for (const torch::Tensor& parameter : model->parameters())
      EXPECT_TRUE(parameter.grad().isfinite().all().item<bool>());
  }
}

TEST_F(TokenClassifierTest, TheHeadOfAPairSeesBothTheirProductAndTheirDifference) {
  TokenClassifier model(token_pairs());
  model->eval();
  const std::vector<int64_t> lengths = {9, 3, 4, 6};
  const TokenBatch batch = tokens_of(random_ids(4, 9), lengths);
  std::vector<torch::Tensor> means = plain_sums(encoded_tokens(*model, batch).out, lengths);
  for (size_t i = 0; i < means.size(); ++i) means[i] /= lengths[i];
  const auto judged = [&](const torch::Tensor& a, const torch::Tensor& b) {
    return plain_head(*model->head, at::cat({a, b, a * b, a - b}));
  };
  const torch::Tensor outputs = model->forward(batch).outputs;
  ASSERT_EQ(outputs.size(0), 2);
  EXPECT_TRUE(close(outputs[0], judged(means[0], means[2]), 1e-5)) << "the first of a pair is in the first half";
  EXPECT_TRUE(close(outputs[1], judged(means[1], means[3]), 1e-5));

  const torch::Tensor swapped = torch::tensor({2, 3, 0, 1});
  const TokenBatch other = {batch.ids.index_select(0, swapped), batch.padding.index_select(0, swapped)};
  EXPECT_TRUE(close(model->forward(other).outputs[0], judged(means[2], means[0]), 1e-5));
}

TEST_F(TokenClassifierTest, TheTermsOfAPairAreTheMeansOfItsTwoSequences) {
  TokenClassifier model(token_pairs());
  model->eval();
  const TokenBatch batch = tokens_of(random_ids(4, 9), {9, 3, 4, 6});
  const KsvdTerms each = encoded_tokens(*model, batch).terms[0], pairs = model->forward(batch).terms[0];
  for (const auto member : {&KsvdTerms::le, &KsvdTerms::lr, &KsvdTerms::tr}) {
    EXPECT_TRUE(
        close(pairs.*member,
              torch::stack({((each.*member)[0] + (each.*member)[2]) / 2, ((each.*member)[1] + (each.*member)[3]) / 2}),
              1e-6));
  }
}

TEST_F(TokenClassifierTest, DropoutIsForTrainingAlone) {
  TokenClassifierOptions options = small_tokens();
  options.dropout = 0.5;  // of the embedding; the layers have none
  TokenClassifier model(options);
  const TokenBatch batch = tokens_of(random_ids(2, 9), {9, 4});
  EXPECT_FALSE(close(model->forward(batch).outputs, model->forward(batch).outputs, 1e-4));
  model->eval();
  const torch::Tensor outputs = model->forward(batch).outputs;
  EXPECT_TRUE(at::equal(model->forward(batch).outputs, outputs));
  EXPECT_TRUE(
      close(outputs[0], plain_head(*model->head, plain_sums(encoded_tokens(*model, batch).out, {9, 4})[0] / 9), 1e-5));
}

TEST_F(TokenClassifierTest, ACloneIsTheSameModelWithWeightsOfItsOwn) {
  TokenClassifier model(token_pairs());
  model->eval();
  const TokenBatch batch = tokens_of(random_ids(4, 9), {9, 3, 4, 6});
  const auto copy = std::dynamic_pointer_cast<TokenClassifierImpl>(model->clone());
  const torch::Tensor outputs = model->forward(batch).outputs;
  EXPECT_TRUE(at::equal(copy->forward(batch).outputs, outputs));
  {
    const torch::NoGradGuard no_grad;
    for (torch::Tensor& parameter : copy->parameters()) parameter.add_(0.1);
  }
  EXPECT_TRUE(at::equal(model->forward(batch).outputs, outputs));
  EXPECT_FALSE(close(copy->forward(batch).outputs, outputs, 1e-3));
}

TEST_F(TokenClassifierTest, SizesThatMakeNoSenseAreRefused) {
  const auto refused = [](const auto& change) {
    TokenClassifierOptions options = small_tokens();
    change(options);
    return error_of([&] { TokenClassifier model(options); });
  };
  EXPECT_EQ(refused([](auto& o) { o.vocabulary = 0; }), "token_classifier: vocabulary must be at least 1, got 0");
  EXPECT_EQ(refused([](auto& o) { o.outputs = 0; }), "token_classifier: outputs must be at least 1, got 0");
  EXPECT_EQ(refused([](auto& o) { o.tokens = -1; }), "token_classifier: tokens must be at least 1, got -1");
  EXPECT_EQ(refused([](auto& o) { o.hidden = 0; }), "token_classifier: hidden must be at least 1, got 0");
  EXPECT_EQ(refused([](auto& o) { o.layers.clear(); }), "token_classifier: at least one layer is needed");
}

TEST_F(TokenClassifierTest, SequencesThatDoNotFitAreRefused) {
  TokenClassifier model(small_tokens()), pairs(token_pairs());
  EXPECT_NO_THROW(model->forward(tokens_of(random_ids(1, 12), {12})));
  EXPECT_EQ(error_of([&] { model->forward(tokens_of(random_ids(1, 13), {13})); }),
            "token_classifier: the sequences have 13 tokens, the model 12");
  EXPECT_EQ(error_of([&] {
              pairs->forward(tokens_of(random_ids(3, 4), {4, 4, 4}));
            }),
            "token_classifier: pairs need an even number of sequences, got 3");
}

}  // namespace
}  // namespace primal::models
