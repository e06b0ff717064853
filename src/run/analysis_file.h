// analysis.json: the spectra of a run's primal layers, of the matrices of all its layers, and the time scales that they
// have learnt.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "run/matrix_facts.h"

namespace primal::run {

/// The spectrum of one primal layer, averaged over a set of samples.
struct LayerFacts {
  std::string name{};
  int64_t rank = 0;                           ///< s
  int64_t rows = 0;                           ///< sampled rows n; 0 = data-independent weights, nothing is sampled
  int64_t tokens = 0;                         ///< N
  int64_t heads = 0;                          ///< H
  std::vector<std::vector<double>> lambda{};  ///< [H][s], the positive Lambda of J
  std::vector<double> singular_values_e{};    ///< [s], falling
  std::vector<double> singular_values_r{};    ///< [s], falling
  double effective_rank_e = 0;
  double effective_rank_r = 0;
};

/// The time scales of one fading memory of a layer.
struct TimeScales {
  std::string layer{};           ///< "layer 1"
  std::string memory{};          ///< "forward" or "backward" in time; "q and k" of a causal attention
  std::vector<double> tokens{};  ///< of all channels and scales, rising
};

struct Spectra {
  std::vector<LayerFacts> layers{};
  std::vector<TimeScales> time_scales{};
  std::vector<MatrixFacts> matrices{};  ///< one per layer; empty: not looked at
  std::string matrices_of{};            ///< which samples: "the first 8 samples of a layer"
  std::string what{};                   ///< the data: "JapaneseVowels TRAIN, 32 series"; earlier files do not say
  std::string failure{};                ///< why there are no layers, if they could not be computed
};

nlohmann::json to_json(const Spectra& spectra);
/// Throws Error, "<file>: ...".
Spectra parse_analysis(std::string_view text, const std::string& file);

}  // namespace primal::run
