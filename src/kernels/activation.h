// Activations of a feed-forward part, and their gradients. GELU is the exact one, x Phi(x), not the tanh form.
#pragma once

#include <cstdint>

namespace primal::kernels {

enum class Activation { gelu, relu };

/// out = f(x). x and out may be the same.
void activate(Activation activation, const float* x, int64_t count, float* out);

/// value = f(x) and gradient *= f'(x), in one pass: both need the same exponential.
void activate_backward(Activation activation, const float* x, int64_t count, float* value, float* gradient);

}  // namespace primal::kernels
