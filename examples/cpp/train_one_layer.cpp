// Trains one Primal-Attention layer to tell whether a marked token lies above or below the level of its sequence. The
// level differs from sequence to sequence, so the token alone cannot tell: the answer must come through the attention.
#include <torch/nn/functional/loss.h>
#include <torch/optim/adam.h>

#include <cstdio>

#include "primal/attention.h"

struct Batch {
  torch::Tensor x, lengths, marked, label;  // [B, N, D], then [B] each
};

Batch random_batch(int64_t batch, int64_t tokens, int64_t width) {
  const auto lengths = torch::randint(tokens / 2, tokens + 1, {batch}, torch::kLong);
  const auto marked = (torch::rand({batch}) * lengths).to(torch::kLong);
  const auto label = torch::randint(0, 2, {batch}, torch::kLong);
  const auto row = torch::arange(batch);
  auto x = 0.1 * torch::randn({batch, tokens, width});
  x.select(2, 0) += 2 * torch::randn({batch, 1});  // channel 0: the level of the sequence
  x.select(2, 0).index_put_({row, marked}, (2 * label - 1).to(torch::kFloat), /*accumulate=*/true);
  x.select(2, 1).index_put_({row, marked}, torch::ones({batch}));  // channel 1: the mark
  return {x, lengths, marked, label};
}

int main() {
  torch::manual_seed(1);
  primal::PrimalAttention attention(primal::PrimalAttentionOptions{.width = 32, .heads = 4, .rank = 8, .rows = 40});
  torch::nn::Linear head(32, 2);
  auto parameters = attention->parameters();
  for (const auto& p : head->parameters()) parameters.push_back(p);
  torch::optim::Adam optimizer(parameters, torch::optim::AdamOptions(5e-3));

  for (int step = 0; step <= 400; ++step) {
    const auto [x, lengths, marked, label] = random_batch(64, 40, 32);
    auto [out, terms] = attention->forward(x, {.query_padding = primal::padding_mask(lengths, 40)});  // [B, N, D]
    const auto logits = head(out.index({torch::arange(64), marked}));
    const auto loss = torch::nn::functional::cross_entropy(logits, label) + primal::ksvd_loss({terms}, /*eta=*/0.1);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    if (step % 100 == 0) {
      const auto accuracy = logits.argmax(1).eq(label).to(torch::kFloat).mean().item<double>();
      std::printf("step %3d  loss %.3f  accuracy %.2f  J %+.4f\n", step, loss.item<double>(), accuracy,
                  terms.objective().mean().item<double>());
    }
  }
}
