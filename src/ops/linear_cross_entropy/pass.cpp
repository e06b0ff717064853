#include "ops/linear_cross_entropy/pass.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/cpu_target.h"
#include "kernels/softmax_row.h"
#include "ops/parallel.h"
#include "ops/recycled_memory.h"

namespace primal::ops {

namespace {

// Tokens whose logits exist at a time.
int64_t tokens_of_block(int64_t vocabulary) {
  constexpr int64_t kNumbers = 8 << 20, kLeast = 16, kMost = 256;
  return std::clamp(kNumbers / vocabulary, kLeast, kMost);
}

void check_targets(const at::Tensor& targets, int64_t vocabulary) {
  const at::Tensor outside = (targets < 0).logical_or_(targets >= vocabulary);
  if (!outside.any().item<bool>()) return;
  const int64_t target = targets.masked_select(outside)[0].item<int64_t>();
  TORCH_CHECK_VALUE(false, "linear_cross_entropy: target ", target, " is outside the vocabulary of ", vocabulary);
}

// product(first, count) for the parts of a range, in parallel. BLAS rounds differently with the number of its threads:
// here each part is a product of its own on one thread, and the parts are the same for any number of threads.
template <typename Product>
void in_fixed_parts(int64_t size, int64_t part, const Product& product) {
  const int64_t parts = (size + part - 1) / part;
  // At least two: a range of one would run outside a parallel region, where BLAS takes all threads.
  parallel_for(0, std::max<int64_t>(parts, 2), 1, [&](int64_t begin, int64_t end) {
    const at::AutoDispatchBelowADInplaceOrView guard;  // of the calling thread, which other threads do not know
    for (int64_t i = begin; i < std::min(end, parts); ++i) product(i * part, std::min(part, size - i * part));
  });
}

// Large enough to make little of what BLAS copies for each product.
constexpr int64_t kWordsOfPart = 2048, kTokensOfPart = 128, kChannelsOfPart = 256;

// logits [R, V] = hidden [R, D] weight [V, D]^T
void multiply_logits(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& logits) {
  in_fixed_parts(weight.size(0), kWordsOfPart, [&](int64_t first, int64_t count) {
    at::Tensor out = logits.narrow(1, first, count);
    at::mm_out(out, hidden, weight.narrow(0, first, count).t());
  });
}

// gradient [R, D] = logits [R, V] weight [V, D]
void multiply_hidden_gradient(const at::Tensor& logits, const at::Tensor& weight, const at::Tensor& gradient) {
  const int64_t tokens = gradient.size(0), width = gradient.size(1);
  const int64_t columns = (width + kChannelsOfPart - 1) / kChannelsOfPart;
  const int64_t rows = (tokens + kTokensOfPart - 1) / kTokensOfPart;
  in_fixed_parts(rows * columns, 1, [&](int64_t part, int64_t /*count*/) {
    const int64_t token = part / columns * kTokensOfPart, channel = part % columns * kChannelsOfPart;
    const int64_t count = std::min(kTokensOfPart, tokens - token),
                  channels = std::min(kChannelsOfPart, width - channel);
    at::Tensor out = gradient.narrow(0, token, count).narrow(1, channel, channels);
    at::mm_out(out, logits.narrow(0, token, count), weight.narrow(1, channel, channels));
  });
}

// gradient [V, D] += logits [R, V]^T hidden [R, D]
void add_weight_gradient(const at::Tensor& logits, const at::Tensor& hidden, const at::Tensor& gradient) {
  in_fixed_parts(gradient.size(0), kWordsOfPart, [&](int64_t first, int64_t count) {
    gradient.narrow(0, first, count).addmm_(logits.narrow(1, first, count).t(), hidden);
  });
}

struct BlockOfTokens {
  at::Tensor logits;   // [tokens, V]; their gradient afterwards, if wanted
  at::Tensor targets;  // [tokens]
  at::Tensor nll;      // [tokens], written
  double label_smoothing;
  bool gradient;

  int64_t tokens() const { return logits.size(0); }
  int64_t vocabulary() const { return logits.size(1); }
  // What label smoothing takes from every entry of the gradient.
  double share() const { return label_smoothing / static_cast<double>(vocabulary()); }
};

// The loss of the block. For float64 and for other devices.
double block_in_aten(const BlockOfTokens& b) {
  const at::Tensor log_sum = b.logits.logsumexp(1), index = b.targets.unsqueeze(1);
  const at::Tensor nll = log_sum - b.logits.gather(1, index).squeeze(1);
  at::Tensor(b.nll).copy_(nll);
  at::Tensor loss = nll;
  if (b.label_smoothing > 0) loss = at::lerp(nll, log_sum - b.logits.mean(1), b.label_smoothing);
  if (b.gradient) {
    b.logits.sub_(log_sum.unsqueeze(1)).exp_().sub_(b.share());
    b.logits.scatter_add_(1, index, at::full_like(index, b.label_smoothing - 1, b.logits.options()));
  }
  return loss.sum(at::kDouble).item<double>();
}

// The same for float32, each row read from memory once.
double block_on_cpu(const BlockOfTokens& b) {
  const int64_t vocabulary = b.vocabulary();
  const int64_t* targets = b.targets.const_data_ptr<int64_t>();
  float* logits = b.logits.mutable_data_ptr<float>();
  float* nll = b.nll.mutable_data_ptr<float>();
  std::vector<double> loss(static_cast<size_t>(b.tokens()));
  parallel_for(0, b.tokens(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float* row = logits + i * vocabulary;
      const double of_target = row[targets[i]];
      const kernels::SoftmaxSums sums =
          b.gradient ? kernels::softmax_exponentials(row, vocabulary) : kernels::softmax_sums(row, vocabulary);
      const double log_sum = sums.largest + std::log(sums.exponentials);
      nll[i] = static_cast<float>(log_sum - of_target);
      double& of_row = loss[static_cast<size_t>(i)] = log_sum - of_target;
      // Not for 0: the mean of logits may be infinite.
      if (b.label_smoothing > 0) {
        const double mean = sums.numbers / static_cast<double>(vocabulary);
        of_row = (1 - b.label_smoothing) * of_row + b.label_smoothing * (log_sum - mean);
      }
      if (b.gradient) {
        const auto scale = static_cast<float>(1 / sums.exponentials);
        kernels::scale_and_shift(row, vocabulary, scale, static_cast<float>(b.share()));
        row[targets[i]] -= static_cast<float>(1 - b.label_smoothing);
      }
    }
  });
  return std::accumulate(loss.begin(), loss.end(), 0.0);  // in one order, whatever the number of threads
}

// Tokens with a target, in the dtype of the computation.
struct CountedTokens {
  at::Tensor index;    // [counted]; undefined when all of them are
  at::Tensor hidden;   // [counted, D]
  at::Tensor targets;  // [counted]

  CountedTokens(const LinearCrossEntropy& a, at::ScalarType inner) : hidden(a.hidden), targets(a.targets) {
    const at::Tensor counts = a.targets != a.ignore_index;
    if (!counts.all().item<bool>()) {
      index = counts.nonzero().squeeze(1);
      hidden = hidden.index_select(0, index);
      targets = targets.index_select(0, index);
    }
    hidden = hidden.to(inner).contiguous();
    targets = targets.contiguous();
  }

  int64_t size() const { return targets.size(0); }

  // Rows of these tokens among zeros for the others. [counted, ...] -> [T, ...]
  at::Tensor among_all(const at::Tensor& rows, at::IntArrayRef sizes) const {
    return index.defined() ? at::zeros(sizes, rows.options()).index_copy_(0, index, rows) : rows;
  }
};

}  // namespace

LinearCrossEntropyPass linear_cross_entropy_pass(const LinearCrossEntropy& a, WantedGradients wanted) {
  kernels::use_cpu_target_of_environment();
  const at::ScalarType inner = a.hidden.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const bool on_cpu = a.hidden.is_cpu() && inner == at::kFloat;
  // What is ignored costs nothing, and what stands there does not matter.
  const CountedTokens counted(a, inner);
  const at::Tensor weight = a.weight.to(inner).contiguous();
  const int64_t tokens = counted.size(), vocabulary = weight.size(0);
  check_targets(counted.targets, vocabulary);

  const auto options = counted.hidden.options();
  const int64_t block = std::min(tokens, tokens_of_block(vocabulary));
  const std::array<int64_t, 2> space_sizes{block, vocabulary};
  const at::Tensor space = on_cpu ? recycled_tensor(space_sizes, inner) : at::empty(space_sizes, options);
  const at::Tensor nll = at::empty({tokens}, options);
  const at::Tensor hidden_gradient = wanted.hidden ? at::empty_like(counted.hidden) : at::Tensor();
  const at::Tensor weight_gradient = wanted.weight ? at::zeros_like(weight) : at::Tensor();
  double sum = 0;
  for (int64_t first = 0; first < tokens; first += block) {
    const int64_t count = std::min(block, tokens - first);
    const auto of_block = [&](const at::Tensor& rows) { return rows.narrow(0, first, count); };
    const at::Tensor logits = space.narrow(0, 0, count);
    multiply_logits(of_block(counted.hidden), weight, logits);
    const BlockOfTokens b{logits, of_block(counted.targets), of_block(nll), a.label_smoothing, wanted.any()};
    sum += on_cpu ? block_on_cpu(b) : block_in_aten(b);
    if (wanted.hidden) multiply_hidden_gradient(logits, weight, of_block(hidden_gradient));
    if (wanted.weight) add_weight_gradient(logits, of_block(counted.hidden), weight_gradient);
  }
  LinearCrossEntropyPass result{at::full({}, sum, options), counted.among_all(nll, a.targets.sizes()), {}, {}};
  if (wanted.hidden) {
    result.hidden_gradient = counted.among_all(hidden_gradient, a.hidden.sizes()).to(a.hidden.scalar_type());
  }
  if (wanted.weight) result.weight_gradient = weight_gradient.to(a.weight.scalar_type());
  return result;
}

}  // namespace primal::ops
