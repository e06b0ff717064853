// convert.json: what a conversion has found, as a plain struct, a table and JSON.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "run/metric.h"

namespace primal::tasks {

/// A layer that became primal, and the shares of the variance of the old outputs that the new ones explain.
struct ConvertedLayer {
  std::string name;  ///< "layer 2"
  std::string kind;  ///< what it was: "softmax"
  int64_t rank = 0, rows = 0;
  double random = 0;       ///< random We and Wr, the rest by least squares
  double closed_form = 0;  ///< We and Wr from an SVD, the rest by least squares
  double distilled = 0;    ///< after gradient descent
  int64_t sequences = 0, tokens = 0;
  bool held_out = false;  ///< the shares are of sequences that only ridge, constant and step were chosen by
};

struct ConvertScore {
  double score = 0;
  std::optional<double> loss{};  ///< where the task tells one: it moves before the score does
  int64_t steps = -1;            ///< of training; -1: none
  double seconds = -1;           ///< likewise
};

// The scores of a conversion, in the order of its table.
inline constexpr const char* kBefore = "before";        ///< the run as it was
inline constexpr const char* kFreshLayers = "fresh";    ///< the new layers with random weights
inline constexpr const char* kConverted = "converted";  ///< the new layers once they have learnt
inline constexpr const char* kTuned = "tuned";          ///< after the training that follows
inline constexpr const char* kScratch = "scratch";      ///< random weights of the whole model, trained as long as that
inline constexpr const char* kScratchFull = "scratch_full";  ///< trained as long as the run was

struct Conversion {
  nlohmann::json request{};  ///< what was asked for: another request needs another folder
  std::string run{};
  std::string what{};  ///< "Transformer of runs/a becomes Primal.+ in runs/b"
  std::string data{};  ///< that the scores are of: "JapaneseVowels TEST, 370 series"
  run::Metric metric{};
  std::vector<ConvertedLayer> layers{};
  double seconds = 0;                            ///< of the conversion, without training
  std::map<std::string, ConvertScore> scores{};  ///< as far as they are known
};

nlohmann::json to_json(const Conversion& conversion);
/// From RUN/convert.json. Throws Error that names the file.
Conversion read_conversion(const std::filesystem::path& file);

/// Tables of the layers and of the scores.
std::string to_text(const Conversion& conversion);

}  // namespace primal::tasks
