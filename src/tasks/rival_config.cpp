#include "tasks/rival_config.h"

#include "base/text.h"

namespace primal::tasks {

namespace {

constexpr base::Names<nn::NystromStart, 2> kStartNames{
    {{"per_matrix", nn::NystromStart::per_matrix}, {"original", nn::NystromStart::original}}};

}  // namespace

void add_settings(base::Settings& settings, RivalConfig& rivals) {
  settings.add("attention.linear_normalised", &rivals.linear.normalised, "linear: false as in the published LRA code");
  settings.add("attention.linformer_rows", &rivals.linformer.rows, "linformer: what a sequence is mapped to",
               base::count_from(1));
  settings.add("attention.performer_features", &rivals.performer.features, "performer: random features",
               base::count_from(1));
  settings.add("attention.performer_redraw", &rivals.performer.redraw,
               "performer: training passes until they are drawn anew; 0 = never", base::count_from(0));
  settings.add("attention.nystrom_landmarks", &rivals.nystrom.landmarks, "nystrom: m", base::count_from(1));
  settings.add("attention.nystrom_kernel", &rivals.nystrom.kernel, "nystrom: tokens of the convolution, odd; 0 = none",
               base::count_from(0));
  settings.add("attention.nystrom_start", base::choice(rivals.nystrom.start, kStartNames),
               "nystrom: of the inverse; original couples the samples of a batch");
  settings.add("attention.flow_clamp", &rivals.flow_clamp, "flow: of the flow that leaves a source; 0 = none",
               base::at_least(0));
  settings.add("attention.window", &rivals.window.tokens, "window: tokens seen beside the own one, even",
               base::count_from(2));
  settings.add("attention.reformer_hashes", &rivals.reformer.hashes, "reformer: rounds", base::count_from(1));
  settings.add("attention.reformer_chunk", &rivals.reformer.chunk, "reformer: tokens that look at each other",
               base::count_from(1));
}

void check(const RivalConfig& rivals) {
  if (rivals.nystrom.kernel > 0 && rivals.nystrom.kernel % 2 == 0) {
    base::fail("attention.nystrom_kernel", "expected an odd number or 0, got ", rivals.nystrom.kernel);
  }
  if (rivals.window.tokens % 2 != 0) {
    base::fail("attention.window", "expected an even number, half of them on each side, got ", rivals.window.tokens);
  }
}

void apply(const RivalConfig& rivals, nn::AttentionOptions& options) {
  options.linear = rivals.linear;
  options.linformer = rivals.linformer;
  options.performer = rivals.performer;
  options.nystrom = rivals.nystrom;
  options.flow.clamp = rivals.flow_clamp > 0 ? std::optional(rivals.flow_clamp) : std::nullopt;
  options.window = rivals.window;
  options.reformer = rivals.reformer;
}

}  // namespace primal::tasks
