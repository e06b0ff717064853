#include "analysis/time_scales.h"

#include <ATen/ATen.h>

#include <string>

#include "nn/encoder_layer.h"

namespace primal::analysis {

namespace {

std::vector<double> rising_tokens(const torch::Tensor& log_scale) {
  const torch::Tensor tokens =
      std::get<0>(log_scale.detach().to(torch::kCPU, torch::kDouble).exp().flatten().sort()).contiguous();
  return {tokens.data_ptr<double>(), tokens.data_ptr<double>() + tokens.numel()};
}

}  // namespace

std::vector<run::TimeScales> time_scales_of(const torch::nn::Module& model) {
  std::vector<run::TimeScales> result;
  int64_t layers = 0;
  for (const auto& module : model.modules()) {
    if (module->as<nn::EncoderLayerImpl>() == nullptr) continue;
    const std::string layer = "layer " + std::to_string(++layers);
    for (const auto& parameter : module->named_parameters()) {
      const torch::Tensor& value = parameter.value();
      if (!parameter.key().ends_with("log_scale")) continue;
      if (value.dim() < 3) {  // of each head
        result.push_back({layer, "q and k", rising_tokens(value)});
        continue;
      }
      for (int64_t r = 0; r < value.size(0); ++r) {
        result.push_back({layer, r == 0 ? "forward" : "backward", rising_tokens(value[r])});
      }
    }
  }
  return result;
}

}  // namespace primal::analysis
