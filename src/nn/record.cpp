#include "nn/record.h"

#include <algorithm>

#include "nn/attention/observer.h"
#include "nn/encoder_layer.h"

namespace primal::nn {

namespace {

class Listener : public AttentionObserver {
 public:
  Listener(const torch::nn::Module& model, const Heard& heard) : heard_(heard) {
    for (const auto& module : model.modules()) {
      const auto* layer = module->as<EncoderLayerImpl>();
      if (layer != nullptr && find(layer->attention) == layers_.size()) layers_.push_back(layer->attention);
    }
  }

  void saw(const std::shared_ptr<Attention>& attention, const torch::Tensor& input,
           const std::optional<torch::Tensor>& padding) override {
    const size_t i = find(attention);
    if (i < layers_.size()) heard_({i, "layer " + std::to_string(i + 1), attention, input, padding});
  }

 private:
  // layers_.size() if it is not there.
  size_t find(const std::shared_ptr<Attention>& attention) const {
    return static_cast<size_t>(std::ranges::find(layers_, attention) - layers_.begin());
  }

  const Heard& heard_;
  std::vector<std::shared_ptr<Attention>> layers_;
};

}  // namespace

void listen(torch::nn::Module& model, const std::function<void()>& pass, const Heard& heard) {
  const torch::NoGradGuard no_grad;
  model.eval();
  const Listener listener(model, heard);
  pass();
}

std::vector<AttentionRecord> record(torch::nn::Module& model, const std::function<void()>& pass) {
  std::vector<AttentionRecord> records;
  listen(model, pass, [&](const AttentionRecord& call) { records.push_back(call); });
  std::ranges::stable_sort(records, {}, &AttentionRecord::layer);
  return records;
}

}  // namespace primal::nn
