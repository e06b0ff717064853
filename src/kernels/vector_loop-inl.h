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
template <typename T>
struct WholeVectorOf {
  using Tag = hn::ScalableTag<T>;
  HWY_INLINE hn::Vec<Tag> load(const T* p) const { return hn::LoadU(Tag(), p); }
  HWY_INLINE void store(hn::Vec<Tag> v, T* p) const { hn::StoreU(v, Tag(), p); }
};

/// The first lanes; the others load as zero and are not stored. Highway's masked load reads a whole aligned vector
/// where the CPU has no such instruction; there the numbers are copied.
template <typename T>
struct FirstLanesOf {
  using Tag = hn::ScalableTag<T>;
  int64_t count;
  HWY_INLINE hn::Vec<Tag> load(const T* p) const {
    const Tag d;
    if constexpr (HWY_TARGET <= HWY_AVX2) return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, p);
    HWY_ALIGN T lanes[hn::MaxLanes(d)] = {};
    for (int64_t i = 0; i < count; ++i) lanes[i] = p[i];
    return hn::Load(d, lanes);
  }
  HWY_INLINE void store(hn::Vec<Tag> v, T* p) const {
    const Tag d;
    hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(count)), d, p);
  }
};

using WholeVector = WholeVectorOf<float>;
using FirstLanes = FirstLanesOf<float>;

/// body(i, lanes) for i = 0, L, 2L, ... below count.
template <typename T = float, typename Body>
HWY_INLINE void for_each_vector(int64_t count, const Body& body) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) body(i, WholeVectorOf<T>());
  if (i < count) body(i, FirstLanesOf<T>{count - i});
}

HWY_INLINE float sum_of_lanes(Vector v) { return hn::GetLane(hn::SumOfLanes(Floats(), v)); }

}  // namespace primal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
