// Factorizations of a plan by cuSOLVER and cuBLAS.
#ifndef EPL_RUNTIME_DEVICE_CUDA_FACTORIZATIONS_FACTORIZATIONCALL_H
#define EPL_RUNTIME_DEVICE_CUDA_FACTORIZATIONS_FACTORIZATIONCALL_H

#include "runtime/device/cuda/LibraryWork.h"
#include "runtime/device/cuda/factorizations/FactorizationLibrary.h"

#include <optional>

namespace epl::runtime::cuda {

/// The plugin's own kernels that stand around the calls (kernels/Arguments.h).
struct FactorizationKernels {
  CUfunction matrices; ///< of the factorization's type
  CUfunction pivots;
};

/// A kernel of the plan that is a factorization, as calls of a library: one for each matrix of its batch,
/// between kernels that bring all of the batch into the library's form and back.
///
/// Results are those of runtime/device/cpu/Factorization.h, but for two things that the libraries choose:
/// the signs of eigenvectors, singular vectors and reflectors, and the last bits. Whether a matrix has a
/// factorization is seen by kernels alone, on the card: nobody waits.
class FactorizationCall : public LibraryWork {
public:
  /// `operands`: where its inputs and outputs are, then. Nothing if the host is to compute it: matrices
  /// without elements, many small ones, and what the library refuses. The kernel outlives it.
  static std::optional<FactorizationCall> make(std::shared_ptr<const FactorizationLibrary> library,
                                               const Driver &api, const plan::KernelT &kernel,
                                               std::vector<CUdeviceptr> operands,
                                               const FactorizationKernels &kernels);
  /// A call for each matrix costs the host some microseconds, in which it factors a small one itself: how
  /// many small ones are left to the library, and up to which extent they are small. No card has been asked.
  static constexpr int64_t kMostSmall = 64, kSmallExtent = 64;

  size_t workspaceBytes() const override { return layout.total; }
  void enqueue(CUdeviceptr workspace, CUstream stream) const override;
  /// NVIDIA's documents say that calls may be captured of
  /// cuBLAS ("CUDA Graphs Support", with a workspace that the caller gives). Of cuSOLVER they only say that
  /// it prefers not to wait; its eigenvalues and singular values are found in part by the host, with memory
  /// of it, and do wait.
  bool isCapturable() const override;
  const void *choice() const override { return asked; }

private:
  /// Where things are in the workspace, in bytes.
  struct Layout {
    size_t copies = 0;          ///< of the matrices, in columns, which the library overwrites
    size_t left = 0, right = 0; ///< an svd's vectors in columns
    size_t pivots = 0;          ///< of 64 bits
    size_t infos = 0, odd = 0;  ///< ints of each matrix
    size_t own = 0;             ///< the library's
    size_t total = 0;
  };
  class Enqueuing;

  FactorizationCall() = default;
  void takeLayout();

  std::shared_ptr<const FactorizationLibrary> library;
  const Driver *api = nullptr;
  const plan::FactorizationT *shape = nullptr;
  int64_t count = 0; // of matrices
  std::vector<CUdeviceptr> operands;
  FactorizationKernels kernels{};
  const FactorizationLibrary::Workspace *asked = nullptr; // what a call works in
  Layout layout;
  std::shared_ptr<std::vector<std::byte>> host; // the part of that which is the host's
};

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_FACTORIZATIONS_FACTORIZATIONCALL_H
