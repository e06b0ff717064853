// What this CPU can do, as far as the kernels care.
#pragma once

#include <string>
#include <vector>

namespace primal::kernels {

struct CpuFeature {
  std::string name;
  bool present;
};

/// The processor's own name, e.g. "AMD EPYC 7B13".
std::string cpu_name();

/// avx2, fma, avx512f, avx512_bf16, amx_bf16, ... in this order, present or not.
std::vector<CpuFeature> cpu_features();

/// Whether it multiplies bfloat16 numbers itself: AVX512-BF16 or AMX.
bool cpu_has_bfloat16();

}  // namespace primal::kernels
