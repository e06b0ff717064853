#include "data/text/subword_coder.h"

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/json_fields.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "data/text/check_utf8.h"

#ifdef PRIMAL_HAVE_SENTENCEPIECE
#include <sentencepiece_processor.h>
#endif

namespace primal::data {

std::unique_ptr<SubwordCoder> read_subword_model(const std::filesystem::path& path) {
  require_subword_support(path.string());
  const base::MappedFile file(path, "a model of sentencepiece");
  return std::make_unique<SubwordCoder>(std::string(file.text()), path.string());
}

std::unique_ptr<SubwordCoder> subword_coder_from_json(const nlohmann::json& object, const std::string& where) {
  require_subword_support(where);
  const base::Fields fields(object, where);
  const auto model = base::bytes_of_base64(fields.text("model"));
  if (!model) fields.fail("model", "expected base64");
  return std::make_unique<SubwordCoder>(std::string(model->begin(), model->end()), where);
}

nlohmann::json SubwordCoder::to_json() const {
  const std::span bytes(reinterpret_cast<const uint8_t*>(model_.data()), model_.size());
  return {{"unit", unit()}, {"model", base::base64_of(bytes)}};
}

SubwordCoder::~SubwordCoder() = default;

int64_t SubwordCoder::size() const { return std::ssize(texts_); }

std::string SubwordCoder::text_of(int32_t id, std::optional<int32_t>) const {
  return texts_[static_cast<std::size_t>(id)];
}

#ifndef PRIMAL_HAVE_SENTENCEPIECE

struct SubwordCoder::Processor {};

void require_subword_support(std::string_view name) {
  base::fail(name, "this build has no subwords; install the Debian package libsentencepiece-dev and build again");
}

SubwordCoder::SubwordCoder(std::string, const std::string& where) { require_subword_support(where); }

void SubwordCoder::append_ids(std::string_view, std::string_view, std::vector<int32_t>&, const EncodeOptions&) const {}

void SubwordCoder::check_gives_back_text(const std::string&) const {}

#else

namespace {

constexpr std::string_view kBlank = "\u2581";  // how sentencepiece writes a blank

std::string with_blanks(std::string_view piece) {
  std::string text;
  for (std::size_t at = 0; at < piece.size();) {
    const bool is_blank = piece.substr(at).starts_with(kBlank);
    text += is_blank ? ' ' : piece[at];
    at += is_blank ? kBlank.size() : 1;
  }
  return text;
}

/// "<0x41>" is the byte 0x41.
char byte_of_piece(const std::string& piece) { return static_cast<char>(std::stoi(piece.substr(3, 2), nullptr, 16)); }

std::string text_of_piece(const sentencepiece::SentencePieceProcessor& processor, int id) {
  if (processor.IsControl(id)) return "";
  const std::string& piece = processor.IdToPiece(id);
  return processor.IsByte(id) ? std::string(1, byte_of_piece(piece)) : with_blanks(piece);
}

std::optional<int32_t> id_if_any(int id) { return id < 0 ? std::nullopt : std::optional<int32_t>(id); }

}  // namespace

struct SubwordCoder::Processor {
  sentencepiece::SentencePieceProcessor model;
};

void require_subword_support(std::string_view) {}

SubwordCoder::SubwordCoder(std::string model, const std::string& where)
    : model_(std::move(model)), processor_(std::make_unique<Processor>()) {
  sentencepiece::SentencePieceProcessor& processor = processor_->model;
  // An empty model is loaded without complaint, and its first use ends the program.
  const auto status = processor.LoadFromSerializedProto(model_);
  if (!status.ok() || processor.GetPieceSize() == 0) {
    base::fail(where, "is no model of sentencepiece: ", base::in_quotes(status.message()));
  }
  for (int id = 0; id < processor.GetPieceSize(); ++id) texts_.push_back(text_of_piece(processor, id));
  if (processor.eos_id() < 0) base::fail(where, "expected a model with an end, </s>, got one without");
  end_ = processor.eos_id();
  padding_ = id_if_any(processor.pad_id());
  unknown_ = id_if_any(processor.unk_id());
  line_end_ = processor.PieceToId("<0x0A>");
  check_gives_back_text(where);
}

void SubwordCoder::check_gives_back_text(const std::string& where) const {
  constexpr std::string_view kProbe = "  Two  blanks,\ta tab \u00c5\ufb01 \n\n \u2603end ";
  std::vector<int32_t> ids;
  append_ids(kProbe, where, ids, {});
  const std::string back = decode(ids);
  if (back == kProbe) return;
  base::fail(where, "expected a model that gives back the text as it was (identity normalisation, byte fallback, no ",
             "dummy prefix), got ", base::in_quotes(back), " for ", base::in_quotes(kProbe));
}

void SubwordCoder::append_ids(std::string_view text, std::string_view name, std::vector<int32_t>& ids,
                              const EncodeOptions& options) const {
  check_utf8(text, name, options.first_line);
  std::vector<int> line_ids;
  while (!text.empty()) {
    const std::size_t size = text.find('\n');
    const auto status = processor_->model.Encode(text.substr(0, size), &line_ids);
    if (!status.ok()) base::fail(name, "sentencepiece cannot encode: ", base::in_quotes(status.message()));
    ids.insert(ids.end(), line_ids.begin(), line_ids.end());
    if (size == text.npos) return;
    ids.push_back(line_end_);
    text.remove_prefix(size + 1);
  }
}

#endif

}  // namespace primal::data
