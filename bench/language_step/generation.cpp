#include "language_step/generation.h"

#include <ATen/ATen.h>

#include <deque>
#include <span>

#include "models/generator.h"

namespace primal::bench {

namespace {

torch::Tensor random_ids(const LanguageSizes& sizes, int64_t count) {
  return torch::randint(sizes.vocabulary, {1, count}, torch::kLong);
}

void read(models::Generator& generator, const torch::Tensor& ids) {
  generator.read(std::span<const int64_t>(ids.data_ptr<int64_t>(), static_cast<size_t>(ids.numel())));
}

void write(models::Generator& generator, int64_t tokens) {
  for (int64_t i = 0; i < tokens; ++i) generator.next();
}

std::vector<WrittenTokens> measure_writing(const models::LanguageModel& model, const LanguageSizes& sizes,
                                           const GenerationOptions& options) {
  std::deque<models::Generator> generators;
  std::vector<WrittenTokens> written;
  for (const int64_t position : options.positions) {
    models::Generator& generator = generators.emplace_back(model, /*sequences=*/1, models::SamplingOptions{});
    read(generator, random_ids(sizes, position));
    written.push_back({.position = position, .state_bytes = generator.state_bytes()});
    write(generator, 2);  // the first draws, the second is the first that steps; a cache makes room then
  }
  for (int64_t round = 0; round < options.rounds; ++round) {
    for (size_t i = 0; i < written.size(); ++i) {
      const double seconds = seconds_of([&] { write(generators[i], options.tokens); });
      written[i].seconds.push_back(seconds / static_cast<double>(options.tokens));
    }
  }
  return written;
}

}  // namespace

Generated measure_generation(const LanguageSizes& sizes, const GenerationOptions& options) {
  const torch::NoGradGuard no_grad;
  models::LanguageModel model = language_model(sizes);
  model->eval();
  Generated result{.written = measure_writing(model, sizes, options)};
  const torch::Tensor prompt = random_ids(sizes, options.prompt);
  const auto read_prompt = [&] {
    models::Generator generator(model, /*sequences=*/1, models::SamplingOptions{});
    read(generator, prompt);
  };
  const auto pass = [&] { model->forward(prompt); };
  read_prompt();
  pass();
  for (int64_t round = 0; round < options.rounds; ++round) {
    result.prompt_seconds.push_back(seconds_of(read_prompt));
    result.forward_seconds.push_back(seconds_of(pass));
  }
  return result;
}

}  // namespace primal::bench
