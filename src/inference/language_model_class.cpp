// torch.classes.primal.LanguageModel and TextStream: primal/language_model.h for Python, which makes it comfortable.
#include <torch/custom_class.h>
#include <torch/library.h>

#include <string>
#include <tuple>
#include <vector>

#include "primal/language_model.h"

namespace primal {
namespace {

using Strings = std::vector<std::string>;

/// Runs `work`; an Error reaches Python as ValueError.
template <typename Work>
auto with_value_error(const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    TORCH_CHECK_VALUE(false, error.what());
  }
}

/// Numbers of a kind travel together: tokens, top_k, seed, unknown_words; temperature, top_p, repetition.
GenerateOptions options_of(const std::vector<int64_t>& whole, const std::vector<double>& numbers, Strings stops) {
  TORCH_CHECK_VALUE(whole.size() == 4 && numbers.size() == 3, "generate: expected 4 whole numbers and 3 others, got ",
                    whole.size(), " and ", numbers.size());
  return {.tokens = whole[0],
          .temperature = numbers[0],
          .top_k = whole[1],
          .top_p = numbers[1],
          .repetition = numbers[2],
          .seed = static_cast<uint64_t>(whole[2]),
          .stops = std::move(stops),
          .unknown_words = whole[3] != 0};
}

struct StreamHolder : torch::CustomClassHolder {
  explicit StreamHolder(TextStream given) : stream(std::move(given)) {}

  void read(const std::string& text) {
    with_value_error([&] { stream.read(text); });
  }
  std::string next() {  // "" = the end
    return with_value_error([&] { return stream.next().value_or(""); });
  }
  void save(const std::string& path) {
    with_value_error([&] { stream.save(path); });
  }
  void load(const std::string& path) {
    with_value_error([&] { stream.load(path); });
  }

  TextStream stream;
};

struct ModelHolder : torch::CustomClassHolder {
  explicit ModelHolder(const std::string& run) : model(with_value_error([&] { return LanguageModel::load(run); })) {}

  Strings samples(const std::string& prompt, int64_t count, const std::vector<int64_t>& whole,
                  const std::vector<double>& numbers, const Strings& stops) {
    return with_value_error([&] { return model.samples(prompt, count, options_of(whole, numbers, stops)); });
  }
  c10::intrusive_ptr<StreamHolder> stream(const std::string& prompt, const std::vector<int64_t>& whole,
                                          const std::vector<double>& numbers, const Strings& stops) {
    return with_value_error(
        [&] { return c10::make_intrusive<StreamHolder>(model.stream(prompt, options_of(whole, numbers, stops))); });
  }
  std::tuple<Strings, std::vector<double>> score(const std::string& text) {
    std::tuple<Strings, std::vector<double>> result;
    for (TokenScore& token : with_value_error([&] { return model.score(text); })) {
      std::get<0>(result).push_back(std::move(token.text));
      std::get<1>(result).push_back(token.surprise);
    }
    return result;
  }
  double perplexity(const std::string& text) {
    return with_value_error([&] { return model.perplexity(text); });
  }
  std::vector<int64_t> tokens(const std::string& text) {
    return with_value_error([&] { return model.tokens(text); });
  }

  LanguageModel model;
};

using Stream = c10::intrusive_ptr<StreamHolder>;
using Model = c10::intrusive_ptr<ModelHolder>;

}  // namespace

TORCH_LIBRARY_FRAGMENT(primal, m) {
  m.class_<StreamHolder>("TextStream")
      .def("read", &StreamHolder::read)
      .def("next", &StreamHolder::next)
      .def("save", &StreamHolder::save)
      .def("load", &StreamHolder::load)
      .def("tokens", [](const Stream& self) { return self->stream.tokens(); })
      .def("state_bytes", [](const Stream& self) { return self->stream.state_bytes(); });
  m.class_<ModelHolder>("LanguageModel")
      .def(torch::init<const std::string&>())
      .def("samples", &ModelHolder::samples)
      .def("stream", &ModelHolder::stream)
      .def("score", &ModelHolder::score)
      .def("perplexity", &ModelHolder::perplexity)
      .def("tokens", &ModelHolder::tokens)
      .def("vocabulary_size", [](const Model& self) { return self->model.vocabulary_size(); })
      .def("unit", [](const Model& self) { return std::string(self->model.unit()); });
}

}  // namespace primal
