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

}  // namespace

GenerateResult generate(const GenerateRequest& request) {
  const Trained trained = open_trained(request.run, /*data=*/"", request.threads);
  const auto* task = dynamic_cast<const LanguageTask*>(trained.task.get());
  if (task == nullptr) {
    throw Error(request.run.string() + ": expected a run of the family language, got one of " +
                std::string(trained.resolved.family->name));
  }
  const data::TextCoder& coder = task->coder();
  std::vector<int32_t> prompt;
  coder.encode(request.prompt, request.prompt_name, prompt, {.strict = !request.unknown_words});

  models::Generator generator(task->language_model(), request.samples, request.sampling,
                              inference::never_written(coder));
  const std::string weights =
      request.load_state || request.save_state ? inference::weights_fingerprint(*task->language_model()) : "";
  int32_t last = coder.end();
  std::vector<int64_t> ids;
  if (request.load_state) {
    last = inference::load_generator(generator, *request.load_state, weights, request.samples);
  } else {
    ids.push_back(last);
  }
  ids.insert(ids.end(), prompt.begin(), prompt.end());
  if (!prompt.empty()) last = prompt.back();

  GenerateResult result{.texts = {}, .prompt_tokens = std::ssize(ids)};
  const Stopwatch reading;
  generator.read(ids);
  result.prompt_seconds = reading.seconds();
  const Stopwatch writing;
  inference::TextWriter writer(generator, coder, request.samples, last, request.writing);
  inference::Written written = inference::write_text(writer, request.more);
  result.seconds = writing.seconds();
  result.texts = std::move(written.texts);
  result.tokens = written.tokens;
  result.stopped = written.stopped;
  result.state_bytes = generator.state_bytes();
  if (request.save_state) {
    inference::save_generator(generator, written.last, *request.save_state, weights, request.samples);
  }
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
