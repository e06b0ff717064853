// The moving average on the CPU: chunks of tokens, scanned by the kernel, and their sums carried on in double.
//
// A chunk is kernels::kScanRows tokens. The sums at its end are the sums of its own tokens, in the dtype of the pass,
// plus those before it times a^tokens, in double and from the time scale itself: neither rounding nor powers of a
// rounded a grow with the sequence. Chunks and channels are cut the same way for any number of threads.
#pragma once

#include "ops/moving_average/moving_average.h"

namespace primal::ops {

MovingAverage moving_average_on_cpu(const MovingAverageArguments& arguments);
/// Without the share of the state after the last token.
MovingAverageGradients moving_average_gradients_on_cpu(const MovingAverageArguments& arguments,
                                                       const at::Tensor& out_gradient);

}  // namespace primal::ops
