// The library cublasLt, found when it is needed: nothing is linked. Its headers come with a package of 400
// MB, so that what is used of them stands here; test/unit/cuda/plugin/CublasLtTest.cpp compares it with them.
#ifndef EPL_RUNTIME_DEVICE_CUDA_PRODUCTS_CUBLASLT_H
#define EPL_RUNTIME_DEVICE_CUDA_PRODUCTS_CUBLASLT_H

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace epl::runtime::cuda::blas {

enum class Status : int { success = 0, invalidValue = 7, notSupported = 15 };
enum class DataType : int { f32 = 0, f64 = 1, f16 = 2, bf16 = 14 };
/// What products are added up in. tf32: f32 with operands of 10 bits of mantissa.
enum class ComputeType : int { f32 = 68, f64 = 70, tf32 = 77 };
enum class ProductAttribute : int {
  transposeA = 3, // int32: 0 or 1
  transposeB = 4,
  epilogue = 7, // int32
  bias = 8      // an address, of as many elements as d has rows
};
/// What is done with a product before it is stored. The library's GELU is that with tanh.
enum class Epilogue : int { none = 1, relu = 2, bias = 4, biasRelu = 6, gelu = 32, biasGelu = 36 };
enum class LayoutAttribute : int { batchCount = 5, batchStride = 6 }; // int32; int64, in elements
enum class PreferenceAttribute : int {
  workspace = 1,  // uint64, bytes at most
  reductions = 3, // uint32, bits: how parts of a sum may be added up
  alignmentA = 5, // uint32, bytes at least
  alignmentB = 6,
  alignmentC = 7,
  alignmentD = 8
};

/// Of `reductions`: in the type that products are added up in. 0 is not at all.
constexpr uint32_t kInComputeType = 2;

struct Algorithm {
  uint64_t data[8];
};
/// What the library would do.
struct Choice {
  Algorithm algorithm;
  size_t workspace; ///< bytes that it needs
  Status state;     ///< the rest holds where that is success
  float waves;
  int reserved[4];
};

using Handle = struct HandleT *;
using Product = struct ProductT *;
using Layout = struct LayoutT *; // of a matrix in columns
using Preference = struct PreferenceT *;

// NOLINTBEGIN(readability-identifier-naming): the library's names
using cublasLtCreate = Status(Handle *);
using cublasLtDestroy = Status(Handle);
using cublasLtMatmulDescCreate = Status(Product *, ComputeType, DataType scale);
using cublasLtMatmulDescDestroy = Status(Product);
using cublasLtMatmulDescSetAttribute = Status(Product, ProductAttribute, const void *, size_t);
using cublasLtMatrixLayoutCreate = Status(Layout *, DataType, uint64_t rows, uint64_t columns,
                                          int64_t leading);
using cublasLtMatrixLayoutDestroy = Status(Layout);
using cublasLtMatrixLayoutSetAttribute = Status(Layout, LayoutAttribute, const void *, size_t);
using cublasLtMatmulPreferenceCreate = Status(Preference *);
using cublasLtMatmulPreferenceDestroy = Status(Preference);
using cublasLtMatmulPreferenceSetAttribute = Status(Preference, PreferenceAttribute, const void *, size_t);
using cublasLtMatmulAlgoGetHeuristic = Status(Handle, Product, Layout a, Layout b, Layout c, Layout d,
                                              Preference, int asked, Choice *, int *found);
/// d = alpha op(a) op(b) + beta c
using cublasLtMatmul = Status(Handle, Product, const void *alpha, const void *a, Layout, const void *b,
                              Layout, const void *beta, const void *c, Layout, void *d, Layout,
                              const Algorithm *, void *workspace, size_t workspaceBytes, CUstream);
// NOLINTEND(readability-identifier-naming)

/// All that is used of the library.
#define EPL_CUBLASLT_FUNCTIONS(DO)                                                                           \
  DO(cublasLtCreate)                                                                                         \
  DO(cublasLtDestroy)                                                                                        \
  DO(cublasLtMatmulDescCreate)                                                                               \
  DO(cublasLtMatmulDescDestroy)                                                                              \
  DO(cublasLtMatmulDescSetAttribute)                                                                         \
  DO(cublasLtMatrixLayoutCreate)                                                                             \
  DO(cublasLtMatrixLayoutDestroy)                                                                            \
  DO(cublasLtMatrixLayoutSetAttribute)                                                                       \
  DO(cublasLtMatmulPreferenceCreate)                                                                         \
  DO(cublasLtMatmulPreferenceDestroy)                                                                        \
  DO(cublasLtMatmulPreferenceSetAttribute)                                                                   \
  DO(cublasLtMatmulAlgoGetHeuristic)                                                                         \
  DO(cublasLtMatmul)

/// The library of the process: what EPL_CUBLASLT names, else `libcublasLt.so.13` as
/// runtime/device/cpu/Library.h finds it.
struct CublasLt {
  /// Opens it the first time; null if there is none. Throws Error if it lacks a function, or if the one that
  /// is named cannot be loaded.
  static const CublasLt *get();

#define EPL_DECLARE(name) blas::name *name = nullptr; // NOLINT(bugprone-macro-parentheses)
  EPL_CUBLASLT_FUNCTIONS(EPL_DECLARE)
#undef EPL_DECLARE
};

} // namespace epl::runtime::cuda::blas

#endif // EPL_RUNTIME_DEVICE_CUDA_PRODUCTS_CUBLASLT_H
