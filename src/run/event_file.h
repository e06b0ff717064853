// EventFile: metrics of a run for TensorBoard (`tensorboard --logdir RUNS`).
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

namespace primal::run {

/// The names of TensorBoard's files begin so.
inline constexpr std::string_view kEventsPrefix = "events.out.tfevents.";

/// Seconds since 1970, as events carry them.
double unix_time();

struct EventFileOptions {
  /// For a resumed run, the first step it does anew. TensorBoard then drops the events of this step and later ones from
  /// the run's earlier files, so that nothing appears twice. A run resumed after 40 steps has purge_step 41.
  std::optional<std::int64_t> purge_step = std::nullopt;
  /// Goes into the name of the file; the present if empty.
  std::optional<double> start_time = std::nullopt;
};

/// Writes `events.out.tfevents.<unix seconds>.<hostname>` into the run directory.
///
///   EventFile events("runs/1", {.purge_step = resumed_at + 1});
///   events.scalar("train/loss", 0.231, step);
///   events.flush();
///
/// Each EventFile is a new file, for a resumed run too: TensorBoard joins all files of a folder, in the order of their
/// names, and passes over a record cut off by a crash at the end of one. The new file's name therefore sorts after all
/// others of the folder, whatever the clock and the hostname say. Errors are primal::Error and name the file.
class EventFile {
 public:
  explicit EventFile(const std::filesystem::path& run_directory, const EventFileOptions& options = {});

  /// The format holds floats: the value is rounded to one.
  void scalar(std::string_view tag, double value, std::int64_t step, double wall_time = unix_time());
  /// Markdown for TensorBoard's text page.
  void text(std::string_view tag, std::string_view text, std::int64_t step, double wall_time = unix_time());
  /// Hands everything to the system, where TensorBoard sees it. The destructor does so too, but cannot report a full
  /// disk.
  void flush();

  const std::filesystem::path& path() const { return path_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  void write_record(std::string_view event);

  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace primal::run
