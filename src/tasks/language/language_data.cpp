#include "tasks/language/language_data.h"

#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "base/json_fields.h"
#include "base/json_file.h"
#include "base/progress.h"
#include "data/text/byte_coder.h"
#include "data/text/coder_from_json.h"
#include "data/text/encoded_stream.h"
#include "data/text/subword_coder.h"
#include "data/text/subword_training.h"
#include "data/text/word_counts.h"
#include "primal/error.h"

namespace primal::tasks {

namespace {

constexpr int64_t kLongText = 32 << 20;                // bytes: what is shorter is encoded at once
constexpr const char* kStreamFolder = "data/encoded";  // beside the sets of the working directory

std::shared_ptr<data::TextCoder> made_coder(const LanguageConfig& config, const data::LanguageParts& parts) {
  const LanguageDataOptions& options = config.data;
  const int64_t threads = threads_of(config.run);
  if (options.unit == "bytes") return std::make_shared<data::ByteCoder>();
  if (options.unit == "words") {
    return data::make_word_coder(parts.train, {.threshold = options.threshold, .most = options.most_words}, threads);
  }
  if (!options.subwords.empty()) return data::read_subword_model(options.subwords);
  const std::string model = data::train_subwords(parts.train, {.size = options.subword_size});
  return std::make_shared<data::SubwordCoder>(model, "subwords of " + parts.name);
}

std::function<void(int64_t, int64_t)> told_to(base::Progress* progress, const std::string& label) {
  if (progress == nullptr) return {};
  return [=](int64_t done, int64_t of) {
    if (of < kLongText) return;
    progress->update({.step = done, .steps = of, .done_steps = done, .total_steps = of, .label = label});
    if (done == of) progress->finish();
  };
}

}  // namespace

nlohmann::json to_json(const LanguageFacts& facts) {
  nlohmann::json json = {{"name", facts.name}, {"coder", facts.coder->to_json()}, {"fingerprint", facts.fingerprint}};
  if (!facts.test_fingerprint.empty()) json["test_fingerprint"] = facts.test_fingerprint;
  return json;
}

LanguageFacts read_language_facts(const std::filesystem::path& path) {
  const nlohmann::json json = base::read_json(path);
  const base::Fields fields(json, path.string());
  if (!json.contains("coder")) throw Error(path.string() + ": expected a field coder, got none");
  return {.name = fields.text("name"),
          .coder = data::coder_from_json(json.at("coder"), path.string()),
          .fingerprint = fields.text_if_any("fingerprint"),
          .test_fingerprint = fields.text_if_any("test_fingerprint")};
}

LanguageData::LanguageData(const LanguageConfig& config, const Opening& opening, std::shared_ptr<data::TextCoder> coder)
    : config_(config),
      progress_(opening.progress),
      parts_(config.has_own_files()
                 ? data::own_text(config.data.train, config.data.validation, config.data.test)
                 : data::language_parts(config.data.set, opening.search, static_cast<uint64_t>(config.data.bytes))),
      coder_(std::move(coder)) {
  if (!coder_) coder_ = made_coder(config_, parts_);
}

data::TokenStream LanguageData::encoded(const std::string& part, const std::vector<data::TextPiece>& pieces) {
  if (pieces.empty()) throw Error(parts_.name + " has no " + part + " part");
  data::StreamRequest request{.folder = kStreamFolder,
                              .name = parts_.name + "-" + part,
                              .pieces = pieces,
                              .documents = parts_.documents,
                              .threads = threads_of(config_.run),
                              .progress = told_to(progress_, "encoding " + parts_.name + ", " + part)};
  data::EncodedStream result = data::encoded_stream(request, *coder_);
  if (!result.note.empty()) notes_.push_back(result.note);
  if (result.stream.size() < 2) {
    throw Error(base::printed("%s: expected at least 2 tokens in its %s part, got %ld", parts_.name.c_str(),
                              part.c_str(), result.stream.size()));
  }
  return std::move(result.stream);
}

const data::TokenStream& LanguageData::part(Part part) {
  const auto get = [&](std::optional<data::TokenStream>& stream, const char* name,
                       const std::vector<data::TextPiece>& pieces) -> const data::TokenStream& {
    if (!stream) stream.emplace(encoded(name, pieces));
    return *stream;
  };
  if (part == Part::train) return get(train_, "train", parts_.train);
  if (part == Part::validation) return get(validation_, "validation", parts_.validation);
  return get(test_, "test", parts_.test);
}

std::string LanguageData::fingerprint() {
  return base::printed("%08x%08x", part(Part::train).checksum(), part(Part::validation).checksum());
}

std::string LanguageData::test_fingerprint() { return base::printed("%08x", part(Part::test).checksum()); }

data::TokenStream encoded_file(const std::filesystem::path& file, const data::TextCoder& coder) {
  data::TextPiece piece{.file = file};
  if (file == "-") {
    piece.file = "standard input";
    piece.text =
        std::make_shared<const std::string>(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  }
  const data::StreamRequest request{.folder = {}, .name = piece.file.filename().string(), .pieces = {piece}};
  return data::TokenStream::from_bytes(data::encode_pieces(request, coder, ""), piece.file.string(), "");
}

}  // namespace primal::tasks
