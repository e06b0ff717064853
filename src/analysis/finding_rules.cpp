#include "analysis/finding_rules.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/format.h"

namespace primal::analysis {
namespace {

std::string percent(double share) { return base::printed("%.1f %%", 100 * share); }

/// As a score of this run is written.
std::string score(const RunFacts& facts, double value) { return run::format_score(facts.metric, value); }

bool is_regression(const RunFacts& facts) { return facts.metric == run::r2_metric(); }

/// "epoch 12", or "step 350" where a record ends no pass over the training part.
std::string when(const RunFacts& facts, std::size_t record) {
  const double epoch = record < facts.epoch.size() ? facts.epoch[record] : std::nan("");
  if (epoch == std::floor(epoch)) return base::printed("epoch %.0f", epoch);
  return base::printed("step %lld", static_cast<long long>(facts.step[record]));
}

/// The record that ends with this step; nothing if there is none.
std::optional<std::size_t> record_at(const RunFacts& facts, std::int64_t step) {
  const auto found = std::ranges::find(facts.step, step);
  if (found == facts.step.end()) return std::nullopt;
  return static_cast<std::size_t>(found - facts.step.begin());
}

double effective_rank_of(const LayerFacts& layer) { return std::max(layer.effective_rank_e, layer.effective_rank_r); }

std::string ranks(const LayerFacts& layer) {
  return base::printed("The scores e and r use %.1f and %.1f of the s = %lld directions (effective rank).",
                       layer.effective_rank_e, layer.effective_rank_r, static_cast<long long>(layer.rank));
}

/// Means nothing if there is no value, or only NaN.
double largest(const std::vector<double>& values) {
  double result = std::nan("");
  for (double value : values) result = std::fmax(result, value);
  return result;
}

std::string advice_for_nothing_learned(bool learns_training_data) {
  return learns_training_data
             ? "The model learns its training data but nothing that carries over: check that TRAIN and TEST belong "
               "together, then try a smaller model, dropout or more data."
             : "The model does not learn: try another learning rate, eta = 0, and a look at the data (scaling, labels, "
               "missing values).";
}

}  // namespace

std::optional<Finding> gave_up(const RunFacts& facts) {
  if (facts.failure.empty()) return std::nullopt;
  const std::size_t advice = std::min(facts.failure.find("; "), facts.failure.size());
  return Finding{Severity::warning, "The run gave up", "It stopped: " + facts.failure.substr(0, advice) + ".",
                 advice == facts.failure.size()
                     ? "Look for NaN or huge values in the data."
                     : "You could " + facts.failure.substr(advice + 2) + ", and look for huge values in the data."};
}

std::optional<Finding> no_spectra(const RunFacts& facts) {
  if (facts.spectra_failure.empty()) return std::nullopt;
  return Finding{Severity::note, "There are no spectra", "They could not be computed: " + facts.spectra_failure + ".",
                 "The result of the run does not depend on them. You could try primal analyze --examples 1."};
}

std::optional<Finding> loss_not_finite(const RunFacts& facts) {
  const auto bad = std::ranges::find_if(facts.task_loss, [](double loss) { return !std::isfinite(loss); });
  if (bad == facts.task_loss.end()) return std::nullopt;
  return Finding{Severity::warning, "The loss is not a finite number",
                 "The training loss of " + when(facts, static_cast<std::size_t>(bad - facts.task_loss.begin())) +
                     " is NaN or infinite. Nothing after it can be trusted.",
                 "Lower the learning rate or clip the gradient, and look for NaN or huge values in the data."};
}

std::optional<Finding> accuracy_at_chance(const RunFacts& facts) {
  const bool is_accuracy = facts.metric == run::accuracy_metric();
  if (!is_accuracy || !facts.test_score || facts.test_cases.size() < 2) return std::nullopt;
  const auto cases = static_cast<double>(std::reduce(facts.test_cases.begin(), facts.test_cases.end()));
  if (cases == 0) return std::nullopt;
  const double chance = static_cast<double>(*std::ranges::max_element(facts.test_cases)) / cases;
  const double limit = chance + kChanceErrors * std::sqrt(chance * (1 - chance) / cases);
  if (!(*facts.test_score <= limit)) return std::nullopt;

  const double training = largest(facts.score);
  const bool learns = training > limit;
  std::string text = "Test accuracy " + percent(*facts.test_score) +
                     "; always answering the most frequent class gives " + percent(chance) + ", and up to " +
                     percent(limit) + " is within its noise. ";
  if (std::isfinite(training)) text += "The best training accuracy is " + percent(training) + ".";
  return Finding{Severity::warning, "The accuracy is at chance", text, advice_for_nothing_learned(learns)};
}

std::optional<Finding> no_better_than_the_mean(const RunFacts& facts) {
  if (!is_regression(facts) || !facts.test_score || !(*facts.test_score <= 0)) return std::nullopt;
  const double training = largest(facts.score);
  std::string text = "Test R2 " + score(facts, *facts.test_score) + "; always answering the mean gives 0. ";
  if (std::isfinite(training)) text += "The best training R2 is " + score(facts, training) + ".";
  return Finding{Severity::warning, "No better than the mean", text,
                 advice_for_nothing_learned(training > kLearnsTarget)};
}

std::optional<Finding> eta_too_large(const RunFacts& facts) {
  const std::size_t epochs = std::min(facts.task_loss.size(), facts.ksvd.size());
  if (!(facts.eta > 0) || epochs < kEtaWindow) return std::nullopt;
  const bool best_is_one = (facts.metric.share && !facts.metric.lower_is_better) || is_regression(facts);
  if (best_is_one && !facts.score.empty() && facts.score.back() > kSolvedScore) return std::nullopt;
  for (std::size_t first = 0; first + kEtaWindow <= epochs; ++first) {
    const std::size_t last = first + kEtaWindow - 1;
    const double task = facts.task_loss[first], ksvd = facts.ksvd[first];
    const bool matters = facts.eta * ksvd >= kEtaShare * task;
    const bool ksvd_falls = facts.ksvd[last] <= kEtaKsvdFall * ksvd;
    const bool task_stays =
        facts.task_loss[last] >= kEtaTaskFall * task && facts.task_loss[epochs - 1] >= kEtaTaskLater * task;
    if (!matters || !ksvd_falls || !task_stays) continue;
    return Finding{
        Severity::warning, "eta is too large",
        "From " + when(facts, first) + " to " + when(facts, last) +
            base::printed(
                " the KSVD term J^2 fell from %.3g to %.3g, while the task loss went from %.4g to %.4g. With eta = "
                "%g the KSVD term was %.0f %% of the task loss.",
                ksvd, facts.ksvd[last], task, facts.task_loss[last], facts.eta, 100 * facts.eta * ksvd / task),
        base::printed("The optimizer serves J and not the task: try eta = %.2g or 0.", facts.eta / 10)};
  }
  return std::nullopt;
}

std::optional<Finding> overfitting(const RunFacts& facts) {
  const std::vector<double>& loss = facts.evaluation_loss;
  if (loss.size() < kOverfitEvaluations || facts.evaluation_step.size() != loss.size()) return std::nullopt;
  if (std::ranges::any_of(loss, [](double value) { return std::isnan(value); })) return std::nullopt;
  const auto lowest = static_cast<std::size_t>(std::ranges::min_element(loss) - loss.begin());
  const auto best = record_at(facts, facts.evaluation_step[lowest]);
  const auto last = record_at(facts, facts.evaluation_step.back());
  if (!best || !last || *last <= *best) return std::nullopt;
  const double training_then = facts.task_loss[*best], training_now = facts.task_loss[*last];
  const bool rises = loss.back() >= kOverfitRise * loss[lowest] && loss.back() >= kOverfitLoss;
  const bool learns_on = training_now <= kOverfitTrainFall * training_then;
  const bool early = static_cast<double>(facts.step[*best]) <= kOverfitEarly * static_cast<double>(facts.step[*last]);
  if (!rises || !learns_on || !early) return std::nullopt;

  std::string text = "The " + facts.evaluation_split + " loss was lowest at " + when(facts, *best) +
                     base::printed(" (%.4g) and rose to %.4g by ", loss[lowest], loss.back()) + when(facts, *last) +
                     base::printed(", while the training loss fell from %.4g to %.4g.", training_then, training_now);
  if (facts.evaluation_score.size() == loss.size() && std::isfinite(facts.evaluation_score.back())) {
    text += std::string(facts.metric.key == "accuracy" ? " The accuracy" : " " + facts.metric.name) + " went from " +
            score(facts, facts.evaluation_score[lowest]) + " to " + score(facts, facts.evaluation_score.back()) + ".";
  }
  return Finding{Severity::warning, "The model overfits", text,
                 "Train for a shorter time, or use more dropout, more weight decay, a smaller rank or fewer layers."};
}

std::optional<Finding> lambda_collapsed(const RunFacts& facts, std::size_t index) {
  const LayerFacts& layer = facts.layers[index];
  if (!(facts.eta > 0) || layer.lambda.empty() || facts.objective.empty()) return std::nullopt;
  if (index >= facts.objective.back().size()) return std::nullopt;
  double lambda = 0;
  for (const auto& head : layer.lambda) lambda = std::fmax(lambda, largest(head));
  const double objective = facts.objective.back()[index];
  if (!(lambda < kTinyLambda) || !(std::abs(objective) < kZeroObjective)) return std::nullopt;
  return Finding{
      Severity::warning, "Lambda has collapsed",
      base::printed("The largest Lambda is %.2g and J is %.2g: J is zero the trivial way, with Lambda = 0 and no "
                    "singular value found.",
                    lambda, objective),
      "Try a smaller eta, no weight decay on Lambda, or the softplus or exp form of Lambda, which have no zero "
      "to fall into."};
}

std::optional<Finding> rows_below_rank(const LayerFacts& layer) {
  if (layer.rows <= 0 || layer.rows >= layer.rank) return std::nullopt;
  return Finding{
      Severity::warning, "fewer sampled rows than the rank",
      base::printed("The weights are made of n = %lld rows of the input (N = %lld tokens), so at most %lld of the s = "
                    "%lld directions can differ.",
                    static_cast<long long>(layer.rows), static_cast<long long>(layer.tokens),
                    static_cast<long long>(layer.rows), static_cast<long long>(layer.rank)),
      base::printed(layer.tokens > layer.rows ? "Sample more rows, or set the rank to %lld or less."
                                              : "The sequences have no more rows: set the rank to %lld or less.",
                    static_cast<long long>(layer.rows))};
}

std::optional<Finding> rank_too_small(const LayerFacts& layer) {
  if (!(effective_rank_of(layer) > kFullRankShare * static_cast<double>(layer.rank))) return std::nullopt;
  return Finding{Severity::note, "the rank may be too small",
                 ranks(layer) + " The spectrum is nearly flat; nothing says that the kernel ends there.",
                 base::printed("Try a rank of %lld and see whether it gains.", 2 * static_cast<long long>(layer.rank))};
}

std::optional<Finding> rank_wasted(const LayerFacts& layer) {
  const double used = effective_rank_of(layer);
  if (!(used > 0) || !(used < kWastedRankShare * static_cast<double>(layer.rank))) return std::nullopt;
  return Finding{
      Severity::note, "most of the rank is unused", ranks(layer),
      base::printed("A rank of %.0f should do as well, and costs less time and memory.", std::ceil(2 * used))};
}

}  // namespace primal::analysis
