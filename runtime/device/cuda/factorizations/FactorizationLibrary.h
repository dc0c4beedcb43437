// cuSOLVER and cuBLAS on a card.
#ifndef EPL_RUNTIME_DEVICE_CUDA_FACTORIZATIONS_FACTORIZATIONLIBRARY_H
#define EPL_RUNTIME_DEVICE_CUDA_FACTORIZATIONS_FACTORIZATIONLIBRARY_H

#include "runtime/device/cuda/Cards.h"
#include "runtime/device/cuda/factorizations/Cusolver.h"
#include "runtime/plan/format/plan_generated.h"

#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace epl::runtime::cuda {

/// Handles of the libraries for the factorizations of a plan on one card. Each stream has its own: a handle
/// has memory that its calls share, which streams that run side by side may not.
class FactorizationLibrary {
public:
  /// What of the libraries a plan needs.
  struct Needs {
    bool solver = false, blas = false;
  };
  /// By the kernels of all of a plan's parts.
  static Needs needsOf(const plan::PlanT &plan);

  /// Null if nothing is needed. A library that is missing, or that does not work on the card, is said once on
  /// stderr: what needs it is left to the host. Throws Error if a library lacks a function.
  static std::shared_ptr<const FactorizationLibrary> open(std::shared_ptr<const Cards> cards, uint32_t card,
                                                          Needs needs);
  FactorizationLibrary(std::shared_ptr<const Cards> cards, uint32_t card);
  FactorizationLibrary(const FactorizationLibrary &) = delete;
  ~FactorizationLibrary();

  struct Handles {
    solver::Handle solver = nullptr;
    solver::Params params = nullptr;
    solver::BlasHandle blas = nullptr;
  };
  /// Those whose calls go to a stream: made when they are first asked for, which takes memory, so not while a
  /// graph is captured. Throws Error if a library fails. The card is the calling thread's, here and below.
  const Handles &on(CUstream stream) const;

  /// Bytes that a factorization of one matrix works in.
  struct Workspace {
    size_t device = 0, host = 0;
  };
  /// Null if there is no library for it, or if that refuses it, which is said once on stderr. The library is
  /// asked once for factorizations that are alike; `alignment`: by which power of two all addresses can be
  /// divided, as other kernels of the library may be chosen by that.
  const Workspace *find(const plan::FactorizationT &shape, CUdeviceptr alignment) const;

  /// Null if there is none.
  const solver::Cusolver *solver = nullptr;
  const solver::Cublas *blas = nullptr;

private:
  using Key = std::vector<int64_t>; // all of a factorization that its workspace depends on

  Handles make(CUstream stream) const;
  void destroy(const Handles &handles) const;
  std::unique_ptr<const Workspace> ask(const plan::FactorizationT &shape) const;

  std::shared_ptr<const Cards> cards;
  uint32_t card;
  mutable std::mutex mutex;
  Handles asked; // on no stream of ours: questions alone
  mutable std::map<CUstream, Handles> handles;
  mutable std::map<Key, std::unique_ptr<const Workspace>> known; // null: refused
};

/// The type of a factorization's elements.
solver::DataType dataTypeOf(const plan::FactorizationT &shape);

/// To cuSOLVER, which takes no matrix with fewer rows than columns, a wide one is its transpose: in columns
/// that is what lies in rows.
bool isTall(const plan::FactorizationT &svd);
/// Which vectors gesvd makes: none, all, or as many as there are singular values.
signed char jobOf(const plan::FactorizationT &svd);

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_FACTORIZATIONS_FACTORIZATIONLIBRARY_H
