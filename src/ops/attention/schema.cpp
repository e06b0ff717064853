// The schemas of torch.ops.primal.*
#include <torch/library.h>

#include <string>

namespace primal::ops {

namespace {

// Shared by all: see AttentionArguments for the shapes.
const std::string kTensors =
    "Tensor query, Tensor? key, Tensor q_weight, Tensor? q_bias, Tensor k_weight, Tensor? k_bias, Tensor we, "
    "Tensor wr, Tensor lam, Tensor score_weight, Tensor? score_bias, Tensor out_weight, Tensor? out_bias, "
    "Tensor? query_padding=None, Tensor? key_padding=None, Tensor? log_scale=None";
const std::string kSwitches =
    "str feature_map=\"cosine\", bool causal=False, bool data_dependent=True, bool respect_padding=True, "
    "bool trace_on_data=False, str sampling=\"exact\"";

}  // namespace

TORCH_LIBRARY(primal, m) {
  const auto define = [&](const std::string& schema) { m.def(schema.c_str(), {at::Tag::pt2_compliant_tag}); };
  const std::string arguments = kTensors + ", *, " + kSwitches;
  define("attention(" + arguments + ") -> (Tensor out, Tensor le, Tensor lr, Tensor tr)");
  // The same, with what the backward pass would otherwise compute again.
  define("attention_keeping(" + arguments + ") -> (Tensor out, Tensor le, Tensor lr, Tensor tr, Tensor kept)");
  define("attention_backward(Tensor grad_out, Tensor grad_le, Tensor grad_lr, Tensor grad_tr, " + arguments +
         ", Tensor? kept=None) -> Tensor[]");
  define("attention_scores(" + arguments + ") -> (Tensor e, Tensor r, Tensor we_x, Tensor wr_x)");
  define("attention_step(" + arguments +
         ", Tensor q_sum, Tensor k_sum, Tensor count) -> (Tensor out, Tensor q_sum, Tensor k_sum, Tensor count)");
}

}  // namespace primal::ops
