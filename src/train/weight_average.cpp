#include "train/weight_average.h"

#include <algorithm>

namespace primal::train {

namespace {

std::string key_of(const std::string& name) { return "average." + name; }

void copy(const std::vector<torch::Tensor>& from, const std::vector<torch::Tensor>& to) {
  torch::NoGradGuard no_grad;
  for (size_t i = 0; i < from.size(); ++i) to[i].copy_(from[i]);
}

std::vector<torch::Tensor> copies(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> all;
  for (const torch::Tensor& tensor : tensors) all.push_back(tensor.detach().clone());
  return all;
}

}  // namespace

WeightAverage::WeightAverage(torch::nn::Module& model, double decay) : decay_(decay) {
  if (decay == 0) return;
  for (const auto& parameter : model.named_parameters()) {
    names_.push_back(parameter.key());
    weights_.push_back(parameter.value());
  }
  averages_ = copies(weights_);
}

void WeightAverage::update(int64_t step) {
  torch::NoGradGuard no_grad;
  const double decay = std::min(decay_, static_cast<double>(1 + step) / static_cast<double>(10 + step));
  for (size_t i = 0; i < averages_.size(); ++i) averages_[i].lerp_(weights_[i], 1 - decay);
}

WeightAverage::InModel::InModel(const WeightAverage& average) : average_(average), own_(copies(average.weights_)) {
  average_.give_to_model();
}

WeightAverage::InModel::~InModel() { copy(own_, average_.weights_); }

void WeightAverage::give_to_model() const { copy(averages_, weights_); }

Tensors WeightAverage::state() const {
  Tensors state;
  for (size_t i = 0; i < names_.size(); ++i) state[key_of(names_[i])] = averages_[i];
  return state;
}

void WeightAverage::load_state(Tensors& state, const std::string& file) {
  std::vector<torch::Tensor> loaded;
  for (size_t i = 0; i < names_.size(); ++i) {
    const std::string key = key_of(names_[i]);
    loaded.push_back(models::tensor_like(state, key, averages_[i], file));
    state.erase(key);
  }
  copy(loaded, averages_);
}

}  // namespace primal::train
