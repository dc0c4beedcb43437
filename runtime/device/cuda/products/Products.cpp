#include "runtime/device/cuda/products/Products.h"

#include "runtime/Error.h"
#include "runtime/device/cuda/Environment.h"
#include "runtime/device/cuda/NvidiaLibrary.h"
#include "runtime/plan/model/Access.h"

#include <algorithm>

namespace epl::runtime::cuda {

// Memory that the library may work in, as its documents advise for the fastest algorithms.
static constexpr uint64_t kMostWorkspace = uint64_t(32) << 20;
// Where a batch has no one stride, calls of the library for it, at most.
static constexpr int64_t kMostCalls = 64;

std::shared_ptr<const ProductLibrary> ProductLibrary::open(std::shared_ptr<const Cards> cards,
                                                           uint32_t card) {
  const blas::CublasLt *api = blas::CublasLt::get();
  blas::Handle handle = nullptr;
  cards->use(card);
  blas::Status status = api ? api->cublasLtCreate(&handle) : blas::Status::success;
  if (handle && status == blas::Status::success)
    return std::make_shared<ProductLibrary>(*api, handle, std::move(cards), card);
  static std::once_flag isSaid;
  sayOnce(isSaid, "products on GPUs take code that is slower than a library",
          api ? "cublasLtCreate fails with status " + std::to_string(int(status))
              : "no libcublasLt.so.13 is found (pip install nvidia-cublas, or name it in EPL_CUBLASLT)");
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Batches
//===----------------------------------------------------------------------===//

/// The loops of a product without those of one iteration, and two as one where one stride leads through both.
static std::vector<plan::BatchDim> collapse(const plan::ContractT &contract) {
  std::vector<plan::BatchDim> loops;
  for (const plan::BatchDim &loop : contract.batch) {
    if (loop.extent() == 1)
      continue;
    if (!loops.empty()) {
      plan::BatchDim &outer = loops.back();
      if (outer.stride_a() == loop.extent() * loop.stride_a() &&
          outer.stride_b() == loop.extent() * loop.stride_b() &&
          outer.stride_c() == loop.extent() * loop.stride_c()) {
        outer = {outer.extent() * loop.extent(), loop.stride_a(), loop.stride_b(), loop.stride_c()};
        continue;
      }
    }
    loops.push_back(loop);
  }
  return loops;
}

/// Takes out the longest loop, which the library does.
static plan::BatchDim takeLongest(std::vector<plan::BatchDim> &loops) {
  if (loops.empty())
    return {1, 0, 0, 0};
  auto longest = std::ranges::max_element(loops, {}, &plan::BatchDim::extent);
  plan::BatchDim taken = *longest;
  loops.erase(longest);
  return taken;
}

/// The operands of each iteration of some loops; nothing if these are too many.
static std::vector<ProductOperands> unroll(const std::vector<plan::BatchDim> &loops,
                                           const plan::ContractT &contract, const ProductOperands &first) {
  uint64_t operandBytes = elementBytes(contract.type);
  uint64_t resultBytes = elementBytes(typeOf(contract, ContractOperand::c));
  std::vector<ProductOperands> all = {first};
  for (const plan::BatchDim &loop : loops) {
    if (int64_t(all.size()) > kMostCalls / loop.extent())
      return {};
    std::vector<ProductOperands> outer = std::move(all);
    all.clear();
    for (const ProductOperands &begin : outer)
      for (int64_t i = 0; i < loop.extent(); ++i)
        all.push_back({begin.a + uint64_t(i * loop.stride_a()) * operandBytes,
                       begin.b + uint64_t(i * loop.stride_b()) * operandBytes,
                       begin.c + uint64_t(i * loop.stride_c()) * resultBytes, begin.bias});
  }
  return all;
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

namespace {

/// What the library knows of a product. It has matrices in columns: there ours, in rows, are transposed, and
/// c^T = op(b)^T op(a)^T.
struct Descriptors {
  explicit Descriptors(const blas::CublasLt &api) : api(api) {}
  Descriptors(const Descriptors &) = delete;
  ~Descriptors() {
    if (product)
      api.cublasLtMatmulDescDestroy(product);
    for (blas::Layout layout : {a, b, c})
      if (layout)
        api.cublasLtMatrixLayoutDestroy(layout);
  }

  /// Whether the library takes the product.
  bool make(const plan::ContractT &contract, const plan::BatchDim &batch, bool takesTf32);
  /// What it would do with operands that begin at multiples of `alignments`: whether it takes the product.
  bool choose(blas::Handle handle, const ProductOperands &alignments, blas::Choice &choice) const;

  const blas::CublasLt &api;
  blas::Product product = nullptr;
  blas::Layout a = nullptr, b = nullptr, c = nullptr;

private:
  bool makeLayout(blas::Layout &layout, blas::DataType type, int64_t rows, int64_t columns, int64_t leading,
                  int64_t count, int64_t stride) const;
};

} // namespace

static blas::DataType dataTypeOf(plan::ElementType type) {
  switch (type) {
  case plan::ElementType::f64:
    return blas::DataType::f64;
  case plan::ElementType::f16:
    return blas::DataType::f16;
  case plan::ElementType::bf16:
    return blas::DataType::bf16;
  default:
    return blas::DataType::f32;
  }
}

static blas::ComputeType computeTypeOf(plan::ElementType type, bool takesTf32) {
  if (type == plan::ElementType::f64)
    return blas::ComputeType::f64;
  return type == plan::ElementType::f32 && takesTf32 ? blas::ComputeType::tf32 : blas::ComputeType::f32;
}

static bool isGood(blas::Status status) { return status == blas::Status::success; }

static void check(blas::Status status) {
  if (!isGood(status))
    throw Error("cublasLt fails with status " + std::to_string(int(status)));
}

static blas::Epilogue epilogueOf(const plan::ContractT &contract) {
  bool hasBias = contract.has_bias;
  switch (contract.activation) {
  case plan::Activation::relu:
    return hasBias ? blas::Epilogue::biasRelu : blas::Epilogue::relu;
  case plan::Activation::gelu:
    return hasBias ? blas::Epilogue::biasGelu : blas::Epilogue::gelu;
  default:
    return hasBias ? blas::Epilogue::bias : blas::Epilogue::none;
  }
}

/// Of `rows` rows, each `leading` elements behind the one before.
bool Descriptors::makeLayout(blas::Layout &layout, blas::DataType type, int64_t rows, int64_t columns,
                             int64_t leading, int64_t count, int64_t stride) const {
  leading = rows == 1 ? std::max(leading, columns) : leading; // of one row it says nothing
  auto batches = int32_t(count);
  return isGood(api.cublasLtMatrixLayoutCreate(&layout, type, uint64_t(columns), uint64_t(rows), leading)) &&
         isGood(api.cublasLtMatrixLayoutSetAttribute(layout, blas::LayoutAttribute::batchCount, &batches,
                                                     sizeof(batches))) &&
         isGood(api.cublasLtMatrixLayoutSetAttribute(layout, blas::LayoutAttribute::batchStride, &stride,
                                                     sizeof(stride)));
}

bool Descriptors::make(const plan::ContractT &contract, const plan::BatchDim &batch, bool takesTf32) {
  blas::DataType operand = dataTypeOf(contract.type);
  blas::DataType result = dataTypeOf(typeOf(contract, ContractOperand::c));
  blas::DataType scale = operand == blas::DataType::f64 ? operand : blas::DataType::f32;
  int32_t first = contract.transpose_b, second = contract.transpose_a;
  auto set = [&](blas::ProductAttribute attribute, const int32_t &value) {
    return isGood(api.cublasLtMatmulDescSetAttribute(product, attribute, &value, sizeof(value)));
  };
  auto epilogue = int32_t(epilogueOf(contract));
  int64_t m = contract.m, n = contract.n, k = contract.k;
  return isGood(api.cublasLtMatmulDescCreate(&product, computeTypeOf(contract.type, takesTf32), scale)) &&
         set(blas::ProductAttribute::transposeA, first) && set(blas::ProductAttribute::transposeB, second) &&
         set(blas::ProductAttribute::epilogue, epilogue) &&
         makeLayout(a, operand, contract.transpose_a ? k : m, contract.transpose_a ? m : k, contract.lda,
                    batch.extent(), batch.stride_a()) &&
         makeLayout(b, operand, contract.transpose_b ? n : k, contract.transpose_b ? k : n, contract.ldb,
                    batch.extent(), batch.stride_b()) &&
         makeLayout(c, result, m, n, contract.ldc, batch.extent(), batch.stride_c());
}

bool Descriptors::choose(blas::Handle handle, const ProductOperands &alignments, blas::Choice &choice) const {
  blas::Preference preference = nullptr;
  if (!isGood(api.cublasLtMatmulPreferenceCreate(&preference)))
    return false;
  auto set = [&](blas::PreferenceAttribute attribute, const auto &value) {
    return isGood(api.cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value)));
  };
  auto align = [&](blas::PreferenceAttribute attribute, CUdeviceptr alignment) {
    return set(attribute, uint32_t(alignment));
  };
  using Attribute = blas::PreferenceAttribute;
  int found = 0;
  bool isChosen = set(Attribute::workspace, kMostWorkspace) &&
                  set(Attribute::reductions, blas::kInComputeType) &&
                  align(Attribute::alignmentA, alignments.b) && align(Attribute::alignmentB, alignments.a) &&
                  align(Attribute::alignmentC, alignments.c) && align(Attribute::alignmentD, alignments.c) &&
                  isGood(api.cublasLtMatmulAlgoGetHeuristic(handle, product, b, a, c, c, preference, 1,
                                                            &choice, &found)) &&
                  found == 1 && isGood(choice.state);
  api.cublasLtMatmulPreferenceDestroy(preference);
  return isChosen;
}

struct ProductLibrary::Chosen {
  explicit Chosen(const blas::CublasLt &api) : descriptors(api) {}

  Descriptors descriptors;
  blas::Choice choice{};
};

ProductLibrary::ProductLibrary(const blas::CublasLt &api, blas::Handle handle,
                               std::shared_ptr<const Cards> cards, uint32_t card)
    : api(api), handle(handle), cards(std::move(cards)), card(card),
      takesTf32(isSwitchedOn("EPL_CUDA_TF32")) {}

ProductLibrary::~ProductLibrary() {
  known.clear();
  if (cards->tryUse(card))
    api.cublasLtDestroy(handle);
}

std::shared_ptr<const ProductLibrary::Chosen>
ProductLibrary::choose(const plan::ContractT &contract, const plan::BatchDim &batch,
                       const ProductOperands &alignments) const {
  Key key = {int64_t(contract.type),
             contract.widens,
             contract.transpose_a,
             contract.transpose_b,
             contract.has_bias,
             int64_t(contract.activation),
             contract.m,
             contract.n,
             contract.k,
             contract.lda,
             contract.ldb,
             contract.ldc,
             batch.extent(),
             batch.stride_a(),
             batch.stride_b(),
             batch.stride_c(),
             int64_t(alignments.a),
             int64_t(alignments.b),
             int64_t(alignments.c)};
  std::lock_guard<std::mutex> guard(mutex);
  if (auto at = known.find(key); at != known.end())
    return at->second;
  auto made = std::make_shared<Chosen>(api);
  if (!made->descriptors.make(contract, batch, takesTf32) ||
      !made->descriptors.choose(handle, alignments, made->choice))
    made = nullptr;
  return known.emplace(std::move(key), std::move(made)).first->second;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// The largest powers of two up to 256 that divide the addresses of all calls.
static ProductOperands alignmentsOf(const std::vector<ProductOperands> &calls) {
  ProductOperands bits{0, 0, 0};
  for (const ProductOperands &call : calls)
    bits = {bits.a | call.a, bits.b | call.b, bits.c | call.c};
  return {alignmentOf(bits.a), alignmentOf(bits.b), alignmentOf(bits.c)};
}

std::optional<ProductCall> ProductCall::make(std::shared_ptr<const ProductLibrary> library,
                                             const plan::ContractT &contract,
                                             const ProductOperands &operands) {
  std::vector<plan::BatchDim> loops = collapse(contract);
  bool isEmpty = contract.m == 0 || contract.n == 0 || contract.k == 0 ||
                 std::ranges::any_of(loops, [](const plan::BatchDim &loop) { return loop.extent() == 0; });
  if (isEmpty)
    return std::nullopt;
  plan::BatchDim batch = takeLongest(loops);
  ProductCall call;
  call.calls = unroll(loops, contract, operands);
  if (call.calls.empty() || batch.extent() > INT32_MAX)
    return std::nullopt;
  call.chosen = library->choose(contract, batch, alignmentsOf(call.calls));
  if (!call.chosen)
    return std::nullopt;
  call.library = std::move(library);
  call.accumulates = contract.accumulate;
  call.isDouble = contract.type == plan::ElementType::f64;
  return call;
}

size_t ProductCall::workspaceBytes() const { return chosen->choice.workspace; }

void ProductCall::enqueue(CUdeviceptr workspace, CUstream stream) const {
  // Factors are of the type that sums are in.
  const double doubles[] = {0, 1};
  const float floats[] = {0, 1};
  auto factor = [&](bool isOne) {
    return isDouble ? static_cast<const void *>(&doubles[isOne]) : static_cast<const void *>(&floats[isOne]);
  };
  auto pointer = [](CUdeviceptr address) { return reinterpret_cast<void *>(address); };
  const Descriptors &made = chosen->descriptors;
  const blas::Choice &choice = chosen->choice;
  for (const ProductOperands &call : calls) {
    // The descriptor is that of all products that are alike; the library reads it in the call.
    if (call.bias)
      check(library->api.cublasLtMatmulDescSetAttribute(made.product, blas::ProductAttribute::bias,
                                                        &call.bias, sizeof(call.bias)));
    check(library->api.cublasLtMatmul(library->handle, made.product, factor(true), pointer(call.b), made.b,
                                      pointer(call.a), made.a, factor(accumulates), pointer(call.c), made.c,
                                      pointer(call.c), made.c, &choice.algorithm, pointer(workspace),
                                      choice.workspace, stream));
  }
}

} // namespace epl::runtime::cuda
