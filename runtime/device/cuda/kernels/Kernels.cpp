// The plugin's own kernels: what moves data between devices, products where no library computes them, and
// what stands around a library's factorizations and convolutions. Clang compiles them to PTX when the project
// is built; no CUDA is needed.
//
// A run of bytes or elements is for a row of blocks (their y), whose threads take its elements in turn.

#include "runtime/device/cuda/kernels/Arguments.h"

using namespace epl::runtime::cuda;

#define KERNEL extern "C" __attribute__((device_kernel))

namespace {

using Bits16 = unsigned short;
using Bits32 = unsigned int;

long firstOfThread() {
  return long(__nvvm_read_ptx_sreg_ctaid_x()) * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x();
}
long numThreads() { return long(__nvvm_read_ptx_sreg_nctaid_x()) * __nvvm_read_ptx_sreg_ntid_x(); }
long firstRun() { return __nvvm_read_ptx_sreg_ctaid_y(); }
long numRows() { return __nvvm_read_ptx_sreg_nctaid_y(); }

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

struct BFloat16 {
  Bits16 bits;
};

float widen(BFloat16 value) { return __builtin_bit_cast(float, Bits32(value.bits) << 16); }
float widen(_Float16 value) { return float(value); }

/// To the nearest, ties to even; NaN stays NaN.
void narrow(float value, BFloat16 &result) {
  Bits32 bits = __builtin_bit_cast(Bits32, value);
  bool isNan = (bits & 0x7fffffff) > 0x7f800000;
  result.bits = Bits16(isNan ? (bits >> 16) | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
void narrow(float value, _Float16 &result) { result = _Float16(value); }

/// How an element is kept while it is combined.
template <typename Element> struct Accumulator {
  using type = Element;
  static type load(Element value) { return value; }
  static Element store(type value) { return value; }
};
template <typename Narrow> struct InSingle {
  using type = float;
  static float load(Narrow value) { return widen(value); }
  static Narrow store(float value) {
    Narrow result;
    narrow(value, result);
    return result;
  }
};
template <> struct Accumulator<_Float16> : InSingle<_Float16> {};
template <> struct Accumulator<BFloat16> : InSingle<BFloat16> {};

} // namespace

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

template <typename Unit> static void copy(const CopyRun &run) {
  auto *to = reinterpret_cast<Unit *>(run.to);
  auto *from = reinterpret_cast<const Unit *>(run.from);
  for (long i = firstOfThread(); i < long(run.bytes / sizeof(Unit)); i += numThreads())
    to[i] = from[i];
}

KERNEL void epl_copy(const CopyRun *runs, long count) {
  for (long i = firstRun(); i < count; i += numRows()) {
    CopyRun run = runs[i];
    if ((run.to | run.from | run.bytes) % 8 == 0)
      copy<unsigned long>(run);
    else if ((run.to | run.from | run.bytes) % 4 == 0)
      copy<unsigned int>(run);
    else
      copy<unsigned char>(run);
  }
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

namespace {

bool isNan(float value) { return __builtin_isnan(value); }
bool isNan(double value) { return __builtin_isnan(value); }
template <typename T> bool isNan(T) { return false; }

struct Sum {
  template <typename T> static T apply(T a, T b) { return a + b; }
};
struct Prod {
  template <typename T> static T apply(T a, T b) { return a * b; }
};
/// NaN if either is.
struct Max {
  template <typename T> static T apply(T a, T b) { return a > b || isNan(a) ? a : b; }
};
struct Min {
  template <typename T> static T apply(T a, T b) { return a < b || isNan(a) ? a : b; }
};
struct All {
  template <typename T> static T apply(T a, T b) { return a & b; }
};
struct Any {
  template <typename T> static T apply(T a, T b) { return a | b; }
};

} // namespace

/// In member order, each element by one thread: `to` may be one of the sources.
template <typename Element, typename Reduction>
static void combine(const SumRun *runs, long count, const unsigned long *sources, int members) {
  using Kept = Accumulator<Element>;
  for (long i = firstRun(); i < count; i += numRows()) {
    SumRun run = runs[i];
    for (long at = firstOfThread(); at < long(run.count); at += numThreads()) {
      auto load = [&](int member) {
        return Kept::load(reinterpret_cast<const Element *>(sources[run.sources + member])[at]);
      };
      typename Kept::type sum = load(0);
      for (int member = 1; member < members; ++member)
        sum = Reduction::apply(sum, load(member));
      reinterpret_cast<Element *>(run.to)[at] = Kept::store(sum);
    }
  }
}

// Signed integers wrap.
#define EPL_COMBINE(reduction, Reduction, type, Element)                                                     \
  KERNEL void epl_##reduction##_##type(const SumRun *runs, long count, const unsigned long *sources,         \
                                       int members) {                                                        \
    combine<Element, Reduction>(runs, count, sources, members);                                              \
  }
#define EPL_COMBINE_NUMBERS(reduction, Reduction)                                                            \
  EPL_COMBINE(reduction, Reduction, f16, _Float16)                                                           \
  EPL_COMBINE(reduction, Reduction, bf16, BFloat16)                                                          \
  EPL_COMBINE(reduction, Reduction, f32, float)                                                              \
  EPL_COMBINE(reduction, Reduction, f64, double)

EPL_COMBINE_NUMBERS(sum, Sum)
EPL_COMBINE(sum, Sum, i8, unsigned char)
EPL_COMBINE(sum, Sum, i16, unsigned short)
EPL_COMBINE(sum, Sum, i32, unsigned int)
EPL_COMBINE(sum, Sum, i64, unsigned long)
EPL_COMBINE_NUMBERS(prod, Prod)
EPL_COMBINE(prod, Prod, i8, unsigned char)
EPL_COMBINE(prod, Prod, i16, unsigned short)
EPL_COMBINE(prod, Prod, i32, unsigned int)
EPL_COMBINE(prod, Prod, i64, unsigned long)
EPL_COMBINE_NUMBERS(max, Max)
EPL_COMBINE(max, Max, i8, signed char)
EPL_COMBINE(max, Max, i16, short)
EPL_COMBINE(max, Max, i32, int)
EPL_COMBINE(max, Max, i64, long)
EPL_COMBINE_NUMBERS(min, Min)
EPL_COMBINE(min, Min, i8, signed char)
EPL_COMBINE(min, Min, i16, short)
EPL_COMBINE(min, Min, i32, int)
EPL_COMBINE(min, Min, i64, long)
EPL_COMBINE(all, All, i1, unsigned char)
EPL_COMBINE(any, Any, i1, unsigned char)

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Whether all of a list of conditions hold, or there is none.
static bool hold(unsigned long conditions) {
  if (!conditions)
    return true;
  for (const auto *next = reinterpret_cast<const Condition *>(conditions); next->flag; ++next)
    if (*reinterpret_cast<const unsigned char *>(next->flag) != next->expected)
      return false;
  return true;
}

/// As the plan's Activation says.
template <typename T> static T activate(T x, int activation) {
  if (activation == 1)
    return x > 0 || isNan(x) ? x : T(0);
  if (activation == 2) {
    // 1 + tanh(y) is 2 - 2 / (exp(2 y) + 1).
    float y = 0.7978845608f * float(x + T(0.044715) * x * x * x);
    return x * T(1 - 1 / (__nvvm_ex2_approx_ftz_f(2.885390082f * y) + 1));
  }
  return x;
}

/// An element of c for each thread, its products in the order of k.
template <typename Operand, typename Result> static void contract(const ContractArguments &arguments) {
  using Kept = Accumulator<Result>;
  if (!hold(arguments.conditions))
    return;
  for (long i = firstOfThread(); i < arguments.elements; i += numThreads()) {
    long column = i % arguments.n, rest = i / arguments.n;
    long row = rest % arguments.m;
    rest /= arguments.m;
    long a = row * (arguments.transposeA ? 1 : arguments.lda);
    long b = column * (arguments.transposeB ? arguments.ldb : 1);
    long c = row * arguments.ldc + column;
    for (int dim = arguments.batchDims - 1; dim >= 0; --dim) {
      long at = rest % arguments.extent[dim];
      rest /= arguments.extent[dim];
      a += at * arguments.strideA[dim], b += at * arguments.strideB[dim], c += at * arguments.strideC[dim];
    }
    auto *result = reinterpret_cast<Result *>(arguments.c) + c;
    typename Kept::type sum = arguments.accumulate ? Kept::load(*result) : 0;
    for (long k = 0; k < arguments.k; ++k) {
      auto load = [](unsigned long operand, long index) {
        return typename Kept::type(
            Accumulator<Operand>::load(reinterpret_cast<const Operand *>(operand)[index]));
      };
      sum += load(arguments.a, a + k * (arguments.transposeA ? arguments.lda : 1)) *
             load(arguments.b, b + k * (arguments.transposeB ? 1 : arguments.ldb));
    }
    if (arguments.bias)
      sum += Kept::load(reinterpret_cast<const Result *>(arguments.bias)[column]);
    *result = Kept::store(activate(sum, arguments.activation));
  }
}

KERNEL void epl_contract_f32(ContractArguments arguments) { contract<float, float>(arguments); }
KERNEL void epl_contract_f64(ContractArguments arguments) { contract<double, double>(arguments); }
KERNEL void epl_contract_f16(ContractArguments arguments) { contract<_Float16, _Float16>(arguments); }
KERNEL void epl_contract_bf16(ContractArguments arguments) { contract<BFloat16, BFloat16>(arguments); }
KERNEL void epl_contract_f16_f32(ContractArguments arguments) { contract<_Float16, float>(arguments); }
KERNEL void epl_contract_bf16_f32(ContractArguments arguments) { contract<BFloat16, float>(arguments); }

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// An element for each thread.
template <typename Element> static void widenAll(unsigned long from, unsigned long to, long count) {
  for (long i = firstOfThread(); i < count; i += numThreads())
    reinterpret_cast<float *>(to)[i] = widen(reinterpret_cast<const Element *>(from)[i]);
}

KERNEL void epl_widen_f16(unsigned long from, unsigned long to, long count) {
  widenAll<_Float16>(from, to, count);
}
KERNEL void epl_widen_bf16(unsigned long from, unsigned long to, long count) {
  widenAll<BFloat16>(from, to, count);
}

//===----------------------------------------------------------------------===//
// Factorizations
//===----------------------------------------------------------------------===//

static bool hasFailed(const unsigned long (&failed)[2], long matrix) {
  for (unsigned long each : failed)
    if (each && reinterpret_cast<const int *>(each)[matrix] != 0)
      return true;
  return false;
}

/// An element for each thread. Of a transpose the writes are far from each other: a factorization takes many
/// times as long.
template <typename T> static void moveMatrices(const MatrixArguments &arguments) {
  long size = arguments.rows * arguments.columns;
  for (long i = firstOfThread(); i < arguments.count * size; i += numThreads()) {
    long matrix = i / size, at = i % size, row = at / arguments.columns, column = at % arguments.columns;
    T value = 0;
    if (!arguments.lower || column <= row)
      value = reinterpret_cast<const T *>(arguments.from)[i];
    if (arguments.odd && !__builtin_isfinite(value)) {
      __atomic_fetch_or(reinterpret_cast<int *>(arguments.odd) + matrix, 1, __ATOMIC_RELAXED);
      value = 0;
    }
    if (hasFailed(arguments.failed, matrix))
      value = T(__builtin_nan(""));
    long place = arguments.transpose ? column * arguments.rows + row : at;
    reinterpret_cast<T *>(arguments.to)[matrix * size + place] = value;
  }
}

KERNEL void epl_matrices_f32(MatrixArguments arguments) { moveMatrices<float>(arguments); }
KERNEL void epl_matrices_f64(MatrixArguments arguments) { moveMatrices<double>(arguments); }

/// A matrix for each thread, as each change comes after the one before. Whatever a library says of a matrix
/// that has no factors, a row changes places with itself or a later one.
KERNEL void epl_pivots(PivotArguments arguments) {
  for (long matrix = firstOfThread(); matrix < arguments.count; matrix += numThreads()) {
    const long *from = reinterpret_cast<const long *>(arguments.from) + matrix * arguments.smaller;
    int *pivots = reinterpret_cast<int *>(arguments.pivots) + matrix * arguments.smaller;
    int *permutation = reinterpret_cast<int *>(arguments.permutation) + matrix * arguments.rows;
    for (long row = 0; row < arguments.rows; ++row)
      permutation[row] = int(row);
    for (long row = 0; row < arguments.smaller; ++row) {
      long other = from[row] - 1;
      if (other < row || other >= arguments.rows)
        other = row;
      pivots[row] = int(other);
      int moved = permutation[row];
      permutation[row] = permutation[other];
      permutation[other] = moved;
    }
  }
}
