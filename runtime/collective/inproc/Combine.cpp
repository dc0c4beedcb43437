// Two sources are combined element by element. More are combined in chunks that stay in the first cache: load
// the first source into accumulators, combine the others, store. So memory is read once, and a target that is
// also a source is written after it is read.
//
// Every loop is compiled twice, for any x86-64 and for AVX2 with F16C; CPUID chooses. Wider vectors gain
// nothing: the loops wait for memory.
#include "runtime/collective/inproc/Combine.h"

#include "runtime/Error.h"
#include "runtime/device/cpu/Features.h"
#include "runtime/device/cpu/NarrowFloats.h"

#include <algorithm>
#include <string>
#include <type_traits>

namespace epl::runtime {

namespace {

/// Before a loop whose target is one of the sources or apart from all of them.
#ifdef __clang__
#define EPL_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define EPL_INDEPENDENT _Pragma("GCC ivdep")
#endif

/// How an element is kept while it is combined.
template <typename Element> struct Accumulator {
  using type = Element;
  EPL_INLINE static type load(Element value) { return value; }
  EPL_INLINE static Element store(type value) { return value; }
};

template <typename Narrow> struct InSingle {
  using type = float;
  EPL_INLINE static float load(Narrow value) { return widen(value); }
  EPL_INLINE static Narrow store(float value) {
    Narrow result;
    narrow(value, result);
    return result;
  }
};

template <> struct Accumulator<_Float16> : InSingle<_Float16> {};
template <> struct Accumulator<BFloat16> : InSingle<BFloat16> {};

/// Signed arithmetic wraps, as in the kernels.
template <typename T>
using Wrapping = std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>;

struct Sum {
  template <typename T> EPL_INLINE static T apply(T a, T b) {
    using W = typename Wrapping<T>::type;
    return T(W(a) + W(b));
  }
};

struct Prod {
  template <typename T> EPL_INLINE static T apply(T a, T b) {
    // 16-bit factors would be promoted to int, whose product may overflow.
    using W = typename Wrapping<T>::type;
    using P = std::conditional_t<std::is_integral_v<T> && sizeof(T) < 4, uint32_t, W>;
    return T(P(W(a)) * P(W(b)));
  }
};

template <typename T> EPL_INLINE bool isNaN(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return __builtin_isnan(value);
  return false;
}

/// A NaN on either side is the result, as of arith.maximumf.
struct Max {
  template <typename T> EPL_INLINE static T apply(T a, T b) { return a > b || isNaN(a) ? a : b; }
};

struct Min {
  template <typename T> EPL_INLINE static T apply(T a, T b) { return a < b || isNaN(a) ? a : b; }
};

struct All {
  template <typename T> EPL_INLINE static T apply(T a, T b) { return a & b; }
};

struct Any {
  template <typename T> EPL_INLINE static T apply(T a, T b) { return a | b; }
};

constexpr int64_t kChunk = 1024;

template <typename Op, typename Element>
EPL_INLINE void combineChunk(const void *const *sources, size_t numSources, Element *target, int64_t begin,
                             int64_t size) {
  using A = Accumulator<Element>;
  typename A::type sum[kChunk];
  const Element *first = static_cast<const Element *>(sources[0]) + begin;
  for (int64_t i = 0; i < size; ++i)
    sum[i] = A::load(first[i]);
  for (size_t source = 1; source < numSources; ++source) {
    const Element *next = static_cast<const Element *>(sources[source]) + begin;
    for (int64_t i = 0; i < size; ++i)
      sum[i] = Op::template apply<typename A::type>(sum[i], A::load(next[i]));
  }
  for (int64_t i = 0; i < size; ++i)
    target[begin + i] = A::store(sum[i]);
}

/// Two sources, the commonest case, need no accumulators.
template <typename Op, typename Element>
EPL_INLINE void combineTwo(const Element *first, const Element *second, Element *target, int64_t begin,
                           int64_t end) {
  using A = Accumulator<Element>;
  EPL_INDEPENDENT
  for (int64_t i = begin; i < end; ++i)
    target[i] = A::store(Op::template apply<typename A::type>(A::load(first[i]), A::load(second[i])));
}

template <typename Op, typename Element>
EPL_INLINE void combineChunks(const void *const *sources, size_t numSources, void *target, int64_t begin,
                              int64_t end) {
  if (numSources == 2)
    return combineTwo<Op>(static_cast<const Element *>(sources[0]), static_cast<const Element *>(sources[1]),
                          static_cast<Element *>(target), begin, end);
  for (; begin < end; begin += kChunk)
    combineChunk<Op>(sources, numSources, static_cast<Element *>(target), begin,
                     std::min(kChunk, end - begin));
}

template <typename Op, typename Element>
void combineAnywhere(const void *const *sources, size_t numSources, void *target, int64_t begin,
                     int64_t end) {
  combineChunks<Op, Element>(sources, numSources, target, begin, end);
}

template <typename Op, typename Element>
[[gnu::target("avx2,f16c")]] void combineAvx2(const void *const *sources, size_t numSources, void *target,
                                              int64_t begin, int64_t end) {
  combineChunks<Op, Element>(sources, numSources, target, begin, end);
}

template <typename Op, typename Element> CombineFunction choose() {
  static const bool hasAvx2 = cpuSupports("avx2") && cpuSupports("f16c");
  return hasAvx2 ? combineAvx2<Op, Element> : combineAnywhere<Op, Element>;
}

template <typename Element> CombineFunction arithmetic(plan::ReductionKind reduction) {
  switch (reduction) {
  case plan::ReductionKind::sum:
    return choose<Sum, Element>();
  case plan::ReductionKind::prod:
    return choose<Prod, Element>();
  case plan::ReductionKind::max:
    return choose<Max, Element>();
  case plan::ReductionKind::min:
    return choose<Min, Element>();
  default:
    return nullptr;
  }
}

/// i1 is a byte 0 or 1.
CombineFunction logical(plan::ReductionKind reduction) {
  switch (reduction) {
  case plan::ReductionKind::all:
    return choose<All, uint8_t>();
  case plan::ReductionKind::any:
    return choose<Any, uint8_t>();
  default:
    return nullptr;
  }
}

CombineFunction find(plan::ReductionKind reduction, plan::ElementType type) {
  switch (type) {
  case plan::ElementType::i1:
    return logical(reduction);
  case plan::ElementType::i8:
    return arithmetic<int8_t>(reduction);
  case plan::ElementType::i16:
    return arithmetic<int16_t>(reduction);
  case plan::ElementType::i32:
    return arithmetic<int32_t>(reduction);
  case plan::ElementType::i64:
    return arithmetic<int64_t>(reduction);
  case plan::ElementType::f16:
    return arithmetic<_Float16>(reduction);
  case plan::ElementType::bf16:
    return arithmetic<BFloat16>(reduction);
  case plan::ElementType::f32:
    return arithmetic<float>(reduction);
  case plan::ElementType::f64:
    return arithmetic<double>(reduction);
  }
  return nullptr;
}

} // namespace

CombineFunction combineFunction(plan::ReductionKind reduction, plan::ElementType type) {
  if (CombineFunction function = find(reduction, type))
    return function;
  throw Error(std::string("element type \"") + plan::EnumNameElementType(type) + "\" has no reduction \"" +
              plan::EnumNameReductionKind(reduction) + "\"");
}

} // namespace epl::runtime
