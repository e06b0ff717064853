// The configuration of a Long Range Arena run: every option with its default.
#pragma once

#include <cstdint>
#include <string>

#include "models/token_classifier.h"
#include "tasks/config.h"
#include "tasks/encoder_config.h"
#include "tasks/ksvd.h"

namespace primal::tasks {

/// What a grey value of 0 is.
enum class Black {
  pixel,    ///< a token like any other
  padding,  ///< published: as the number of padding is 0 too, black pixels are masked
};

/// How far the sequences of a batch are padded.
enum class PaddedTo {
  batch,  ///< to the longest of them
  full,   ///< published: to the longest that the model takes
};

struct LraDataOptions {
  std::string task = "listops";  ///< a name of lra_sources()
  int64_t tokens = 0;            ///< longer sequences are cut; 0 = as the task has it
  double validation = 0.1;       ///< share of TRAIN that the honest protocol holds out where a task has no such part
  Black black = Black::pixel;
  PaddedTo padded_to = PaddedTo::batch;
};

struct LraModelOptions : EncoderConfig {
  int64_t hidden = 128;    ///< of the head
  int64_t vocabulary = 0;  ///< ids; 0 = as many as there are
  models::TokenPooling pooling = models::TokenPooling::mean;
};

struct LraLossOptions : KsvdOptions {
  double label_smoothing = 0;
};

class LraConfig : public Config {
 public:
  std::string model_name() const override { return tasks::model_name(model); }
  /// Best weights by the validation part; the text task has none but TEST.
  train::Part published_selection() const override;

  LraDataOptions data;
  LraModelOptions model;
  LraLossOptions loss;

 protected:
  void add_own_settings(base::Settings& settings) override;
  void check_own() const override;
  std::vector<std::string> too_large() const override { return tasks::too_large(loss); }
};

}  // namespace primal::tasks
