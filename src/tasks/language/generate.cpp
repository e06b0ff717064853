#include "tasks/language/generate.h"

#include <chrono>

#include "base/format.h"
#include "inference/generator_file.h"
#include "primal/error.h"
#include "tasks/language/task.h"
#include "tasks/trained.h"

namespace primal::tasks {

namespace {

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Some models are made for sequences of a certain length: better said before than in the middle of a text.
void check_length(const GenerateRequest& request, const models::LanguageModelImpl& model, int64_t before) {
  const std::optional<int64_t> most = model.most_tokens();
  if (!most || before + request.writing.tokens - 1 <= *most) return;
  throw Error(
      base::printed("%s: this model reads at most %ld tokens; there are %ld before what is written, and --tokens %ld",
                    request.run.c_str(), *most, before, request.writing.tokens));
}

// What was written is worth more than the state: an error is kept, not thrown.
std::exception_ptr save_if_possible(const models::Generator& generator, const inference::TextWriter& writer,
                                    const std::filesystem::path& path, const std::string& weights) {
  try {
    inference::save_generator(generator, writer.places(), path, weights);
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace

models::SamplingOptions SamplingChoice::over(models::SamplingOptions options) const {
  const auto take = [](const auto& given, auto& value) { value = given.value_or(value); };
  take(temperature, options.temperature);
  take(top_k, options.top_k);
  take(top_p, options.top_p);
  take(repetition, options.repetition);
  take(seed, options.seed);
  return options;
}

GenerateResult generate(const GenerateRequest& request) {
  const Trained trained = open_trained(request.run, /*data=*/"", request.threads);
  const auto* task = dynamic_cast<const LanguageTask*>(trained.task.get());
  if (task == nullptr) {
    throw Error(request.run.string() + ": expected a run of the family language, got one of " +
                std::string(trained.resolved.family->name));
  }
  const data::TextCoder& coder = task->coder();
  const models::LanguageModel& model = task->language_model();
  std::vector<int32_t> prompt;
  coder.encode(request.prompt, request.prompt_name, prompt, {.strict = !request.unknown_words});
  std::vector<int64_t> ids(prompt.begin(), prompt.end());

  const std::string weights = request.load_state || request.save_state ? inference::weights_fingerprint(*model) : "";
  std::optional<inference::SavedGenerator> saved;
  if (request.load_state) saved.emplace(*request.load_state, weights, request.samples);
  const models::SamplingOptions sampling = request.sampling.over(saved ? saved->sampling() : models::SamplingOptions{});
  models::Generator generator(model, request.samples, sampling, inference::never_written(coder, *model));
  std::vector<inference::SamplePlace> places(static_cast<size_t>(request.samples));
  if (saved) {
    places = saved->load_into(generator);
  } else {
    ids.insert(ids.begin(), coder.end());
  }
  if (!ids.empty()) places.assign(places.size(), {.last = static_cast<int32_t>(ids.back())});
  check_length(request, *model, generator.tokens() + std::ssize(ids));
  inference::TextWriter writer(generator, coder, places, request.writing);

  GenerateResult result{.texts = {}, .prompt_tokens = std::ssize(ids)};
  const Stopwatch reading;
  generator.read(ids);
  result.prompt_seconds = reading.seconds();
  const Stopwatch writing;
  inference::Written written = inference::write_text(writer, request.more, /*goes_on=*/request.save_state.has_value());
  result.seconds = writing.seconds();
  result.texts = std::move(written.texts);
  result.tokens = written.tokens;
  result.state_bytes = generator.state_bytes();
  if (request.save_state) result.unsaved = save_if_possible(generator, writer, *request.save_state, weights);
  return result;
}

std::string summary_of(const GenerateResult& result) {
  const auto rate = [](int64_t tokens, double seconds) {
    return base::printed("%ld tokens, %.0f tokens/s", tokens, static_cast<double>(tokens) / std::max(seconds, 1e-9));
  };
  return "read " + rate(result.prompt_tokens, result.prompt_seconds) + "; written " +
         rate(result.tokens, result.seconds) + "; state " +
         base::printed("%.1f KB", static_cast<double>(result.state_bytes) / 1000);
}

}  // namespace primal::tasks
