#include "nn/attention/flow.h"

#include "nn/rivals/cases.h"
#include "nn/rivals/decoding.h"
#include "support/errors.h"

namespace primal::nn::rivals {
namespace {

using tests::close;

Mix flow(std::optional<double> clamp) {
  return [clamp](const Heads& heads, const std::optional<Tensor>& padding) {
    return flow_attention(heads, padding, clamp);
  };
}

Mix causal_flow(std::optional<double> clamp) {
  return [clamp](const Heads& heads, const std::optional<Tensor>& padding) {
    return causal_flow_attention(heads, padding, clamp);
  };
}

Flows example_flows() { return conserved_flows(example().q.sigmoid(), example().k.sigmoid()); }

TEST(FlowAttention, GivesThePublishedNumbers) {
  expect_golden(golden_attention("flow"), flow(1));
  expect_golden(golden_attention("flow_unclamped"), flow(std::nullopt));
}

TEST(FlowAttention, GivesThePublishedNumbersOfTheCausalForm) {
  expect_golden(golden_attention("flow_causal"), causal_flow(1));
  expect_golden(golden_attention("flow_causal_clamp10"), causal_flow(10));
}

TEST(FlowAttention, GivesTheWorkedExamples) {
  EXPECT_TRUE(close(flow_attention(example(), std::nullopt, 1),
                    printed({.010343, -.098081, .015994, -.037553, .016775, -.046179, .017271, -.055261,  //
                             .010939, -.097555, .016278, -.040278, .016975, -.049240, .009764, -.098292}),
                    kSixDigits));
  EXPECT_TRUE(close(causal_flow_attention(example(), std::nullopt, 1),
                    printed({.146211, -.438634, .308192, -.215427, -.033732, .032731, -.059930, -.140550,  //
                             -.012866, -.188870, .125603, -.082654, .018804, .044536, .009195, -.088656}),
                    kSixDigits));
}

TEST(FlowAttention, GivesTheWorkedFlows) {
  const auto eight = [](const std::vector<double>& values) {
    return torch::tensor(values, torch::kDouble).view({1, 1, 8});
  };
  const Flows flows = example_flows();
  EXPECT_TRUE(close(flows.incoming.reciprocal(),
                    eight({.253786, .338657, .243441, .189984, .232293, .300611, .222125, .279487}), kSixDigits));
  EXPECT_TRUE(close(flows.kept_incoming,
                    eight({.983254, .740221, 1.029314, 1.318380, 1.074474, .833796, 1.127928, .892640}), kSixDigits));
  EXPECT_TRUE(
      close(flows.kept_outgoing.clamp(-1, 1), eight({1, .878181, 1, .931164, .698291, .971350, 1, 1}), kSixDigits));
}

TEST(FlowAttention, FlowsAreConserved) {
  const Heads heads = random_heads(2, 3, 50, 4);
  const Tensor padding = torch::arange(50).unsqueeze(0) >= torch::tensor({50, 31}).unsqueeze(1);
  const Flows flows = conserved_flows(cleared(heads.q.sigmoid(), padding), cleared(heads.k.sigmoid(), padding));
  const Tensor real = padding.logical_not().to(torch::kDouble).unsqueeze(1);
  const Tensor tokens = torch::tensor({50., 31.}, torch::kDouble).unsqueeze(1).expand({2, 3});
  // Up to the epsilon of 1e-6 in every product.
  EXPECT_TRUE(close((flows.kept_incoming * real).sum(-1), tokens, 1e-5));
  EXPECT_TRUE(close((flows.kept_outgoing * real).sum(-1), tokens, 1e-5));
  EXPECT_FALSE(close((flows.incoming * real).sum(-1), tokens, 1e-2));
}

TEST(FlowAttention, AClampThatNeverBindsIsNone) {
  const Heads heads = random_heads(1, 2, 9, 4);
  EXPECT_TRUE(close(flow_attention(heads, std::nullopt, 50), flow_attention(heads, std::nullopt, std::nullopt), 1e-15));
  EXPECT_FALSE(close(flow_attention(heads, std::nullopt, 1), flow_attention(heads, std::nullopt, std::nullopt), 1e-4));
}

TEST(FlowAttention, GradientsAreThoseOfFiniteDifferences) {
  const Tensor padding = torch::tensor({{false, false, true, false, true}});
  for (const std::optional<double> clamp : {std::optional<double>(), std::optional(1.1)}) {
    expect_gradients(flow(clamp), random_heads(1, 2, 5, 3), padding);
    expect_gradients(causal_flow(clamp), random_heads(1, 2, 5, 3), padding);
  }
}

TEST(FlowAttention, KeepsWhatEveryRivalShould) {
  expect_order_does_not_matter(flow(1));
  for (const Mix& mix : {flow(1), flow(std::nullopt), causal_flow(1), causal_flow(std::nullopt)}) {
    expect_padding_leaves_no_trace(mix);
    expect_gaps_leave_no_trace(mix);
    expect_no_nan_without_tokens(mix);
  }
}

// The published formula computes exp(150000) / exp(150000) here.
TEST(FlowAttention, AHugeSourceWinsTheCausalCompetition) {
  Heads heads = random_heads(1, 1, 60, 4);
  heads = {.q = heads.q.to(torch::kFloat), .k = heads.k.to(torch::kFloat), .v = heads.v.to(torch::kFloat)};
  heads.k.narrow(2, 0, 30).fill_(-12);  // little reaches the first sinks, so the first large source has to give a lot
  heads.q.narrow(2, 0, 30).fill_(3);
  heads.k.narrow(2, 30, 30).fill_(12);
  const Tensor out = causal_flow_attention(heads, std::nullopt, std::nullopt);
  EXPECT_TRUE(out.isfinite().all().item<bool>());
  // Its value counts for all 31 tokens so far, times sigmoid(I^) of at least a half.
  EXPECT_GT((out / heads.v)[0][0][30].min().item<double>(), 15);
}

TEST(FlowAttention, StepsGiveThePass) {
  for (const std::optional<double> clamp : {std::optional<double>(), std::optional(1.0)}) {
    expect_steps_equal_the_pass({.kind = "flow", .width = 12, .heads = 3, .causal = true, .flow = {.clamp = clamp}});
  }
}

TEST(FlowAttention, OddSizesAndNothingAtAll) {
  for (const Mix& mix : {flow(1), causal_flow(1)}) {
    EXPECT_EQ(mix(random_heads(0, 2, 5, 3), std::nullopt).sizes(), (std::vector<int64_t>{0, 2, 5, 3}));
    EXPECT_EQ(mix(random_heads(2, 2, 0, 3), std::nullopt).sizes(), (std::vector<int64_t>{2, 2, 0, 3}));
    // One token: all flows are 1, and sigmoid(1) of its own value comes out.
    const Heads one = random_heads(2, 2, 1, 3);
    EXPECT_TRUE(close(mix(one, std::nullopt), one.v / (1 + std::exp(-1.0)), 1e-4));
  }
}

TEST(FlowAttention, AClampHasToBePositive) {
  EXPECT_EQ(tests::error_of([] { make_flow_attention({.kind = "flow", .width = 8, .flow = {.clamp = 0.0}}); }),
            "flow_attention: clamp must be above 0, got 0");
}

TEST(FlowAttention, AsPublishedPaddedTokensCountLikeAnyOther) {
  torch::manual_seed(1);
  const auto attention = make_flow_attention({.kind = "flow", .width = 8, .masking = Masking::published});
  const Tensor x = torch::randn({1, 8, 8});
  EXPECT_TRUE(tests::same(attention->forward(x, two_padded()).out, attention->forward(x, std::nullopt).out));
}

}  // namespace
}  // namespace primal::nn::rivals
