// The rules behind findings(): one function per signature, each with its threshold and the reason for it.
#pragma once

#include <cstddef>
#include <optional>

#include "analysis/finding.h"
#include "analysis/run_facts.h"

namespace primal::analysis {

/// A random or a flat spectrum has an effective rank of nearly s. Above this share of s the layer uses every direction
/// it was given, and there is no sign that it would not use more.
inline constexpr double kFullRankShare = 0.9;

/// Below this share even half the rank would leave the layer twice what it uses.
inline constexpr double kWastedRankShare = 0.25;

/// Lambda begins as the square of U[0, 1), with mean 1/3 and, for s = 30, a largest value of 0.94. If the largest has
/// fallen below this, the KSVD term no longer weighs any score.
inline constexpr double kTinyLambda = 1e-3;

/// J begins near 1/3 (data-dependent weights) or 1/(3 d), some 0.005 (data-independent). Below this it counts as zero.
inline constexpr double kZeroObjective = 1e-3;

/// Records, of a time-series run one per epoch, over which J^2 and the task loss are compared: long enough for the
/// noise of a small data set.
inline constexpr std::size_t kEtaWindow = 10;
/// J^2 falls to this share within the window ...
inline constexpr double kEtaKsvdFall = 0.5;
/// ... while the task loss stays above this share ...
inline constexpr double kEtaTaskFall = 0.99;
/// ... and has not made up for it by the end of the run (a slow start is no failure).
inline constexpr double kEtaTaskLater = 0.9;
/// eta J^2 must be at least this share of the task loss: a smaller term cannot hold the task back.
inline constexpr double kEtaShare = 0.1;
/// A training accuracy, or R2, above this is a solved task: its loss has nowhere to fall.
inline constexpr double kSolvedScore = 0.95;

/// The evaluation loss counts as risen above this multiple of its lowest value: epochs of small sets differ by less.
inline constexpr double kOverfitRise = 1.2;
/// Below this loss the series are as good as all recognised: that it rises from next to nothing says nothing.
inline constexpr double kOverfitLoss = 0.01;
/// In the same time the training loss must have fallen below this share.
inline constexpr double kOverfitTrainFall = 0.9;
/// The lowest evaluation loss lies in this first part of the run: a late one needs no shorter training.
inline constexpr double kOverfitEarly = 0.5;
/// With fewer evaluations a rise is not a trend.
inline constexpr std::size_t kOverfitEvaluations = 5;

/// An accuracy within this many standard errors of always answering the most frequent class is chance.
inline constexpr double kChanceErrors = 2;

/// A training R2 above this shows that the model learns something of its training targets.
inline constexpr double kLearnsTarget = 0.2;

std::optional<Finding> gave_up(const RunFacts& facts);
std::optional<Finding> no_spectra(const RunFacts& facts);
std::optional<Finding> loss_not_finite(const RunFacts& facts);
std::optional<Finding> accuracy_at_chance(const RunFacts& facts);
std::optional<Finding> no_better_than_the_mean(const RunFacts& facts);
std::optional<Finding> eta_too_large(const RunFacts& facts);
std::optional<Finding> overfitting(const RunFacts& facts);

/// Of one layer, which the title does not name. `layer` is an index into facts.layers.
std::optional<Finding> lambda_collapsed(const RunFacts& facts, std::size_t layer);
std::optional<Finding> rows_below_rank(const LayerFacts& layer);
std::optional<Finding> rank_too_small(const LayerFacts& layer);
std::optional<Finding> rank_wasted(const LayerFacts& layer);

}  // namespace primal::analysis
