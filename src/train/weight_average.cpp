#include "train/weight_average.h"

#include <algorithm>

#include "primal/error.h"

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
    auto found = state.extract(key);
    if (found.empty()) throw Error(file + ": tensor " + key + " is missing");
    const torch::Tensor &value = found.mapped(), &expected = averages_[i];
    if (value.sizes() != expected.sizes() || value.scalar_type() != expected.scalar_type()) {
      throw Error(c10::str(file, ": tensor ", key, " is ", value.scalar_type(), " ", value.sizes(),
                           ", the model needs ", expected.scalar_type(), " ", expected.sizes()));
    }
    loaded.push_back(value);
  }
  copy(loaded, averages_);
}

}  // namespace primal::train
