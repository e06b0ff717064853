#include "nn/record.h"

#include "nn/attention/observer.h"
#include "nn/encoder_layer.h"

namespace primal::nn {

namespace {

class Recorder : public AttentionObserver {
 public:
  explicit Recorder(const torch::nn::Module& model) {
    for (const auto& module : model.modules()) {
      const auto* layer = module->as<EncoderLayerImpl>();
      if (layer != nullptr && find(layer->attention) == layers_.size()) layers_.push_back({layer->attention, {}});
    }
  }

  void saw(const std::shared_ptr<Attention>& attention, const torch::Tensor& input,
           const std::optional<torch::Tensor>& padding) override {
    const size_t i = find(attention);
    if (i == layers_.size()) return;
    layers_[i].calls.push_back({"layer " + std::to_string(i + 1), attention, input, padding});
  }

  std::vector<AttentionRecord> records() const {
    std::vector<AttentionRecord> all;
    for (const Layer& layer : layers_) all.insert(all.end(), layer.calls.begin(), layer.calls.end());
    return all;
  }

 private:
  struct Layer {
    std::shared_ptr<Attention> attention;
    std::vector<AttentionRecord> calls;
  };

  // layers_.size() if it is not there.
  size_t find(const std::shared_ptr<Attention>& attention) const {
    size_t i = 0;
    while (i < layers_.size() && layers_[i].attention != attention) ++i;
    return i;
  }

  std::vector<Layer> layers_;
};

}  // namespace

std::vector<AttentionRecord> record(torch::nn::Module& model, const std::function<void()>& pass) {
  const torch::NoGradGuard no_grad;
  model.eval();
  Recorder recorder(model);
  pass();
  return recorder.records();
}

}  // namespace primal::nn
