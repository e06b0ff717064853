#include "kernels/cpu_features.h"

#include <algorithm>
#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace primal::kernels {

#if defined(__x86_64__)

namespace {

struct Registers {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

Registers cpuid(unsigned leaf, unsigned subleaf = 0) {
  Registers r;
  if (__get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d) == 0) return {};
  return r;
}

bool bit(unsigned word, int index) { return ((word >> index) & 1U) != 0; }

}  // namespace

std::string cpu_name() {
  std::array<char, 49> name{};
  for (size_t i = 0; i < 3; ++i) {
    const Registers r = cpuid(0x80000002U + static_cast<unsigned>(i));
    std::memcpy(&name[i * 16], &r, 16);
  }
  return std::string(name.data());
}

// Intel SDM vol. 2, CPUID: leaf 1 ECX, leaf 7 EBX/EDX, leaf 7.1 EAX. GCC 12's __builtin_cpu_supports knows no AMX.
std::vector<CpuFeature> cpu_features() {
  const Registers one = cpuid(1), seven = cpuid(7), seven_one = cpuid(7, 1);
  return {{"sse4.2", bit(one.c, 20)},     {"avx", bit(one.c, 28)},        {"fma", bit(one.c, 12)},
          {"avx2", bit(seven.b, 5)},      {"avx512f", bit(seven.b, 16)},  {"avx512dq", bit(seven.b, 17)},
          {"avx512bw", bit(seven.b, 30)}, {"avx512vl", bit(seven.b, 31)}, {"avx512_bf16", bit(seven_one.a, 5)},
          {"amx_tile", bit(seven.d, 24)}, {"amx_bf16", bit(seven.d, 22)}};
}

#else

std::string cpu_name() { return "unknown"; }
std::vector<CpuFeature> cpu_features() { return {}; }

#endif

bool cpu_has_bfloat16() {
  const auto features = cpu_features();
  return std::any_of(features.begin(), features.end(), [](const CpuFeature& feature) {
    return feature.present && (feature.name == "avx512_bf16" || feature.name == "amx_bf16");
  });
}

}  // namespace primal::kernels
