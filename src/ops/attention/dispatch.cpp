#include "ops/attention/dispatch.h"

#include "ops/attention/attention.h"

namespace primal::ops {

namespace {

template <typename Signature>
c10::TypedOperatorHandle<Signature> find(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

}  // namespace

const c10::TypedOperatorHandle<AttentionSignature>& attention_operator() {
  static const auto handle = find<AttentionSignature>("primal::attention");
  return handle;
}

const c10::TypedOperatorHandle<AttentionKeepingSignature>& attention_keeping_operator() {
  static const auto handle = find<AttentionKeepingSignature>("primal::attention_keeping");
  return handle;
}

const c10::TypedOperatorHandle<AttentionSignature>& attention_scores_operator() {
  static const auto handle = find<AttentionSignature>("primal::attention_scores");
  return handle;
}

const c10::TypedOperatorHandle<AttentionStepSignature>& attention_step_operator() {
  static const auto handle = find<AttentionStepSignature>("primal::attention_step");
  return handle;
}

const c10::TypedOperatorHandle<AttentionBackwardSignature>& attention_backward_operator() {
  static const auto handle = find<AttentionBackwardSignature>("primal::attention_backward");
  return handle;
}

AttentionResult attention(const AttentionArguments& a) {
  auto [out, le, lr, tr] = attention_operator().call(PRIMAL_ATTENTION_FIELDS(a));
  return {out, le, lr, tr};
}

AttentionScores attention_scores(const AttentionArguments& a) {
  auto [e, r, we_x, wr_x] = attention_scores_operator().call(PRIMAL_ATTENTION_FIELDS(a));
  return {e, r, we_x, wr_x};
}

AttentionStep attention_step(const AttentionArguments& a, const at::Tensor& q_sum, const at::Tensor& k_sum,
                             const at::Tensor& count) {
  auto [out, new_q_sum, new_k_sum, new_count] =
      attention_step_operator().call(PRIMAL_ATTENTION_FIELDS(a), q_sum, k_sum, count);
  return {out, new_q_sum, new_k_sum, new_count};
}

}  // namespace primal::ops
