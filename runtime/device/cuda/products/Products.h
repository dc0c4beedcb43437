// Products of a plan by cublasLt.
#ifndef EPL_RUNTIME_DEVICE_CUDA_PRODUCTS_PRODUCTS_H
#define EPL_RUNTIME_DEVICE_CUDA_PRODUCTS_PRODUCTS_H

#include "runtime/device/cuda/Cards.h"
#include "runtime/device/cuda/LibraryWork.h"
#include "runtime/device/cuda/products/CublasLt.h"
#include "runtime/plan/format/plan_generated.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace epl::runtime::cuda {

/// Addresses of the operands of a product.
struct ProductOperands {
  CUdeviceptr a, b, c, bias = 0; ///< bias: 0 of a product without one
};

/// The library on a card.
class ProductLibrary {
public:
  /// Null if there is no library, or if it does not work on the card, which is said once on stderr. Throws
  /// Error if EPL_CUDA_TF32 is no switch.
  static std::shared_ptr<const ProductLibrary> open(std::shared_ptr<const Cards> cards, uint32_t card);
  ProductLibrary(const blas::CublasLt &api, blas::Handle handle, std::shared_ptr<const Cards> cards,
                 uint32_t card);
  ProductLibrary(const ProductLibrary &) = delete;
  ~ProductLibrary();

  struct Chosen;
  /// What the library does for a product in a batch whose operands begin at multiples of `alignments`; null
  /// if it does not take it. It is asked once for products that are alike. The card is the calling thread's.
  std::shared_ptr<const Chosen> choose(const plan::ContractT &contract, const plan::BatchDim &batch,
                                       const ProductOperands &alignments) const;

  const blas::CublasLt &api;
  const blas::Handle handle;

private:
  using Key = std::vector<int64_t>; // all of a product that a choice depends on

  std::shared_ptr<const Cards> cards;
  uint32_t card;
  bool takesTf32; // f32 is multiplied with 10 of its 23 bits
  mutable std::mutex mutex;
  mutable std::map<Key, std::shared_ptr<const Chosen>> known;
};

/// c = op(a) op(b) (+ c), or what the plan's Contract has with an epilogue, as calls of the library.
class ProductCall : public LibraryWork {
public:
  /// What the library does for a product whose operands are at some addresses; nothing if it does not take
  /// it: an extent is 0, or its batch would need many calls.
  static std::optional<ProductCall> make(std::shared_ptr<const ProductLibrary> library,
                                         const plan::ContractT &contract, const ProductOperands &operands);

  size_t workspaceBytes() const override;
  void enqueue(CUdeviceptr workspace, CUstream stream) const override;
  const void *choice() const override { return chosen.get(); }

private:
  ProductCall() = default;

  std::shared_ptr<const ProductLibrary> library;
  std::shared_ptr<const ProductLibrary::Chosen> chosen;
  bool accumulates = false, isDouble = false;
  std::vector<ProductOperands> calls; // of each part of the batch that the library does at once
};

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_PRODUCTS_PRODUCTS_H
