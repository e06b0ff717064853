// The softmax layer against the published one of the Long Range Arena code.
#include "nn/attention/softmax.h"

#include "nn/rivals/cases.h"

namespace primal::nn::rivals {
namespace {

using tests::close;

// The first two of six heads get q, k and v of the file through projections that pick them out of x = [q, k, v].
struct GoldenSoftmax {
  SafetensorsFile file = golden_attention("softmax");
  SoftmaxAttention layer;
  Tensor x;  // [3, 16, 24]

  explicit GoldenSoftmax(Masking masking)
      : layer(AttentionOptions{.width = 24, .heads = 6, .bias = false, .masking = masking}) {
    const torch::NoGradGuard no_grad;
    layer->to(torch::kDouble);
    const Tensor eye = torch::eye(24, torch::kDouble);
    int64_t part = 0;
    for (const auto& projection : {layer->q_proj, layer->k_proj, layer->v_proj}) {
      projection->weight.zero_().narrow(0, 0, 8).copy_(eye.narrow(0, 8 * part++, 8));
    }
    layer->out_proj->weight.copy_(eye);
    x = at::cat({file.tensors.at("q"), file.tensors.at("k"), file.tensors.at("v")}, 1).transpose(1, 2).flatten(2);
    x.requires_grad_();
  }

  Tensor merged(const std::string& name) const { return file.tensors.at(name).transpose(1, 2).flatten(2); }
  Tensor padding() const { return file.tensors.at("mask") == 0; }
  Tensor out() { return layer->forward(x, padding()).narrow(2, 0, 8); }
};

TEST(SoftmaxAttention, GivesThePublishedNumbers) {
  GoldenSoftmax golden(Masking::published);
  const Tensor out = golden.out();
  EXPECT_TRUE(close(out, golden.merged("out"), 1e-11));
  (out * golden.merged("w")).mean().backward();
  const Tensor expected = at::cat({golden.merged("grad.q"), golden.merged("grad.k"), golden.merged("grad.v")}, 2);
  const double scale = expected.abs().max().item<double>();
  EXPECT_TRUE(close(golden.x.grad() / scale, expected / scale, 1e-11));
}

TEST(SoftmaxAttention, GivesThePublishedNumbersOfRealTokens) {
  GoldenSoftmax golden(Masking::right);
  const Tensor real = golden.padding().logical_not();
  ASSERT_FALSE(real.all().item<bool>());
  EXPECT_TRUE(close(golden.out().index({real}), golden.merged("out").index({real}), 1e-11));
}

}  // namespace
}  // namespace primal::nn::rivals
