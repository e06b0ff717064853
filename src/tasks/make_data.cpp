#include "tasks/make_data.h"

#include "base/interrupt.h"

namespace primal::tasks {

std::filesystem::path default_folder(const DataMaker& maker) { return std::filesystem::path("data") / maker.name; }

bool make_data(const DataMaker& maker, MakeRequest request, base::Progress& progress) {
  const base::InterruptGuard guard;
  const std::string label = "making " + std::string(maker.name);
  request.stop = [&] { return guard.interrupted(); };
  request.progress = [&](int64_t done, int64_t of) {
    progress.update({.step = done, .steps = of, .done_steps = done, .total_steps = of, .label = label});
  };
  const bool is_done = maker.make(request);
  progress.finish();
  return is_done;
}

}  // namespace primal::tasks
