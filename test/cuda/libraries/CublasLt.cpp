//===- CublasLt.cpp - A stand-in of cublasLt ---------------------------------------===//
//
// libcublasLt.so.13 for the stand-in of the driver, on which its kernels run: what a product reads and writes
// is looked at like what every kernel does. It refuses what the library refuses: matrices whose sizes do not
// fit, a leading dimension below the rows, addresses that are not aligned as was promised, a workspace that
// is too small, a choice that was made for another product. It knows the types that the plugin asks for.
//
// EPL_CUBLASLT_REAL names the real library, if it is there: its descriptors, which need no card, get the same
// values, and what it refuses is refused.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/products/CublasLt.h"
#include "test/cuda/libraries/MatmulArguments.h"
#include "test/cuda/libraries/MatmulKernels.h"

#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

using namespace epl::runtime::cuda::blas;
using cublas_double::MatmulArguments;

namespace epl::runtime::cuda::blas {

// What the library hands out. `real` is the real library's.

struct HandleT {
  CUmodule module;
  std::map<std::string, CUfunction> functions; ///< that have been used: each is loaded by its first launch
};

struct ProductT {
  ComputeType compute;
  DataType scale;
  int32_t transposeA = 0, transposeB = 0, epilogue = int32_t(Epilogue::none);
  unsigned long bias = 0;
  Product real = nullptr;
};

struct LayoutT {
  DataType type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batches = 1;
  int64_t stride = 0;
  Layout real = nullptr;
};

struct PreferenceT {
  uint64_t workspace = 0;
  uint32_t reductions = 7; ///< all schemes, also those that round parts of sums to the type of results
  uint32_t alignments[4] = {256, 256, 256, 256}; // of a, b, c, d
  Preference real = nullptr;
};

} // namespace epl::runtime::cuda::blas

namespace {

/// The real library; its functions are null if it was not asked for.
struct Real {
  Real() {
    const char *path = std::getenv("EPL_CUBLASLT_REAL");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
    isMissing = path && !library;
    if (!library)
      return;
#define EPL_FIND(name) functions.name = reinterpret_cast<name *>(dlsym(library, #name));
    EPL_CUBLASLT_FUNCTIONS(EPL_FIND)
#undef EPL_FIND
  }
  static const Real &find() {
    static const Real real;
    return real;
  }
  static const CublasLt &get() { return find().functions; }

  CublasLt functions;
  bool isMissing = false; ///< though somebody has named one
};

/// What a function of the real library says; success if there is none.
template <typename Function, typename... Arguments> Status ask(Function *function, Arguments... arguments) {
  return function ? function(arguments...) : Status::success;
}

/// Ends a descriptor, and the real library's.
template <typename Descriptor> Status end(Descriptor *descriptor, Status (*real)(Descriptor *)) {
  Status status = ask(real, descriptor->real);
  delete descriptor;
  return status;
}

bool copyTo(void *to, size_t size, const void *from, size_t given) {
  if (given != size)
    return false;
  std::memcpy(to, from, size);
  return true;
}

/// What a choice is for, in the library's opaque 64 bytes.
struct Promise {
  uint32_t alignments[4];
  uint64_t product, workspace;
};
static_assert(sizeof(Promise) <= sizeof(Algorithm));

constexpr size_t kWorkspace = 256;

/// A number for what a product is, so that a choice for another one is noticed.
uint64_t numberOf(const ProductT &product, const LayoutT &a, const LayoutT &b, const LayoutT &d) {
  uint64_t number = 0;
  auto add = [&](auto value) { number = number * 1000003 + uint64_t(value); };
  for (const LayoutT *layout : {&a, &b, &d}) {
    add(layout->type), add(layout->rows), add(layout->columns);
    add(layout->leading), add(layout->batches), add(layout->stride);
  }
  add(product.compute), add(product.transposeA), add(product.transposeB), add(product.epilogue);
  return number;
}

const char *nameOf(DataType type) {
  switch (type) {
  case DataType::f32:
    return "f32";
  case DataType::f64:
    return "f64";
  case DataType::f16:
    return "f16";
  case DataType::bf16:
    return "bf16";
  }
  return "unknown";
}

bool isKnown(int32_t epilogue) {
  constexpr Epilogue kKnown[] = {Epilogue::none,     Epilogue::relu, Epilogue::bias,
                                 Epilogue::biasRelu, Epilogue::gelu, Epilogue::biasGelu};
  return std::ranges::find(kKnown, Epilogue(epilogue)) != std::end(kKnown);
}
bool addsBias(const ProductT &product) { return product.epilogue & int32_t(Epilogue::bias); }

bool isSound(const LayoutT &layout) { return layout.leading >= int64_t(layout.rows) && layout.batches > 0; }

/// Whether the sizes of a product fit, and the library multiplies its types.
Status check(const ProductT &product, const LayoutT &a, const LayoutT &b, const LayoutT &c,
             const LayoutT &d) {
  for (const LayoutT *layout : {&a, &b, &c, &d})
    if (!isSound(*layout) || layout->batches != d.batches)
      return Status::invalidValue;
  uint64_t m = product.transposeA ? a.columns : a.rows, k = product.transposeA ? a.rows : a.columns;
  uint64_t k2 = product.transposeB ? b.columns : b.rows, n = product.transposeB ? b.rows : b.columns;
  if (k != k2 || m != d.rows || n != d.columns || c.rows != d.rows || c.columns != d.columns)
    return Status::invalidValue;
  bool isDouble = d.type == DataType::f64;
  if (isDouble && product.epilogue != int32_t(Epilogue::none))
    return Status::notSupported;
  bool fits = a.type == b.type && c.type == d.type && (d.type == a.type || d.type == DataType::f32) &&
              (a.type == DataType::f64) == isDouble &&
              product.scale == (isDouble ? DataType::f64 : DataType::f32) &&
              (product.compute == ComputeType::f64) == isDouble;
  return fits ? Status::success : Status::notSupported;
}

} // namespace

extern "C" {

Status cublasLtCreate(Handle *handle) {
  CUmodule module = nullptr;
  std::string code(matmulKernels());
  if (Real::find().isMissing || cuModuleLoadData(&module, code.c_str()) != CUDA_SUCCESS)
    return Status(1); // not initialized
  *handle = new HandleT{module, {}};
  return Status::success;
}

Status cublasLtDestroy(Handle handle) {
  delete handle; // its module goes with the card's context
  return Status::success;
}

Status cublasLtMatmulDescCreate(Product *product, ComputeType compute, DataType scale) {
  auto *made = new ProductT{compute, scale};
  *product = made;
  return ask(Real::get().cublasLtMatmulDescCreate, &made->real, compute, scale);
}

Status cublasLtMatmulDescDestroy(Product product) {
  return end(product, Real::get().cublasLtMatmulDescDestroy);
}

Status cublasLtMatmulDescSetAttribute(Product product, ProductAttribute attribute, const void *value,
                                      size_t size) {
  if (attribute == ProductAttribute::bias) {
    if (!copyTo(&product->bias, sizeof(product->bias), value, size))
      return Status::invalidValue;
  } else if (attribute == ProductAttribute::epilogue) {
    if (!copyTo(&product->epilogue, sizeof(product->epilogue), value, size) || !isKnown(product->epilogue))
      return Status::invalidValue;
  } else {
    int32_t &to = attribute == ProductAttribute::transposeA ? product->transposeA : product->transposeB;
    if (!copyTo(&to, sizeof(to), value, size) || to < 0 || to > 1)
      return Status::invalidValue;
  }
  return ask(Real::get().cublasLtMatmulDescSetAttribute, product->real, attribute, value, size);
}

Status cublasLtMatrixLayoutCreate(Layout *layout, DataType type, uint64_t rows, uint64_t columns,
                                  int64_t leading) {
  auto *made = new LayoutT{type, rows, columns, leading};
  *layout = made;
  return ask(Real::get().cublasLtMatrixLayoutCreate, &made->real, type, rows, columns, leading);
}

Status cublasLtMatrixLayoutDestroy(Layout layout) {
  return end(layout, Real::get().cublasLtMatrixLayoutDestroy);
}

Status cublasLtMatrixLayoutSetAttribute(Layout layout, LayoutAttribute attribute, const void *value,
                                        size_t size) {
  bool isCount = attribute == LayoutAttribute::batchCount;
  if (isCount ? !copyTo(&layout->batches, sizeof(layout->batches), value, size)
              : !copyTo(&layout->stride, sizeof(layout->stride), value, size))
    return Status::invalidValue;
  return ask(Real::get().cublasLtMatrixLayoutSetAttribute, layout->real, attribute, value, size);
}

Status cublasLtMatmulPreferenceCreate(Preference *preference) {
  auto *made = new PreferenceT;
  *preference = made;
  return ask(Real::get().cublasLtMatmulPreferenceCreate, &made->real);
}

Status cublasLtMatmulPreferenceDestroy(Preference preference) {
  return end(preference, Real::get().cublasLtMatmulPreferenceDestroy);
}

Status cublasLtMatmulPreferenceSetAttribute(Preference preference, PreferenceAttribute attribute,
                                            const void *value, size_t size) {
  if (attribute == PreferenceAttribute::reductions)
    return copyTo(&preference->reductions, sizeof(preference->reductions), value, size)
               ? ask(Real::get().cublasLtMatmulPreferenceSetAttribute, preference->real, attribute, value,
                     size)
               : Status::invalidValue;
  bool isWorkspace = attribute == PreferenceAttribute::workspace;
  int operand = int(attribute) - int(PreferenceAttribute::alignmentA);
  if (isWorkspace ? !copyTo(&preference->workspace, sizeof(preference->workspace), value, size)
                  : operand < 0 || operand > 3 ||
                        !copyTo(&preference->alignments[operand], sizeof(uint32_t), value, size))
    return Status::invalidValue;
  return ask(Real::get().cublasLtMatmulPreferenceSetAttribute, preference->real, attribute, value, size);
}

Status cublasLtMatmulAlgoGetHeuristic(Handle, Product product, Layout a, Layout b, Layout c, Layout d,
                                      Preference preference, int asked, Choice *choice, int *found) {
  *found = 0;
  if (asked < 1)
    return Status::invalidValue;
  if (Status status = check(*product, *a, *b, *c, *d); status != Status::success)
    return status;
  // Who lets parts of sums be rounded does not get what a plan means.
  if (preference->workspace < kWorkspace || preference->reductions != kInComputeType)
    return Status::notSupported;
  Promise promise{{}, numberOf(*product, *a, *b, *d), kWorkspace};
  std::copy_n(preference->alignments, 4, promise.alignments);
  *choice = {};
  std::memcpy(choice->algorithm.data, &promise, sizeof(promise));
  choice->workspace = kWorkspace;
  choice->state = Status::success;
  *found = 1;
  return Status::success;
}

Status cublasLtMatmul(Handle handle, Product product, const void *alpha, const void *a, Layout layoutA,
                      const void *b, Layout layoutB, const void *beta, const void *c, Layout layoutC, void *d,
                      Layout layoutD, const Algorithm *algorithm, void *workspace, size_t workspaceBytes,
                      CUstream stream) {
  if (Status status = check(*product, *layoutA, *layoutB, *layoutC, *layoutD); status != Status::success)
    return status;
  Promise promise{};
  std::memcpy(&promise, algorithm->data, sizeof(promise));
  const void *operands[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i)
    if (reinterpret_cast<uintptr_t>(operands[i]) % promise.alignments[i] != 0)
      return Status::invalidValue;
  bool isForThis = promise.product == numberOf(*product, *layoutA, *layoutB, *layoutD);
  if (!isForThis || workspaceBytes < promise.workspace || !workspace ||
      (addsBias(*product) && !product->bias))
    return Status::invalidValue;
  auto address = [](const void *pointer) { return reinterpret_cast<unsigned long>(pointer); };
  bool isDouble = product->scale == DataType::f64;
  auto factor = [&](const void *at) {
    return isDouble ? *static_cast<const double *>(at) : double(*static_cast<const float *>(at));
  };
  MatmulArguments arguments{address(a),
                            address(b),
                            address(c),
                            address(d),
                            address(workspace),
                            long(layoutD->rows),
                            long(layoutD->columns),
                            long(product->transposeA ? layoutA->rows : layoutA->columns),
                            layoutA->leading,
                            layoutB->leading,
                            layoutC->leading,
                            layoutD->leading,
                            layoutD->batches,
                            layoutA->stride,
                            layoutB->stride,
                            layoutC->stride,
                            layoutD->stride,
                            product->transposeA,
                            product->transposeB,
                            factor(alpha),
                            factor(beta),
                            product->epilogue,
                            product->bias};
  std::string name = std::string("matmul_") +
                     (product->compute == ComputeType::tf32 ? "tf32" : nameOf(layoutA->type)) + "_" +
                     nameOf(layoutD->type);
  CUfunction &function = handle->functions[name];
  if (!function && cuModuleGetFunction(&function, handle->module, name.c_str()) != CUDA_SUCCESS)
    return Status::notSupported;
  long elements = arguments.m * arguments.n * arguments.batches;
  auto blocks = unsigned(std::clamp<long>((elements + 127) / 128, 1, 1024));
  void *parameters[] = {&arguments};
  CUresult result = cuLaunchKernel(function, blocks, 1, 1, 128, 1, 1, 0, stream, parameters, nullptr);
  return result == CUDA_SUCCESS ? Status::success : Status(13); // execution failed
}

} // extern "C"
