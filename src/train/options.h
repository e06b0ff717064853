// How a training goes: every option with its default.
#pragma once

#include <cstdint>
#include <string>

#include "base/span.h"
#include "train/autocast.h"
#include "train/order.h"

namespace primal::base {
class Settings;
}

namespace primal::train {

/// Which of the evaluated weights a run ends with.
enum class Keep { best, last };

struct TrainOptions {
  base::Span length = base::epochs(100);
  int64_t batch = 16;
  int64_t accumulate = 1;         ///< batches per step of the optimizer
  Passes passes = Passes::whole;  ///< over the training examples
  double clip = 0;                ///< largest norm of the gradient; 0 = any
  base::Span patience =
      base::epochs(0);  ///< without a better evaluation before a run that keeps the best ends; 0 = all
  double average = 0;   ///< decay of the moving average of the weights; 0 = none
  Keep keep = Keep::best;
  base::Span evaluate = base::epochs(1);  ///< between evaluations
  base::Span record = base::steps(0);  ///< between records, besides those at evaluations and ends of passes; 0 = none
  Precision precision = Precision::float32;
  int64_t seed = 1;
  std::string start_from{};  ///< a run, a checkpoint or a safetensors file with the first weights; empty: by the seed
  double checkpoint_seconds = 30;
  int64_t checkpoint_steps = 0;  ///< 0 = by seconds only
  int64_t checkpoints_kept = 2;
};

/// Makes them known as train.*
void add_settings(base::Settings& settings, TrainOptions& options);

}  // namespace primal::train
