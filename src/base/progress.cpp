#include "base/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "base/format.h"

namespace primal::base {
namespace {

constexpr int kUsualWidth = 80;
/// Free columns on the right. The terminal writes "^C" there; in a full line it would begin a new one, and leave the
/// old.
constexpr int kMargin = 2;
constexpr double kRedrawSeconds = 0.1;
/// Long enough to even out a validation now and then, short enough to follow a machine that others start to use.
constexpr double kRecentSeconds = 30;
constexpr const char* kClearToEnd = "\x1b[K";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// By POSIX the first of the three that is set counts. Asking nl_langinfo() would need the program to set its locale,
/// which changes how every library in it prints numbers.
bool locale_is_utf8() {
  std::string locale = environment("LC_ALL");
  if (locale.empty()) locale = environment("LC_CTYPE");
  if (locale.empty()) locale = environment("LANG");
  std::transform(locale.begin(), locale.end(), locale.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
}

int terminal_width(int descriptor) {
  struct winsize size {};
  const bool known = ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsualWidth;
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

ProgressOptions progress_options(std::FILE* stream) {
  const int descriptor = ::fileno(stream);
  ProgressOptions options;
  options.stream = stream;
  options.terminal = ::isatty(descriptor) == 1 && environment("TERM") != "dumb";
  options.unicode = locale_is_utf8();
  options.colour = options.terminal && environment("NO_COLOR").empty();
  options.width = [descriptor] { return terminal_width(descriptor); };
  return options;
}

void RemainingTime::observe(double now, std::int64_t done_steps) {
  if (!started_ || done_steps < last_done_) {  // fewer than before: other work has begun
    *this = {};
    started_ = true;
  } else if (done_steps > last_done_) {
    // What is long ago fades from both sums alike, so that their ratio is an average at any time.
    const double seconds = now - last_time_;
    const double kept = std::exp(-seconds / kRecentSeconds);
    recent_seconds_ = recent_seconds_ * kept + seconds;
    recent_steps_ = recent_steps_ * kept + static_cast<double>(done_steps - last_done_);
  } else {
    return;  // the time of a step under way counts when it is done
  }
  last_time_ = now;
  last_done_ = done_steps;
}

double RemainingTime::seconds(std::int64_t steps_left) const {
  if (recent_steps_ <= 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(std::max<std::int64_t>(steps_left, 0)) * recent_seconds_ / recent_steps_;
}

Progress::Progress(ProgressOptions options) : options_(std::move(options)) {
  if (!options_.clock) options_.clock = steady_seconds;
  if (!options_.width) options_.width = [] { return kUsualWidth; };
  start_ = options_.clock();
}

Progress::~Progress() { finish(); }

void Progress::update(const ProgressState& state) {
  const double now = options_.clock();
  label_ = state.label.empty() ? options_.label : std::string(state.label);
  state_ = state;
  state_.label = label_;
  remaining_.observe(now, state.done_steps);
  state_.remaining_seconds = state.total_steps > 0 ? remaining_.seconds(state.total_steps - state.done_steps)
                                                   : std::numeric_limits<double>::quiet_NaN();
  state_.elapsed_seconds = now - start_;
  up_to_date_ = false;
  const double wait = options_.terminal ? kRedrawSeconds : options_.interval;
  if (!has_state_ || now - last_shown_ >= wait) show();
  has_state_ = true;
}

/// Begins at the left edge.
std::string Progress::bar() const {
  return "\r" + render(state_, options_.width() - kMargin, options_.unicode, options_.colour) + kClearToEnd;
}

void Progress::show() {
  write(options_.terminal ? bar() : render_plain(state_) + "\n");
  last_shown_ = options_.clock();
  up_to_date_ = true;
}

void Progress::line(std::string_view text) {
  const std::string ended = printable(text, /*lines=*/true) + "\n";
  const bool under_bar = options_.terminal && has_state_;
  write(under_bar ? "\r" + std::string(kClearToEnd) + ended + bar() : ended);
}

void Progress::finish() {
  if (!has_state_) return;
  if (!up_to_date_) show();
  if (options_.terminal) write("\n");
  has_state_ = false;
}

/// In one piece, so that no half line is seen. A stream that takes nothing (a closed pipe) must not end the training.
void Progress::write(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), options_.stream);
  std::fflush(options_.stream);
}

}  // namespace primal::base
