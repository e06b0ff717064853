// A trained model out of its run directory.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tasks/resolve.h"

namespace primal::tasks {

struct Trained {
  Resolved resolved;
  std::unique_ptr<Task> task;  ///< its model has the kept weights and is in evaluation mode
};

/// RUN/config.toml, data.json and best/. Throws Error, which names the file. Sets up the compute threads: `threads`, or
/// as the run had (0). `data`: as --data, for those who ask the task for its own data. `set`: "eval.KEY=VALUE", how it
/// is evaluated now.
Trained open_trained(const std::filesystem::path& run, const std::string& data, int64_t threads = 0,
                     const std::vector<std::string>& set = {});

/// A model with the weights of its seed under another configuration, but with the data of the run: of its training data
/// it knows what the run wrote down.
Trained open_changed(const std::filesystem::path& run, Resolved changed, const std::string& data);

/// The same model as it was before the first step: its weights are those of the run's seed.
Trained open_untrained(const std::filesystem::path& run, const std::string& data, int64_t threads = 0);

}  // namespace primal::tasks
