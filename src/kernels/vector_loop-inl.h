// Loops over vectors with a masked rest. Included once per CPU target, inside HWY_BEFORE_NAMESPACE.
#if defined(PRIMAL_KERNELS_VECTOR_LOOP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PRIMAL_KERNELS_VECTOR_LOOP_INL_H_
#undef PRIMAL_KERNELS_VECTOR_LOOP_INL_H_
#else
#define PRIMAL_KERNELS_VECTOR_LOOP_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace primal::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;

/// All lanes of a vector.
struct WholeVector {
  HWY_INLINE Vector load(const float* p) const { return hn::LoadU(Floats(), p); }
  HWY_INLINE void store(Vector v, float* p) const { hn::StoreU(v, Floats(), p); }
};

/// The first lanes; the others load as zero and are not stored. Highway's masked load reads a whole aligned vector
/// where the CPU has no such instruction; there the numbers are copied.
struct FirstLanes {
  int64_t count;
  HWY_INLINE Vector load(const float* p) const {
    const Floats d;
    if constexpr (HWY_TARGET <= HWY_AVX2) return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, p);
    HWY_ALIGN float lanes[hn::MaxLanes(d)] = {};
    for (int64_t i = 0; i < count; ++i) lanes[i] = p[i];
    return hn::Load(d, lanes);
  }
  HWY_INLINE void store(Vector v, float* p) const {
    const Floats d;
    hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(count)), d, p);
  }
};

/// body(i, lanes) for i = 0, L, 2L, ... below count.
template <typename Body>
HWY_INLINE void for_each_vector(int64_t count, const Body& body) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) body(i, WholeVector());
  if (i < count) body(i, FirstLanes{count - i});
}

HWY_INLINE float sum_of_lanes(Vector v) { return hn::GetLane(hn::SumOfLanes(Floats(), v)); }

}  // namespace primal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
