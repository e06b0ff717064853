// What the progress display shows, and how it looks.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace primal::base {

/// An empty number is not shown, nor is a NaN, except for the loss: that is news.
struct ProgressState {
  std::string_view counted = "epoch";  ///< what the head of the line counts: "epoch 12/100"
  std::int64_t epoch = 0;              ///< from 1
  std::int64_t epochs = 0;             ///< 0: nothing is counted
  std::int64_t step = 0;               ///< done in this epoch: the bar
  std::int64_t steps = 0;              ///< per epoch; 0: not known, and no bar
  std::int64_t done_steps = 0;         ///< of the whole run, with those before a resume
  std::int64_t total_steps = 0;        ///< 0: not known, and no ETA
  std::optional<double> loss = std::nullopt;
  std::string score_name = {};                     ///< "acc"
  std::string score = {};                          ///< "96.3 %"; empty: none is known
  std::optional<double> objective = std::nullopt;  ///< the KSVD objective J
  std::optional<double> tokens_per_second = std::nullopt;
  std::string_view label = {};  ///< before everything else

  // Filled in by Progress.
  double remaining_seconds = std::numeric_limits<double>::quiet_NaN();
  double elapsed_seconds = std::numeric_limits<double>::quiet_NaN();
};

/// One line of at most `width` columns, without a line end:
///   epoch 12/100 ━━━━━━━━━╺━━━━━  58 %  loss 0.231  acc 96.3 %  J 0.012  2.8k tok/s  ETA 2:31
/// The bar takes the room that the rest leaves. What does not fit is left out: tokens/s, J, ETA, score, loss, then
/// bar, percentage and label. ETA is for the whole run; when that is done its place tells the time it took.
std::string render(const ProgressState& state, int width, bool unicode, bool colour);

/// The same for a log file: no bar, no colour, any width.
std::string render_plain(const ProgressState& state);

}  // namespace primal::base
