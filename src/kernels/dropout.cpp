// Compiled once for every CPU target by Highway's foreach_target; every target draws the same numbers.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/dropout.cpp"
#include "kernels/dropout.h"

#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace primal::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Words = hn::ScalableTag<uint32_t>;
using Floats = hn::ScalableTag<float>;

// A bijection of 32-bit words whose every output bit depends on every input bit (three rounds of xor-shift and odd
// multiplication, constants of the "triple32" hash). The seed enters before and after the first round.
HWY_INLINE hn::Vec<Words> hash(Words d, hn::Vec<Words> x, uint32_t low, uint32_t high) {
  x = hn::Xor(x, hn::Set(d, low));
  x = hn::Xor(x, hn::ShiftRight<17>(x));
  x = hn::Mul(x, hn::Set(d, 0xed5ad4bbu));
  x = hn::Add(x, hn::Set(d, high));
  x = hn::Xor(x, hn::ShiftRight<11>(x));
  x = hn::Mul(x, hn::Set(d, 0xac4c1b51u));
  x = hn::Xor(x, hn::ShiftRight<15>(x));
  x = hn::Mul(x, hn::Set(d, 0x31848babu));
  return hn::Xor(x, hn::ShiftRight<14>(x));
}

// Neighbouring seeds become unlike keys (the finaliser of splitmix64): two keys that share a half give related streams.
HWY_INLINE uint64_t mixed(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

struct Stream {
  uint32_t low, high, threshold;
  float scale;
};

HWY_INLINE hn::Vec<Floats> kept(const Stream& stream, hn::Vec<Words> index, hn::Vec<Floats> values) {
  const Words words;
  const Floats floats;
  const auto drawn = hash(words, index, stream.low, stream.high);
  // Unsigned order by way of the signed comparison that every target has.
  const hn::RebindToSigned<Words> signs;
  const auto flip = hn::Set(words, 0x80000000u);
  const auto is_dropped = hn::Lt(hn::BitCast(signs, hn::Xor(drawn, flip)),
                                 hn::BitCast(signs, hn::Xor(hn::Set(words, stream.threshold), flip)));
  return hn::IfThenZeroElse(hn::RebindMask(floats, is_dropped), hn::Mul(values, hn::Set(floats, stream.scale)));
}

void apply(const float* in, float* out, int64_t count, uint64_t seed, int64_t first, uint32_t threshold, float scale) {
  const Words words;
  const Floats floats;
  const auto lanes = static_cast<int64_t>(hn::Lanes(floats));
  // Streams longer than 2^32 go on with another seed, so that nothing repeats.
  for (int64_t i = 0; i < count;) {
    const uint64_t position = static_cast<uint64_t>(first + i);
    const uint64_t key = mixed(seed + (position >> 32) * 0x9e3779b97f4a7c15u);
    const Stream stream{static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32), threshold, scale};
    const int64_t block =
        static_cast<int64_t>(HWY_MIN(static_cast<uint64_t>(count - i), (1ull << 32) - (position & 0xffffffffu)));
    const auto start = static_cast<uint32_t>(position);
    int64_t j = 0;
    for (; j + lanes <= block; j += lanes) {
      const auto index = hn::Iota(words, start + static_cast<uint32_t>(j));
      hn::StoreU(kept(stream, index, hn::LoadU(floats, in + i + j)), floats, out + i + j);
    }
    if (j < block) {  // the rest through one padded vector: the same operations as above
      HWY_ALIGN float rest[HWY_MAX_BYTES / sizeof(float)] = {};
      for (int64_t k = j; k < block; ++k) rest[k - j] = in[i + k];
      hn::Store(kept(stream, hn::Iota(words, start + static_cast<uint32_t>(j)), hn::Load(floats, rest)), floats, rest);
      for (int64_t k = j; k < block; ++k) out[i + k] = rest[k - j];
    }
    i += block;
  }
}

}  // namespace primal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace primal::kernels {

HWY_EXPORT(apply);

void dropout(const float* in, float* out, int64_t count, uint64_t seed, int64_t first, uint32_t threshold,
             float scale) {
  HWY_DYNAMIC_DISPATCH(apply)(in, out, count, seed, first, threshold, scale);
}

}  // namespace primal::kernels
#endif
