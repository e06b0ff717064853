#include "primal/language_model.h"

#include <cmath>
#include <numeric>
#include <utility>

#include "inference/generator_file.h"
#include "inference/trained_language.h"
#include "inference/writer.h"
#include "models/generator.h"

namespace primal {

struct LanguageModel::Impl {
  inference::TrainedLanguage trained;
};

/// Samples side by side and what they remember.
struct TextStream::Impl {
  Impl(const inference::TrainedLanguage& from, const GenerateOptions& with, int64_t count)
      : trained(from), options(with), samples(count) {
    if (samples < 1) throw Error("generate: expected at least 1 sample, got " + std::to_string(samples));
    if (options.tokens < 0) throw Error("generate: expected 0 tokens or more, got " + std::to_string(options.tokens));
    restart();
  }

  /// A generator that has read nothing.
  void restart() {
    writer.reset();
    generator.emplace(trained.model, samples,
                      models::SamplingOptions{.temperature = options.temperature,
                                              .top_k = options.top_k,
                                              .top_p = options.top_p,
                                              .repetition = options.repetition,
                                              .seed = options.seed},
                      inference::never_written(*trained.coder, *trained.model));
  }
  void go_on_from(const std::vector<inference::SamplePlace>& places) {
    writer.emplace(*generator, *trained.coder, places,
                   inference::WritingOptions{.tokens = options.tokens, .stops = options.stops});
  }
  void read(std::string_view text) {
    const std::vector<int32_t> encoded = inference::ids_of(trained, text, options.unknown_words);
    std::vector<int64_t> ids(encoded.begin(), encoded.end());
    if (!writer) ids.insert(ids.begin(), trained.coder->end());
    generator->read(ids);
    go_on_from(ids.empty() ? writer->places()
                           : std::vector(static_cast<size_t>(samples),
                                         inference::SamplePlace{.last = static_cast<int32_t>(ids.back())}));
  }

  inference::TrainedLanguage trained;
  GenerateOptions options;
  int64_t samples;
  std::optional<models::Generator> generator;
  std::optional<inference::TextWriter> writer;  // refers to the generator
};

TextStream::TextStream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TextStream::TextStream(TextStream&&) noexcept = default;
TextStream& TextStream::operator=(TextStream&&) noexcept = default;
TextStream::~TextStream() = default;

void TextStream::read(std::string_view text) { impl_->read(text); }

std::optional<std::string> TextStream::next() {
  inference::TextWriter& writer = *impl_->writer;
  while (!writer.is_done()) {
    std::string piece = std::move(writer.step().front());
    if (!piece.empty()) return piece;
  }
  std::string rest = std::move(writer.finish().front());
  return rest.empty() ? std::nullopt : std::optional(std::move(rest));
}

void TextStream::save(const std::filesystem::path& path) const {
  inference::save_generator(*impl_->generator, impl_->writer->places(), path, impl_->trained.weights);
}

void TextStream::load(const std::filesystem::path& path) {
  auto fresh = std::make_unique<Impl>(impl_->trained, impl_->options, impl_->samples);
  const inference::SavedGenerator saved(path, fresh->trained.weights, fresh->samples);
  fresh->go_on_from(saved.load_into(*fresh->generator));
  impl_ = std::move(fresh);
}

int64_t TextStream::tokens() const { return impl_->generator->tokens(); }
int64_t TextStream::state_bytes() const { return impl_->generator->state_bytes(); }

LanguageModel::LanguageModel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

LanguageModel LanguageModel::load(const std::filesystem::path& run) {
  return LanguageModel(std::make_shared<const Impl>(Impl{inference::open_language(run)}));
}

TextStream LanguageModel::stream(std::string_view prompt, const GenerateOptions& options) const {
  auto impl = std::make_unique<TextStream::Impl>(impl_->trained, options, /*count=*/1);
  impl->read(prompt);
  return TextStream(std::move(impl));
}

std::string LanguageModel::generate(std::string_view prompt, const GenerateOptions& options) const {
  return generate(prompt, options, {});
}

std::string LanguageModel::generate(std::string_view prompt, const GenerateOptions& options,
                                    const std::function<bool(std::string_view piece)>& more) const {
  const TextStream stream = this->stream(prompt, options);
  const auto told = [&](size_t /*sample*/, std::string_view piece) { return !more || more(piece); };
  return std::move(inference::write_text(*stream.impl_->writer, told).texts.at(0));
}

std::vector<std::string> LanguageModel::samples(std::string_view prompt, int64_t count,
                                                const GenerateOptions& options) const {
  TextStream::Impl all(impl_->trained, options, count);
  all.read(prompt);
  return inference::write_text(*all.writer).texts;
}

std::vector<TokenScore> LanguageModel::score(std::string_view text) const {
  const std::vector<int32_t> ids = inference::ids_of(impl_->trained, text);
  const std::vector<double> surprise = inference::surprise_of(impl_->trained, ids);
  data::TextDecoder decoder(*impl_->trained.coder);
  std::vector<TokenScore> scores;
  for (size_t i = 0; i < ids.size(); ++i) scores.push_back({.text = decoder.add(ids[i]), .surprise = surprise[i]});
  return scores;
}

double LanguageModel::perplexity(std::string_view text) const {
  const std::vector<double> surprise = inference::surprise_of(impl_->trained, inference::ids_of(impl_->trained, text));
  if (surprise.empty()) throw Error("perplexity: expected text, got none");
  return std::exp(std::accumulate(surprise.begin(), surprise.end(), 0.0) / static_cast<double>(surprise.size()));
}

std::vector<int64_t> LanguageModel::tokens(std::string_view text) const {
  const std::vector<int32_t> ids = inference::ids_of(impl_->trained, text);
  return {ids.begin(), ids.end()};
}

int64_t LanguageModel::vocabulary_size() const { return impl_->trained.coder->size(); }
std::string_view LanguageModel::unit() const { return impl_->trained.coder->unit(); }

}  // namespace primal
