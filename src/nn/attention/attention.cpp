#include "nn/attention/attention.h"

#include "primal/error.h"

namespace primal::nn {

void check_options(const char* kind, const AttentionOptions& options) {
  const AttentionOptions& o = options;
  const auto fail = [&](const auto&... parts) { throw Error(c10::str(kind, "_attention: ", parts...)); };
  if (o.width < 1) fail("width must be at least 1, got ", o.width);
  if (o.heads < 1) fail("heads must be at least 1, got ", o.heads);
  if (o.width % o.heads != 0) fail("width ", o.width, " is not divisible by ", o.heads, " heads");
  if (!(o.dropout >= 0 && o.dropout < 1)) fail("dropout must be at least 0 and below 1, got ", o.dropout);
}

ValueMap Attention::value_map(const torch::Tensor& /*x*/, const std::optional<torch::Tensor>& /*padding*/) {
  return {};
}

std::unique_ptr<AttentionState> Attention::initial_state(int64_t /*batch*/) const {
  fail("this kind cannot decode token by token");
}

torch::Tensor Attention::step(const torch::Tensor& /*tokens*/, AttentionState& /*state*/,
                              const std::optional<torch::Tensor>& /*padding*/) {
  fail("this kind cannot decode token by token");
}

void Attention::need_causal() const {
  if (!options_.causal) fail("a layer that is not causal cannot decode token by token");
}

void Attention::fail(const std::string& what) const { throw Error(options_.kind + "_attention: " + what); }

torch::Tensor state_tensor(const StateTensors& tensors, const std::string& name, at::ScalarType dtype,
                           at::IntArrayRef sizes) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) throw Error("the state has no tensor " + name);
  const torch::Tensor& given = found->second;
  bool fits = given.scalar_type() == dtype && given.dim() == std::ssize(sizes);
  for (int64_t i = 0; fits && i < given.dim(); ++i) fits = sizes[i] == -1 || given.size(i) == sizes[i];
  if (!fits) {
    throw Error(c10::str("tensor ", name, " of the state: expected ", sizes, " ", dtype, ", got ", given.sizes(), " ",
                         given.scalar_type()));
  }
  return given.clone();
}

}  // namespace primal::nn
