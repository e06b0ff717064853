#include "tasks/convert_layers.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/format.h"
#include "base/text.h"
#include "models/module_tensors.h"
#include "nn/record.h"
#include "primal/error.h"
#include "train/distil/distil.h"

namespace primal::tasks {

namespace {

using EncoderLayers = std::vector<nn::EncoderLayerImpl*>;

bool has_primal_attention(const nn::EncoderLayerImpl* layer) { return layer->attention->primal() != nullptr; }

size_t place_of_layer(const std::string& text, size_t count) {
  size_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, number);
  if (failure == std::errc() && stop == end && number >= 1 && number <= count) return number - 1;
  throw Error("--layers: expected last, all or numbers from 1 to " + std::to_string(count) + ", got " + text);
}

// "encoder.layers.1.attention."
std::string name_prefix_of(torch::nn::Module& model, const std::shared_ptr<torch::nn::Module>& part) {
  for (const auto& entry : model.named_modules()) {
    if (entry.value() == part) return entry.key() + ".";
  }
  throw Error("convert: an attention is not part of its model");
}

bool has_any_prefix(const std::string& name, const std::set<std::string>& prefixes) {
  return std::ranges::any_of(prefixes, [&](const std::string& prefix) { return name.starts_with(prefix); });
}

// What the attention of one layer gets in a pass, call by call.
std::vector<nn::AttentionRecord> attention_calls(Task& task, size_t layer, const DataChoice& choice) {
  std::vector<nn::AttentionRecord> calls;
  nn::listen(
      task.model(), [&] { task.forward(choice); },
      [&](const nn::AttentionRecord& call) {
        if (call.layer == layer) calls.push_back(call);
      });
  return calls;
}

train::LayerSamples layer_samples_of(Task& model, Task& old, size_t layer, const DataChoice& choice) {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> outputs;
  nn::listen(
      old.model(), [&] { old.forward(choice); },
      [&](const nn::AttentionRecord& call) {
        if (call.layer == layer) outputs.push_back(call.attention->forward(call.input, call.padding).out);
      });
  const std::vector<nn::AttentionRecord> calls = attention_calls(model, layer, choice);
  if (calls.empty() || calls.size() != outputs.size()) {
    throw Error("convert: layer " + std::to_string(layer + 1) + " of this task does not see whole sequences");
  }
  train::LayerSamples samples;
  for (size_t i = 0; i < calls.size(); ++i) {
    samples.add({.x = calls[i].input, .y = outputs[i], .padding = calls[i].padding});
  }
  return samples;
}

}  // namespace

EncoderLayers encoder_layers(torch::nn::Module& model) {
  EncoderLayers layers;
  for (const auto& module : model.modules()) {
    if (auto* layer = module->as<nn::EncoderLayerImpl>()) layers.push_back(layer);
  }
  return layers;
}

std::vector<size_t> layers_to_convert(const std::string& wanted, const EncoderLayers& layers, const std::string& run) {
  if (layers.empty()) throw Error(run + ": its model has no attention");
  if (std::ranges::all_of(layers, has_primal_attention)) throw Error(run + ": every layer is primal already");
  std::set<size_t> chosen;
  if (wanted == "all") {
    for (size_t i = 0; i < layers.size(); ++i) {
      if (!has_primal_attention(layers[i])) chosen.insert(i);
    }
  } else if (wanted == "last") {
    chosen.insert(layers.size() - 1);
  } else {
    for (const std::string& text : base::split_at_commas(wanted)) chosen.insert(place_of_layer(text, layers.size()));
  }
  if (chosen.empty()) throw Error("--layers: expected last, all or numbers from 1 on, got nothing");
  for (const size_t i : chosen) {
    if (!has_primal_attention(layers[i])) continue;
    throw Error("--layers " + wanted + ": layer " + std::to_string(i + 1) + " of " + run + " is primal already");
  }
  return {chosen.begin(), chosen.end()};
}

void take_other_weights(torch::nn::Module& model, torch::nn::Module& old, const std::vector<size_t>& layers) {
  std::set<std::string> own, olds;
  const EncoderLayers new_layers = encoder_layers(model), old_layers = encoder_layers(old);
  for (const size_t i : layers) {
    own.insert(name_prefix_of(model, new_layers.at(i)->attention->module()));
    olds.insert(name_prefix_of(old, old_layers.at(i)->attention->module()));
  }
  models::Tensors tensors;
  for (const auto& [name, tensor] : models::tensors_of(old)) {
    if (!has_any_prefix(name, olds)) tensors[name] = tensor;
  }
  for (const auto& [name, tensor] : models::tensors_of(model)) {
    if (has_any_prefix(name, own)) tensors[name] = tensor.clone();
  }
  models::load_tensors(model, tensors, "the new configuration does not fit the run");
}

std::vector<ConvertedLayer> learn_layers(Task& model, Task& old, const std::vector<size_t>& layers,
                                         const LearnRequest& request) {
  const EncoderLayers new_layers = encoder_layers(model.model()), old_layers = encoder_layers(old.model());
  std::vector<ConvertedLayer> converted;
  for (const size_t i : layers) {
    const std::string name = "layer " + std::to_string(i + 1);
    nn::Attention& was = *old_layers.at(i)->attention;
    PrimalAttentionImpl& primal = *new_layers.at(i)->attention->primal();
    if (request.say) request.say(name + ": what it does to the examples, closed forms");
    const train::LayerSamples samples = layer_samples_of(model, old, i, request.choice);
    train::DistilOptions options{.steps = request.steps, .seed = request.seed};
    if (request.say) {
      options.tell = [&](int64_t step, double share) {
        request.say(name + ", step " + std::to_string(step) + " of " + std::to_string(request.steps) + ": explains " +
                    base::format_percent(share));
      };
    }
    const train::DistilFacts facts = train::distil(primal, *was.module(), samples, options);
    converted.push_back({.name = name,
                         .kind = was.options().kind,
                         .rank = primal.options().rank,
                         .rows = primal.options().data_dependent.value_or(true) ? primal.we.size(1) : 0,
                         .random = facts.random,
                         .closed_form = facts.closed_form,
                         .distilled = facts.distilled,
                         .sequences = facts.sequences,
                         .tokens = facts.tokens,
                         .held_out = facts.held_out});
  }
  return converted;
}

}  // namespace primal::tasks
