#include "tasks/lra/lra_data.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/failure.h"
#include "base/json_fields.h"
#include "base/json_file.h"
#include "base/text.h"
#include "train/order.h"

namespace primal::tasks {

namespace {

void make_if_missing(const LraSource& source, const LraConfig& config, const Opening& opening) {
  if (source.maker == nullptr || opening.progress == nullptr || find_lra(source, opening.search)) return;
  const std::filesystem::path folder = default_folder(*source.maker);
  opening.progress->line("lra/" + source.name + " is not there: making it in " + folder.string());
  const MakeRequest request{.folder = folder, .threads = threads_of(config.run), .search = opening.search};
  if (!make_data(*source.maker, request, *opening.progress)) {
    throw base::Interrupted("interrupted; nothing was made, the next call begins anew");
  }
}

}  // namespace

int64_t tokens_of(const LraConfig& config) {
  return config.data.tokens > 0 ? config.data.tokens : lra_source(config.data.task).tokens;
}

nlohmann::json to_json(const LraFacts& facts) {
  return {{"name", facts.name},
          {"tokens", facts.tokens},
          {"classes", facts.classes},
          {"sequences", facts.per_example},
          {"fingerprint", facts.fingerprint},
          {"test_fingerprint", facts.test_fingerprint}};
}

LraFacts read_lra_facts(const std::filesystem::path& path) {
  const nlohmann::json json = base::read_json(path);
  const base::Fields fields(json, path.string());
  return {.name = fields.text("name"),
          .tokens = fields.whole("tokens"),
          .classes = fields.texts("classes"),
          .per_example = fields.whole("sequences"),
          .fingerprint = fields.text_if_any("fingerprint"),
          .test_fingerprint = fields.text_if_any("test_fingerprint")};
}

LraFacts facts_of(const LraConfig& config, const TokenParts& parts) {
  return {.name = "lra/" + config.data.task,
          .tokens = tokens_of(config),
          .classes = parts.train.classes,
          .per_example = parts.train.per_example,
          .fingerprint = fingerprint_of(parts.train) + fingerprint_of(parts.validation),
          .test_fingerprint = fingerprint_of(parts.test)};
}

TokenParts load_lra(const LraConfig& config, const Opening& opening) {
  const LraSource& source = lra_source(config.data.task);
  make_if_missing(source, config, opening);
  return source.read(locate_lra(source, opening.search), tokens_of(config));
}

void hold_out(TokenParts& parts, double share, uint64_t seed) {
  if (parts.validation.examples() > 0) return;
  const data::TokenSet& train = parts.train;
  std::vector<int64_t> kept, held_out, seen(train.classes.size(), 0), taken(train.classes.size(), 0);
  for (const int64_t example : train::shuffled(train.examples(), static_cast<int64_t>(seed), /*pass=*/-1)) {
    const size_t label = train.labels[static_cast<size_t>(example)];
    const auto wanted = static_cast<int64_t>(static_cast<double>(++seen[label]) * share);
    const bool is_taken = taken[label] < wanted;
    taken[label] += is_taken ? 1 : 0;
    (is_taken ? held_out : kept).push_back(example);
  }
  if (held_out.empty()) {
    base::fail("data.validation", "expected a share that holds at least one of ", train.examples(),
               " training examples out, got ", share);
  }
  // In the order of the file, so that the order of training is a matter of the trainer alone.
  std::ranges::sort(kept);
  std::ranges::sort(held_out);
  parts.validation = data::subset(train, held_out);
  parts.train = data::subset(train, kept);
}

}  // namespace primal::tasks
