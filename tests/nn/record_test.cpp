#include "nn/record.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <stdexcept>

#include "nn/attention/observer.h"
#include "nn/encoder.h"
#include "support/tensors.h"

namespace primal::nn {
namespace {

using tests::same;
using torch::Tensor;

Encoder two_layers(bool norm_first) {
  const EncoderLayerOptions softmax{.attention = {.kind = "softmax", .width = 8, .heads = 2},
                                    .feed_forward = 16,
                                    .dropout = 0.5,
                                    .norm_first = norm_first};
  EncoderLayerOptions primal = softmax;
  primal.attention = {.width = 8, .heads = 2, .primal = {.rank = 3, .rows = 6}};
  return Encoder(std::vector{softmax, primal});
}

// Two encoders side by side, as a model of pairs may have them.
struct Pair : torch::nn::Module {
  Pair() {
    left = register_module("left", two_layers(false));
    right = register_module("right", two_layers(false));
  }
  Encoder left{nullptr}, right{nullptr};
};

class RecordTest : public testing::Test {
 protected:
  RecordTest() { torch::manual_seed(9); }

  static std::vector<std::string> names(const std::vector<AttentionRecord>& records) {
    std::vector<std::string> result;
    for (const AttentionRecord& record : records) result.push_back(record.name);
    return result;
  }
  static EncoderLayerImpl& layer(const Encoder& encoder, size_t i) {
    return *encoder->layers->ptr(i)->as<EncoderLayerImpl>();
  }

  Tensor x = torch::randn({2, 7, 8});
  Tensor padding = padding_mask(torch::tensor({7, 4}), 7);
};

TEST_F(RecordTest, HasWhatTheAttentionOfEachLayerSaw) {
  for (const bool norm_first : {false, true}) {
    Encoder encoder = two_layers(norm_first);
    const EncoderMasks masks{padding};
    const auto records = record(*encoder, [&] { encoder(x, masks); });
    ASSERT_EQ(names(records), (std::vector<std::string>{"layer 1", "layer 2"}));
    EncoderLayerImpl &first = layer(encoder, 0), &second = layer(encoder, 1);
    EXPECT_EQ(records[0].attention, first.attention);
    EXPECT_EQ(records[1].attention, second.attention);
    const Tensor between = first.forward(x, masks).out;
    EXPECT_TRUE(same(records[0].input, norm_first ? first.norm1(x) : x));
    EXPECT_TRUE(same(records[1].input, norm_first ? second.norm1(between) : between));
    for (const AttentionRecord& record : records) EXPECT_TRUE(same(*record.padding, padding));
  }
}

TEST_F(RecordTest, ChangesNothingInThePass) {
  Encoder encoder = two_layers(/*norm_first=*/true);
  Tensor out;
  record(*encoder, [&] { out = encoder(x).out; });
  EXPECT_TRUE(same(out, encoder(x).out));
}

TEST_F(RecordTest, WithoutAMaskThereIsNone) {
  Encoder encoder = two_layers(false);
  EXPECT_FALSE(record(*encoder, [&] { encoder(x); })[0].padding.has_value());
}

TEST_F(RecordTest, EveryCallOfALayerIsRecordedByLayer) {
  Encoder encoder = two_layers(false);
  const Tensor other = torch::randn({1, 3, 8});
  const auto records = record(*encoder, [&] {
    encoder(x);
    encoder(other);
  });
  EXPECT_EQ(names(records), (std::vector<std::string>{"layer 1", "layer 1", "layer 2", "layer 2"}));
  EXPECT_TRUE(same(records[0].input, x));
  EXPECT_TRUE(same(records[1].input, other));
  EXPECT_EQ(records[3].input.size(1), 3);
}

TEST_F(RecordTest, AnyModelWillDo) {
  const auto pair = std::make_shared<Pair>();
  const auto records = record(*pair, [&] {
    pair->right(x);  // the order of the modules counts, not that of the calls
    pair->left(x);
  });
  EXPECT_EQ(names(records), (std::vector<std::string>{"layer 1", "layer 2", "layer 3", "layer 4"}));
  EXPECT_EQ(records[0].attention, layer(pair->left, 0).attention);
  EXPECT_EQ(records[2].attention, layer(pair->right, 0).attention);
}

TEST_F(RecordTest, ALayerThatTwoPartsShareIsOne) {
  torch::nn::ModuleList twice;
  Encoder encoder = two_layers(false);
  twice->push_back(encoder);
  twice->push_back(encoder);
  EXPECT_EQ(names(record(*twice, [&] { encoder(x); })), (std::vector<std::string>{"layer 1", "layer 2"}));
}

TEST_F(RecordTest, LayersOfOtherModelsAreLeftOut) {
  Encoder encoder = two_layers(false), stranger = two_layers(false);
  EXPECT_TRUE(record(*encoder, [&] { stranger(x); }).empty());
  const auto last = record(layer(encoder, 1), [&] { encoder(x); });
  EXPECT_EQ(names(last), (std::vector<std::string>{"layer 1"}));
}

TEST_F(RecordTest, TakesTheModelInEvaluationModeAndWithoutGradient) {
  Encoder encoder = two_layers(false);
  encoder->train();
  const auto records = record(*encoder, [&] { encoder(x); });
  EXPECT_FALSE(encoder->is_training());
  EXPECT_FALSE(records[1].input.requires_grad());
  EXPECT_TRUE(same(records[1].input, layer(encoder, 0).forward(x).out.detach()));
}

TEST_F(RecordTest, EndsWithThePassAlsoWhenThatThrows) {
  Encoder encoder = two_layers(false);
  EXPECT_THROW(record(*encoder,
                      [&] {
                        EXPECT_NE(AttentionObserver::current(), nullptr);
                        throw std::runtime_error("no");
                      }),
               std::runtime_error);
  EXPECT_EQ(AttentionObserver::current(), nullptr);
}

TEST_F(RecordTest, OneInsideAnotherTakesItsOwnCalls) {
  Encoder encoder = two_layers(false);
  size_t inside = 0;
  const auto outer = record(*encoder, [&] {
    inside = record(*encoder, [&] { encoder(x); }).size();
    encoder(x);
  });
  EXPECT_EQ(inside, 2u);
  EXPECT_EQ(outer.size(), 2u);
}

}  // namespace
}  // namespace primal::nn
