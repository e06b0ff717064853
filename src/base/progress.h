// Progress: shows how far long work is, on a terminal or in a log.
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include "base/progress_line.h"

namespace primal::base {

struct ProgressOptions {
  std::FILE* stream = stderr;
  bool terminal = false;  ///< one line drawn over and over; else a line every `interval` seconds
  bool unicode = false;   ///< for the bar
  bool colour = false;    ///< on a terminal
  std::function<int()> width =
      nullptr;  ///< columns of the terminal, asked at every redraw: a window may change; empty: 80
  std::function<double()> clock = nullptr;  ///< seconds; empty: the steady clock
  double interval = 5;                      ///< seconds between two lines in a log
  std::string label = {};                   ///< where ProgressState has none
};

/// For this stream and environment: a terminal (but TERM=dumb is none), LC_ALL, LC_CTYPE and LANG for Unicode,
/// NO_COLOR.
ProgressOptions progress_options(std::FILE* stream = stderr);

/// How long the rest takes, from the speed of the last half minute or so.
class RemainingTime {
 public:
  /// The first call only starts the clock: steps done before it, by a run since resumed, took none of this time.
  void observe(double now, std::int64_t done_steps);
  /// NaN while no step has been seen.
  double seconds(std::int64_t steps_left) const;

 private:
  bool started_ = false;
  double last_time_ = 0;
  std::int64_t last_done_ = 0;
  double recent_seconds_ = 0;
  double recent_steps_ = 0;
};

/// The display; for one thread.
///
///   Progress progress(progress_options());
///   progress.update(state);           // once before the first step, then after each: it shows what it has time for
///   progress.line("best so far: 97.1 %");
///   progress.finish();
class Progress {
 public:
  explicit Progress(ProgressOptions options);
  /// Calls finish().
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Redraws at most ten times a second. In a log the first call writes a line at once, then one per interval.
  void update(const ProgressState& state);
  /// A permanent line, above the bar.
  void line(std::string_view text);
  /// Shows the last state if it was not shown yet, and ends its line. A later update() starts a new one.
  void finish();

 private:
  std::string bar() const;
  void show();
  void write(const std::string& text);

  ProgressOptions options_;
  ProgressState state_;
  std::string label_;  ///< what state_.label points to
  RemainingTime remaining_;
  double start_ = 0;
  double last_shown_ = 0;
  bool has_state_ = false;  ///< since the start or the last finish()
  bool up_to_date_ = true;  ///< nothing came after what is shown
};

}  // namespace primal::base
