// Compiled once for every CPU target by Highway's foreach_target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/bfloat16.cpp"
#include "kernels/bfloat16.h"

#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <bit>

HWY_BEFORE_NAMESPACE();
namespace primal::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Words = hn::ScalableTag<uint32_t>;
using Integers = hn::RebindToSigned<Words>;
using Halves = hn::Rebind<uint16_t, Words>;

void widen_all(const uint16_t* HWY_RESTRICT from, int64_t count, float* HWY_RESTRICT to) {
  const Words words;
  const hn::RebindToFloat<Words> floats;
  const auto lanes = static_cast<int64_t>(hn::Lanes(words));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto bits = hn::PromoteTo(words, hn::LoadU(Halves(), from + i));
    hn::StoreU(hn::BitCast(floats, hn::ShiftLeft<16>(bits)), floats, to + i);
  }
  for (; i < count; ++i) to[i] = std::bit_cast<float>(static_cast<uint32_t>(from[i]) << 16);
}

constexpr uint32_t kWithoutSign = 0x7fffffff, kInfinity = 0x7f800000, kQuietNan = 0x7fc0;

void narrow_all(const float* HWY_RESTRICT from, int64_t count, uint16_t* HWY_RESTRICT to) {
  const Words words;
  const Integers integers;
  const hn::RebindToFloat<Words> floats;
  const auto lanes = static_cast<int64_t>(hn::Lanes(words));
  const auto one = hn::Set(words, 1), half = hn::Set(words, 0x7fff);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto bits = hn::BitCast(words, hn::LoadU(floats, from + i));
    const auto odd = hn::And(hn::ShiftRight<16>(bits), one);
    const auto rounded = hn::BitCast(integers, hn::ShiftRight<16>(hn::Add(hn::Add(bits, half), odd)));
    const auto magnitude = hn::BitCast(integers, hn::And(bits, hn::Set(words, kWithoutSign)));
    const auto is_nan = hn::Gt(magnitude, hn::Set(integers, static_cast<int32_t>(kInfinity)));
    const auto result = hn::IfThenElse(is_nan, hn::Set(integers, static_cast<int32_t>(kQuietNan)), rounded);
    hn::StoreU(hn::DemoteTo(Halves(), result), Halves(), to + i);
  }
  for (; i < count; ++i) {
    const auto bits = std::bit_cast<uint32_t>(from[i]);
    const bool is_nan = (bits & kWithoutSign) > kInfinity;
    to[i] = static_cast<uint16_t>(is_nan ? kQuietNan : (bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
  }
}

}  // namespace primal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace primal::kernels {

HWY_EXPORT(widen_all);
HWY_EXPORT(narrow_all);

void widen_bfloat16(const uint16_t* from, int64_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(widen_all)(from, count, to);
}

void narrow_to_bfloat16(const float* from, int64_t count, uint16_t* to) {
  HWY_DYNAMIC_DISPATCH(narrow_all)(from, count, to);
}

}  // namespace primal::kernels
#endif
