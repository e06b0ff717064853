#include "models/generator.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "primal/error.h"

namespace primal::models {

namespace {

constexpr int64_t kPromptChunk = 2048;  // tokens of a prompt that go through the model together
constexpr size_t kRecent = 256;         // tokens that the repetition speaks of: a bound, so that the state has one
constexpr uint64_t kPurpose = 0x73616d706c65;  // "sample": keeps these numbers apart from others of the seed

struct Candidate {
  float logit;
  int64_t id;
};

// The likeliest first; equal ones in the order of their ids, so that the choice is the same everywhere.
bool is_likelier(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

void penalise(std::vector<float>& logits, std::span<const int64_t> recent, double factor) {
  std::vector<int64_t> ids(recent.begin(), recent.end());
  std::ranges::sort(ids);
  ids.erase(std::ranges::unique(ids).begin(), ids.end());
  for (const int64_t id : ids) {
    float& logit = logits[static_cast<size_t>(id)];
    logit = static_cast<float>(logit > 0 ? logit / factor : logit * factor);
  }
}

// Sorted only where an option asks for the likeliest: to sort a large vocabulary takes longer than a small model.
std::vector<Candidate> candidates_of(const std::vector<float>& logits, const SamplingOptions& options) {
  std::vector<Candidate> all;
  all.reserve(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    if (std::isfinite(logits[i])) all.push_back({logits[i], static_cast<int64_t>(i)});
  }
  if (all.empty()) throw Error("the model gives no token a finite logit");
  const int64_t most = options.temperature == 0 ? 1 : options.top_k;
  if (most == 0 && options.top_p == 1) return all;
  const auto kept = most > 0 ? std::min<size_t>(static_cast<size_t>(most), all.size()) : all.size();
  std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(kept), is_likelier);
  all.resize(kept);
  return all;
}

}  // namespace

void check(const SamplingOptions& o) {
  const auto fail = [](const char* name, const char* expected, auto value) {
    throw Error(c10::str(name, ": expected ", expected, ", got ", value));
  };
  if (!(o.temperature >= 0) || !std::isfinite(o.temperature)) fail("temperature", "0 or more", o.temperature);
  if (o.top_k < 0) fail("top-k", "0 or more", o.top_k);
  if (!(o.top_p > 0 && o.top_p <= 1)) fail("top-p", "more than 0, at most 1", o.top_p);
  if (!(o.repetition > 0) || !std::isfinite(o.repetition)) fail("repetition", "more than 0", o.repetition);
}

int64_t sample(const torch::Tensor& logits, const SamplingOptions& options, std::span<const int64_t> recent,
               double chance) {
  const torch::Tensor numbers = logits.to(torch::kFloat32).contiguous();
  std::vector<float> adjusted(numbers.data_ptr<float>(), numbers.data_ptr<float>() + numbers.numel());
  if (options.repetition != 1) penalise(adjusted, recent, options.repetition);
  const std::vector<Candidate> candidates = candidates_of(adjusted, options);
  if (options.temperature == 0) return candidates.front().id;
  const double largest = std::ranges::max(candidates, {}, &Candidate::logit).logit;
  std::vector<double> shares;
  for (const Candidate& c : candidates) {
    shares.push_back(std::exp((static_cast<double>(c.logit) - largest) / options.temperature));
  }
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  double kept = 0;
  size_t count = 0;
  while (count < shares.size() && (count == 0 || kept < options.top_p * all)) kept += shares[count++];
  double left = chance * kept;
  for (size_t i = 0; i + 1 < count; ++i) {
    left -= shares[i];
    if (left < 0) return candidates[i].id;
  }
  return candidates[count - 1].id;
}

Generator::Generator(LanguageModel model, int64_t sequences, SamplingOptions options, std::vector<int64_t> forbidden)
    : model_(std::move(model)),
      sequences_(sequences),
      options_(options),
      forbidden_(std::move(forbidden)),
      state_(model_->initial_state(sequences)),
      recent_(static_cast<size_t>(sequences)) {
  check(options_);
}

void Generator::step(const torch::Tensor& ids) { features_ = model_->step(ids, state_).select(1, -1).clone(); }

void Generator::remember(const std::vector<int64_t>& ids) {
  for (size_t i = 0; i < recent_.size(); ++i) {
    std::vector<int64_t>& recent = recent_[i];
    recent.push_back(ids[i]);
    if (recent.size() > kRecent) recent.erase(recent.begin());
  }
}

void Generator::read(std::span<const int64_t> ids) {
  const torch::NoGradGuard no_grad;
  if (!pending_.empty()) step(at::tensor(std::exchange(pending_, {})).unsqueeze(1));
  for (size_t begin = 0; begin < ids.size(); begin += kPromptChunk) {
    const auto part = ids.subspan(begin, std::min<size_t>(kPromptChunk, ids.size() - begin));
    step(at::tensor(at::ArrayRef<int64_t>(part.data(), part.size())).expand({sequences_, -1}).contiguous());
  }
  for (const int64_t id : ids.last(std::min(ids.size(), kRecent))) remember(std::vector(recent_.size(), id));
}

torch::Tensor Generator::logits() {
  const torch::NoGradGuard no_grad;
  if (!pending_.empty()) step(at::tensor(std::exchange(pending_, {})).unsqueeze(1));
  if (!features_.defined()) throw Error("generator: something must be read before the first token");
  torch::Tensor logits = model_->logits(features_);
  for (const int64_t id : forbidden_) logits.select(1, id).fill_(-std::numeric_limits<double>::infinity());
  return logits;
}

std::vector<int64_t> Generator::next() {
  const torch::Tensor all = logits();
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < sequences_; ++i) {
    const auto number = static_cast<uint64_t>(drawn_ * sequences_ + i);
    base::Random random = base::Random::numbered(options_.seed, kPurpose, number);
    ids.push_back(sample(all[i], options_, recent_[static_cast<size_t>(i)], random.uniform()));
  }
  ++drawn_;
  pending_ = ids;
  remember(ids);
  return ids;
}

int64_t Generator::state_bytes() const {
  int64_t bytes = 0;
  for (const auto& [name, tensor] : nn::tensors_of(state_.encoder)) bytes += static_cast<int64_t>(tensor.nbytes());
  return bytes;
}

nn::StateTensors Generator::save() const {
  nn::StateTensors all;
  for (const auto& [name, tensor] : nn::tensors_of(state_.encoder)) all["encoder." + name] = tensor;
  all["position"] = at::scalar_tensor(state_.position, at::kLong);
  all["drawn"] = at::scalar_tensor(drawn_, at::kLong);
  if (features_.defined()) all["features"] = features_;
  if (!pending_.empty()) all["pending"] = at::tensor(pending_);
  std::vector<int64_t> recent;
  for (const auto& ids : recent_) recent.insert(recent.end(), ids.begin(), ids.end());
  all["recent"] = at::tensor(recent, at::kLong).view({sequences_, -1});
  return all;
}

void Generator::load(const nn::StateTensors& tensors) {
  const auto number = [&](const char* name) {
    const auto value = nn::state_tensor(tensors, name, at::kLong, {}).item<int64_t>();
    if (value < 0) throw Error(c10::str("tensor ", name, " of the state: expected 0 or more, got ", value));
    return value;
  };
  LanguageState state{model_->initial_state(sequences_)};
  nn::StateTensors encoder;
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with("encoder.")) encoder[name.substr(8)] = tensor;
  }
  nn::load(state.encoder, encoder);
  state.position = number("position");
  const int64_t drawn = number("drawn");
  torch::Tensor features;
  if (tensors.contains("features")) {
    features =
        nn::state_tensor(tensors, "features", model_->tokens->weight.scalar_type(), {sequences_, model_->width()});
  }
  const auto ids_of = [&](const torch::Tensor& ids) {
    const std::span<const int64_t> all(ids.data_ptr<int64_t>(), static_cast<size_t>(ids.numel()));
    for (const int64_t id : all) {
      if (id < 0 || id >= model_->options().vocabulary) {
        throw Error(c10::str("the state has id ", id, " of ", model_->options().vocabulary));
      }
    }
    return std::vector<int64_t>(all.begin(), all.end());
  };
  if (tensors.contains("pending")) pending_ = ids_of(nn::state_tensor(tensors, "pending", at::kLong, {sequences_}));
  const torch::Tensor recent = nn::state_tensor(tensors, "recent", at::kLong, {sequences_, -1});
  for (int64_t i = 0; i < sequences_; ++i) recent_[static_cast<size_t>(i)] = ids_of(recent[i].contiguous());
  state_ = std::move(state);
  features_ = features;
  drawn_ = drawn;
}

}  // namespace primal::models
