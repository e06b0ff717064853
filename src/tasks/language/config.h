// The configuration of a language-model run: every option with its default.
#pragma once

#include <cstdint>
#include <string>

#include "models/language_model.h"
#include "tasks/config.h"
#include "tasks/encoder_config.h"
#include "tasks/ksvd.h"

namespace primal::tasks {

/// Where one training example ends and the next begins.
enum class Breaks {
  none,      ///< published: blocks of equal length, wherever they begin and end
  document,  ///< a block has tokens of one document only
};

struct LanguageDataOptions {
  std::string set = "python-source";  ///< a set of language_sets(); unused with files of one's own
  std::string train, validation, test;
  std::string unit = "words";   ///< words, bytes or subwords
  std::string subwords;         ///< model file of subwords; made from TRAIN if there is none
  int64_t subword_size = 8000;  ///< ids of a model that is made
  int64_t threshold = 1;        ///< rarer words of TRAIN are unknown
  int64_t most_words = 0;       ///< of the vocabulary; 0 = any
  int64_t bytes = 0;            ///< of a set that is cut: the first so many; 0 = all
  int64_t block = 512;          ///< tokens of an example
  Breaks breaks = Breaks::none;
};

struct LanguageModelConfig : EncoderConfig {
  models::Positions positions = models::Positions::sinusoidal;
  Activation activation = Activation::relu;
  models::AttentionInit attention_init = models::AttentionInit::as_layers;
  double attention_dropout = 0;      ///< of softmax weights
  std::string cutoff_word = "none";  ///< none: every word has a vector of the full width
  std::vector<double> cutoffs{};     ///< else ids at which narrower vectors begin (models/adaptive_tails.h)
  int64_t adaptive_factor = 4;
};

struct LanguageLossOptions : KsvdOptions {
  /// As published: eta times the KSVD loss is added to the sum over the tokens of a batch, not to their mean.
  bool eta_per_token = false;
  double label_smoothing = 0;
};

struct LanguageEvalOptions {
  int64_t context = 0;          ///< tokens that every scored token of TEST sees at least, where the text has so many
  int64_t sample_tokens = 200;  ///< of each of the samples in the report; 0 = none
};

class LanguageConfig : public Config {
 public:
  std::string model_name() const override { return tasks::model_name(model); }
  std::vector<OwnFile> own_files() override;
  /// The published runs choose by the validation part.
  train::Part published_selection() const override { return train::Part::validation; }
  bool has_own_files() const { return !data.train.empty(); }

  LanguageDataOptions data;
  LanguageModelConfig model;
  LanguageLossOptions loss;
  LanguageEvalOptions eval;

 protected:
  void add_own_settings(base::Settings& settings) override;
  void check_own() const override;
  std::vector<std::string> too_large() const override { return tasks::too_large(loss); }
};

/// padding: the id that stands for no token, if blocks have any.
models::LanguageModelOptions model_options(const LanguageConfig& config, int64_t vocabulary,
                                           std::optional<int64_t> padding);

}  // namespace primal::tasks
