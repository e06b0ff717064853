// Text as pieces of words, on sentencepiece. A build without it has these functions too; they throw primal::Error
// there.
//
// Models that give back the text as it was are taken, no others: a model trained with the identity normalisation, with
// bytes for rare characters and without a blank before the text, as train_subwords() (subword_training.h) makes them. A
// line end is the piece <0x0A>, so that a text is cut into lines and still decodes as a whole.
#pragma once

#include <filesystem>
#include <memory>

#include "data/text/text_coder.h"

namespace primal::data {

class SubwordCoder final : public TextCoder {
 public:
  /// model: the bytes of a model file. Throws primal::Error, "<where>: ...".
  SubwordCoder(std::string model, const std::string& where);
  ~SubwordCoder() override;

  std::string_view unit() const override { return "subwords"; }
  int64_t size() const override;
  int32_t end() const override { return end_; }
  std::optional<int32_t> padding() const override { return padding_; }
  std::optional<int32_t> unknown() const override { return unknown_; }
  /// The text of a piece; <0x41> is the byte. <s>, <pad> and </s> have no text. A letter U+2581 in a text, which
  /// sentencepiece writes for blanks, comes back as a blank.
  std::string text_of(int32_t id, std::optional<int32_t> before) const override;
  nlohmann::json to_json() const override;

 private:
  struct Processor;

  void append_ids(std::string_view text, std::string_view name, std::vector<int32_t>& ids,
                  const EncodeOptions& options) const override;
  void check_gives_back_text(const std::string& where) const;

  std::string model_;
  std::unique_ptr<Processor> processor_;
  int32_t end_ = 0, line_end_ = 0;
  std::optional<int32_t> padding_, unknown_;
  std::vector<std::string> texts_;  // of the pieces
};

/// Throws primal::Error, "<name>: ...", in a build without sentencepiece.
void require_subword_support(std::string_view name);

std::unique_ptr<SubwordCoder> read_subword_model(const std::filesystem::path& path);
std::unique_ptr<SubwordCoder> subword_coder_from_json(const nlohmann::json& object, const std::string& where);

}  // namespace primal::data
