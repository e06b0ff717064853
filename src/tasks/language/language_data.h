// The texts of a language model as tokens, and what a run writes down of them: RUN/data.json.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "data/text/language_sets.h"
#include "data/text/text_coder.h"
#include "data/text/token_stream.h"
#include "tasks/family.h"
#include "tasks/language/config.h"

namespace primal::tasks {

struct LanguageFacts {
  std::string name;                        ///< "wikitext-2", or the name of the user's own file
  std::shared_ptr<data::TextCoder> coder;  ///< made from TRAIN
  std::string fingerprint;                 ///< of TRAIN and the validation part
  std::string test_fingerprint{};          ///< of TEST, if it was read
};

nlohmann::json to_json(const LanguageFacts& facts);
/// Reads data.json. Throws Error with the path.
LanguageFacts read_language_facts(const std::filesystem::path& path);

/// The parts of one set of texts, each encoded when it is first asked for: a search for options never reads TEST.
class LanguageData {
 public:
  /// coder: of a trained run; else it is made from TRAIN.
  LanguageData(const LanguageConfig& config, const Opening& opening, std::shared_ptr<data::TextCoder> coder = {});

  const std::string& name() const { return parts_.name; }
  const std::shared_ptr<data::TextCoder>& coder() const { return coder_; }
  const data::TokenStream& part(Part part);
  /// Changes with any token of these parts.
  std::string fingerprint();
  std::string test_fingerprint();
  /// What the user should know of the encoding.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  data::TokenStream encoded(const std::string& part, const std::vector<data::TextPiece>& pieces);

  LanguageConfig config_;
  base::Progress* progress_;
  data::LanguageParts parts_;
  std::shared_ptr<data::TextCoder> coder_;
  std::optional<data::TokenStream> train_, validation_, test_;
  std::vector<std::string> notes_;
};

/// A file as one document, encoded by the coder of a run; "-" is standard input.
data::TokenStream encoded_file(const std::filesystem::path& file, const data::TextCoder& coder);

}  // namespace primal::tasks
