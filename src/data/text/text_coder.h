// How text becomes the numbers that a language model sees, and how they become text again.
//
//   const std::unique_ptr<TextCoder> coder = coder_from_json(facts.at("coder"), "data.json");
//   std::vector<int32_t> ids;
//   coder->encode("The lobster is", "prompt", ids);
//   coder->decode(ids);                     // "The lobster is"
//
// Three kinds: word_coder.h, byte_coder.h, subword_coder.h.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace primal::data {

struct EncodeOptions {
  bool strict = false;     ///< a word outside the vocabulary is an error, not the unknown id
  int64_t first_line = 1;  ///< number of the first line of the text, for messages
};

class TextCoder {
 public:
  virtual ~TextCoder() = default;

  /// "words", "bytes" or "subwords".
  virtual std::string_view unit() const = 0;
  /// Ids are 0 .. size() - 1.
  virtual int64_t size() const = 0;
  /// Ends a line if ends_lines(), else a document. It also stands before the first token of a text.
  virtual int32_t end() const = 0;
  virtual bool ends_lines() const { return false; }
  virtual std::optional<int32_t> padding() const { return std::nullopt; }
  virtual std::optional<int32_t> unknown() const { return std::nullopt; }

  /// Appends the ids of a piece of text that may be continued: nothing is put before or after it. Pieces that end with
  /// a line end give the ids of the whole. Throws primal::Error, "<name>:<line>: ...", for what cannot be encoded; with
  /// `strict` the message names the first word outside the vocabulary and how many there are.
  void encode(std::string_view text, std::string_view name, std::vector<int32_t>& ids,
              const EncodeOptions& options = {}) const {
    append_ids(text, name, ids, options);
  }

  /// What an id adds to the text of the ids before it, of which `before` is the last, if there is any. It may be half
  /// of a character: see TextDecoder.
  virtual std::string text_of(int32_t id, std::optional<int32_t> before) const = 0;
  std::string decode(std::span<const int32_t> ids) const;
  /// Whether a text can have this id: not padding, nor one that fills the vocabulary up.
  virtual bool is_written(int32_t id) const { return id == end() || !text_of(id, std::nullopt).empty(); }

  /// All that coder_from_json() needs to make it again; goes into data.json of a run.
  virtual nlohmann::json to_json() const = 0;

  /// Changes with anything in to_json(): "words-33280-0123abcd".
  std::string fingerprint() const;

 private:
  virtual void append_ids(std::string_view text, std::string_view name, std::vector<int32_t>& ids,
                          const EncodeOptions& options) const = 0;
};

/// Text as it grows id by id, never half of a UTF-8 character:
///
///   TextDecoder decoder(coder);
///   while (...) print(decoder.add(next));
///   print(decoder.finish());
class TextDecoder {
 public:
  /// `before` is the last id of a text that is printed already, such as a prompt; held: see held().
  explicit TextDecoder(const TextCoder& coder, std::optional<int32_t> before = std::nullopt, std::string held = {})
      : coder_(coder), before_(before), held_(std::move(held)) {}

  /// What can be printed now. Bytes that are no UTF-8 come out as U+FFFD.
  std::string add(int32_t id);
  /// A character that was begun and never completed, as U+FFFD.
  std::string finish();
  /// The beginning of a character, of which the rest has not come yet.
  const std::string& held() const { return held_; }

 private:
  const TextCoder& coder_;
  std::optional<int32_t> before_;
  std::string held_;  // the beginning of a character
};

}  // namespace primal::data
