#include "tasks/language/data_info.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/format.h"
#include "data/text/language_sets.h"
#include "data/text/split_words.h"
#include "data/text/word_counts.h"

namespace primal::tasks {

namespace {

/// Of the sets that are published as words.
class TrainWords {
 public:
  TrainWords() = default;
  explicit TrainWords(std::vector<data::WordCount> counts) : counts_(std::move(counts)) {
    for (const data::WordCount& counted : counts_) words_.insert(counted.word);
    words_.erase(data::WordCoder::kUnknownWord);
  }
  TrainWords(const TrainWords&) = delete;  // words_ points into counts_
  TrainWords& operator=(const TrainWords&) = delete;

  int64_t size() const { return std::ssize(words_); }
  bool has(std::string_view word) const { return words_.contains(word); }

 private:
  std::vector<data::WordCount> counts_;
  std::unordered_set<std::string_view> words_;
};

nlohmann::json text_part_json(const std::string& part, const std::vector<data::TextPiece>& pieces,
                              data::Documents documents, const TrainWords* vocabulary) {
  const std::vector<data::TextSource> sources = data::open_pieces(pieces);
  int64_t count = 0, words = 0, lines = 0, unknown = 0;
  for (const data::TextChunk& chunk : data::chunks_of(sources, documents)) {
    count += chunk.begins_document;
    data::split_words(
        chunk.text,
        [&](std::string_view word) {
          ++words;
          unknown += vocabulary != nullptr && !vocabulary->has(word);
        },
        [&] { ++lines; });
    lines += chunk.ends_document && !chunk.text.ends_with('\n');
  }
  nlohmann::json json = {{"part", part},       {"files", sources.size()},
                         {"documents", count}, {"bytes", data::bytes_of(sources)},
                         {"words", words},     {"lines", lines}};
  if (vocabulary != nullptr) json["unknown"] = unknown;
  return json;
}

std::string text_part_text(const nlohmann::json& part) {
  const auto whole = [&](const char* key) { return part.at(key).get<int64_t>(); };
  std::string text = part.at("part").get<std::string>() +
                     base::printed("\n  documents %ld\n  bytes     %ld\n  words     %ld\n  lines     %ld\n",
                                   whole("documents"), whole("bytes"), whole("words"), whole("lines"));
  if (part.contains("vocabulary")) text += base::printed("  different %ld words\n", whole("vocabulary"));
  if (part.contains("unknown")) {
    const double share = static_cast<double>(whole("unknown")) / static_cast<double>(std::max(whole("words"), 1L));
    text += base::printed("  unknown   %ld words, %s\n", whole("unknown"), base::format_percent(share, 2).c_str());
  }
  return text;
}

}  // namespace

std::vector<DataSet> language_data_sets(const data::SearchPath& search) {
  std::vector<DataSet> sets;
  for (const data::LanguageSet& set : data::language_sets()) {
    if (const auto place = data::find_language_set(set.name, search)) sets.push_back({"language/" + set.name, *place});
  }
  return sets;
}

std::optional<DataInfo> language_info(const std::string& name, const data::SearchPath& search) {
  const auto sets = data::language_sets();
  const auto set =
      std::ranges::find_if(sets, [&](const data::LanguageSet& one) { return "language/" + one.name == name; });
  if (set == sets.end()) return std::nullopt;
  const data::LanguageParts parts = data::language_parts(set->name, search);
  DataInfo info{
      .text = name + ": " + set->help + "\n" + data::find_language_set(set->name, search).value_or("").string() + "\n",
      .json = nlohmann::json::array()};
  const bool is_words = parts.documents == data::Documents::articles;
  const TrainWords known(is_words ? data::count_words(parts.train) : std::vector<data::WordCount>());
  for (const auto& [part, pieces] :
       {std::pair{"TRAIN", &parts.train}, {"validation", &parts.validation}, {"TEST", &parts.test}}) {
    nlohmann::json json = text_part_json(part, *pieces, parts.documents, is_words ? &known : nullptr);
    if (is_words && pieces == &parts.train) json["vocabulary"] = known.size();
    info.text += text_part_text(json);
    info.json.push_back(std::move(json));
  }
  return info;
}

}  // namespace primal::tasks
