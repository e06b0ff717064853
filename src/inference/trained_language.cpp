#include "inference/trained_language.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_file.h"
#include "data/checkpoint_sums.h"
#include "data/text/check_utf8.h"
#include "data/text/coder_from_json.h"
#include "inference/generator_file.h"
#include "models/language_options_json.h"
#include "models/module_tensors.h"
#include "primal/error.h"
#include "primal/safetensors.h"

namespace primal::inference {

namespace fs = std::filesystem;

namespace {

nlohmann::json facts_of(const fs::path& run) {
  const fs::path file = run / "data.json";
  if (fs::exists(run / "seeds.json")) {
    throw Error(run.string() + ": holds the runs of several seeds; name one of them, seed-1 or so");
  }
  if (!fs::exists(file)) throw Error(run.string() + ": no run here (data.json is missing)");
  nlohmann::json facts = base::read_json(file);
  if (!facts.is_object() || !facts.contains("coder")) {
    throw Error(run.string() + ": expected a run of the family language, got one of another family");
  }
  if (!facts.contains("model")) throw Error(file.string() + ": field \"model\": is missing");
  return facts;
}

}  // namespace

TrainedLanguage open_language(const fs::path& run) {
  const nlohmann::json facts = facts_of(run);
  const std::string file = (run / "data.json").string();
  const fs::path best = run / "best";
  if (!fs::exists(best)) throw Error(run.string() + ": no model yet (best/ is missing)");
  TrainedLanguage trained;
  trained.coder = data::coder_from_json(facts.at("coder"), file);
  const auto options = models::language_options_from_json(facts.at("model"), file + ": model");
  if (options.vocabulary < trained.coder->size()) {
    throw Error(c10::str(file, ": the model has ", options.vocabulary, " ids, the coder ", trained.coder->size()));
  }
  try {
    trained.model = models::LanguageModel(options);
  } catch (const Error& error) {
    throw Error(file + ": model: " + error.what());
  }
  data::checked_state(best);
  const fs::path weights = best / data::kModelFile;
  models::load_tensors(*trained.model, load_safetensors(weights).tensors, weights.string());
  trained.model->eval();
  trained.weights = weights_fingerprint(*trained.model);
  return trained;
}

std::vector<int32_t> ids_of(const TrainedLanguage& trained, std::string_view text, bool unknown_words) {
  data::check_utf8(text, "text");
  std::vector<int32_t> ids;
  trained.coder->encode(text, "text", ids, {.strict = !unknown_words});
  return ids;
}

std::vector<double> surprise_of(const TrainedLanguage& trained, const std::vector<int32_t>& ids) {
  const torch::NoGradGuard no_grad;
  models::LanguageModel model = trained.model;
  const int64_t block = std::max<int64_t>(model->options().tokens, 1), count = std::ssize(ids);
  // What the model reads: the end of a text, then each token before the one to be told.
  torch::Tensor all = at::empty({1, count + 1}, at::kLong);
  all.data_ptr<int64_t>()[0] = trained.coder->end();
  std::ranges::copy(ids, all.data_ptr<int64_t>() + 1);
  std::vector<double> surprise;
  while (std::ssize(surprise) < count) {
    const int64_t scored = std::ssize(surprise), begin = std::max<int64_t>(0, scored - block / 2);
    const int64_t size = std::min(begin + block, count) - begin;
    const torch::Tensor features = model->forward(all.narrow(1, begin, size)).out;
    const torch::Tensor nll =
        model->loss(features, all.narrow(1, begin + 1, size)).nll.to(at::kDouble).contiguous().view({-1});
    surprise.insert(surprise.end(), nll.data_ptr<double>() + (scored - begin), nll.data_ptr<double>() + size);
  }
  return surprise;
}

}  // namespace primal::inference
