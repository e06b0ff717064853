// Compiled once for every CPU target by Highway's foreach_target. Targets with fused multiply-add round once where the
// others round twice: their results agree to a few units in the last place, not to the bit.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/optimizer_step.cpp"
#include "kernels/optimizer_step.h"

#include <hwy/foreach_target.h>  // must come before highway.h
#include <hwy/highway.h>

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace primal::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

enum class Rule {
  plain,      // p alone
  momentum,   // p and m
  unadapted,  // p, m and v, but v does not yet scale the step: the first steps of RAdam
  adaptive,
};

// The coefficients in the precision of the arrays.
template <typename T>
struct Rounded {
  explicit Rounded(const StepCoefficients& c)
      : gradient_scale(static_cast<T>(c.gradient_scale)),
        l2(static_cast<T>(c.l2)),
        keep(static_cast<T>(c.keep)),
        beta1(static_cast<T>(c.beta1)),
        gain1(static_cast<T>(c.gain1)),
        beta2(static_cast<T>(c.beta2)),
        gain2(static_cast<T>(1 - c.beta2)),
        step_g(static_cast<T>(c.step_g)),
        step_m(static_cast<T>(c.step_m)),
        root_scale(static_cast<T>(c.root_scale)),
        eps(static_cast<T>(c.eps)) {}
  T gradient_scale, l2, keep, beta1, gain1, beta2, gain2, step_g, step_m, root_scale, eps;
};

// One vector of each array.
template <Rule kRule, typename T>
HWY_INLINE void update(const Rounded<T>& c, T* p_at, const T* gradient_at, T* m_at, T* v_at) {
  const hn::ScalableTag<T> d;
  const auto p = hn::LoadU(d, p_at);
  const auto scaled = hn::Mul(hn::Set(d, c.gradient_scale), hn::LoadU(d, gradient_at));
  const auto g = hn::MulAdd(hn::Set(d, c.l2), p, scaled);
  const auto moved = hn::NegMulAdd(hn::Set(d, c.step_g), g, hn::Mul(hn::Set(d, c.keep), p));
  if constexpr (kRule == Rule::plain) return hn::StoreU(moved, d, p_at);

  const auto m = hn::MulAdd(hn::Set(d, c.beta1), hn::LoadU(d, m_at), hn::Mul(hn::Set(d, c.gain1), g));
  hn::StoreU(m, d, m_at);
  auto direction = m;
  if constexpr (kRule == Rule::unadapted || kRule == Rule::adaptive) {
    const auto g2 = hn::Mul(hn::Mul(hn::Set(d, c.gain2), g), g);
    const auto v = hn::MulAdd(hn::Set(d, c.beta2), hn::LoadU(d, v_at), g2);
    hn::StoreU(v, d, v_at);
    if constexpr (kRule == Rule::adaptive) {
      direction = hn::Div(m, hn::MulAdd(hn::Sqrt(v), hn::Set(d, c.root_scale), hn::Set(d, c.eps)));
    }
  }
  hn::StoreU(hn::NegMulAdd(hn::Set(d, c.step_m), direction, moved), d, p_at);
}

// The rest that fills no vector, by way of one: so every element goes through the same instructions.
template <Rule kRule, typename T>
void update_rest(const Rounded<T>& c, int64_t size, const StepArrays<T>& a) {
  constexpr size_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  T p[kLanes] = {}, gradient[kLanes] = {}, m[kLanes] = {}, v[kLanes] = {};
  const auto copy = [size](const T* from, T* to) {
    if (from != nullptr && to != nullptr) std::copy_n(from, size, to);
  };
  copy(a.p, p), copy(a.gradient, gradient), copy(a.m, m), copy(a.v, v);
  update<kRule>(c, p, gradient, m, v);
  copy(p, a.p), copy(m, a.m), copy(v, a.v);
}

template <Rule kRule, typename T>
void step_by(const StepCoefficients& coefficients, int64_t size, const StepArrays<T>& a) {
  const Rounded<T> c(coefficients);
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  constexpr bool kHasM = kRule != Rule::plain, kHasV = kRule == Rule::unadapted || kRule == Rule::adaptive;
  const auto from = [](T* array, int64_t i, bool exists) { return exists ? array + i : nullptr; };
  int64_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    update<kRule>(c, a.p + i, a.gradient + i, from(a.m, i, kHasM), from(a.v, i, kHasV));
  }
  if (i == size) return;
  update_rest<kRule, T>(c, size - i, {a.p + i, a.gradient + i, from(a.m, i, kHasM), from(a.v, i, kHasV)});
}

template <typename T>
void step(const StepCoefficients& c, int64_t size, const StepArrays<T>& a) {
  if (a.m == nullptr) return step_by<Rule::plain>(c, size, a);
  if (a.v == nullptr) return step_by<Rule::momentum>(c, size, a);
  return c.adaptive ? step_by<Rule::adaptive>(c, size, a) : step_by<Rule::unadapted>(c, size, a);
}

using Doubles = hn::ScalableTag<double>;
HWY_INLINE hn::Vec<Doubles> load(const double* p) { return hn::LoadU(Doubles(), p); }
HWY_INLINE hn::Vec<Doubles> load(const float* p) {
  return hn::PromoteTo(Doubles(), hn::LoadU(hn::Rebind<float, Doubles>(), p));
}

template <typename T>
double squares(const T* x, int64_t size) {
  const Doubles d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  // Four sums, because an addition takes four cycles to be ready for the next.
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  int64_t i = 0;
  for (; i + 4 * lanes <= size; i += 4 * lanes) {
    const auto x0 = load(x + i), x1 = load(x + i + lanes), x2 = load(x + i + 2 * lanes), x3 = load(x + i + 3 * lanes);
    s0 = hn::MulAdd(x0, x0, s0), s1 = hn::MulAdd(x1, x1, s1);
    s2 = hn::MulAdd(x2, x2, s2), s3 = hn::MulAdd(x3, x3, s3);
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  for (; i < size; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

// Highway dispatches plain functions, not templates.
void step_float(const StepCoefficients& c, int64_t size, const StepArrays<float>& a) { step(c, size, a); }
void step_double(const StepCoefficients& c, int64_t size, const StepArrays<double>& a) { step(c, size, a); }
double squares_float(const float* x, int64_t size) { return squares(x, size); }
double squares_double(const double* x, int64_t size) { return squares(x, size); }

}  // namespace primal::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace primal::kernels {

HWY_EXPORT(step_float);
HWY_EXPORT(step_double);
HWY_EXPORT(squares_float);
HWY_EXPORT(squares_double);

void optimizer_step(const StepCoefficients& coefficients, int64_t size, const StepArrays<float>& arrays) {
  HWY_DYNAMIC_DISPATCH(step_float)(coefficients, size, arrays);
}
void optimizer_step(const StepCoefficients& coefficients, int64_t size, const StepArrays<double>& arrays) {
  HWY_DYNAMIC_DISPATCH(step_double)(coefficients, size, arrays);
}
double sum_of_squares(const float* x, int64_t size) { return HWY_DYNAMIC_DISPATCH(squares_float)(x, size); }
double sum_of_squares(const double* x, int64_t size) { return HWY_DYNAMIC_DISPATCH(squares_double)(x, size); }

}  // namespace primal::kernels
#endif
