#include "primal/sequential.h"

#include <utility>

namespace primal {

TensorOutputImpl::TensorOutputImpl(PrimalAttention inner) : layer(std::move(inner)) { register_layer(); }

TensorOutputImpl::TensorOutputImpl(EncoderLayer inner) : layer(std::move(inner)) { register_layer(); }

void TensorOutputImpl::register_layer() { register_module("layer", layer.ptr()); }

// Called for the copy of this module when it is cloned.
void TensorOutputImpl::reset() {
  terms.reset();
  layer = layer.clone();
  register_layer();
}

torch::Tensor TensorOutputImpl::forward(const torch::Tensor& x) {
  auto [out, of_this_call] = layer.forward<AttentionOutput>(x);
  terms = of_this_call;
  return out;
}

std::vector<KsvdTerms> collect_terms(torch::nn::Module& model) {
  std::vector<KsvdTerms> result;
  model.apply([&](torch::nn::Module& module) {
    auto* output = module.as<TensorOutputImpl>();
    if (output == nullptr || !output->terms) return;
    result.push_back(*std::exchange(output->terms, std::nullopt));
  });
  if (result.empty()) throw Error("collect_terms: no TensorOutput of the model has been called since the last time");
  return result;
}

}  // namespace primal
