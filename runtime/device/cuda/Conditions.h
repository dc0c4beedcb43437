// What kernels of guarded commands look at before they begin: the conditions of each command, on the cards.
#ifndef EPL_RUNTIME_DEVICE_CUDA_CONDITIONS_H
#define EPL_RUNTIME_DEVICE_CUDA_CONDITIONS_H

#include "runtime/device/cuda/CudaMemory.h"
#include "runtime/plan/format/plan_generated.h"

#include <functional>
#include <map>
#include <span>
#include <vector>

namespace epl::runtime::cuda {

/// A list of conditions for each rank and each set of guards, where it stays: the addresses in it change with
/// what is bound, and no argument of a kernel does.
class Conditions {
public:
  /// A rank that is here, as a number, with its card and the plan of its mesh.
  struct Place {
    uint32_t card;
    const plan::PlanT *plan;
  };
  /// The address of a buffer of a rank.
  using AddressOf = std::function<CUdeviceptr(uint32_t rank, uint32_t buffer)>;

  /// Throws Error if there is no memory left.
  Conditions(const std::shared_ptr<const Cards> &cards, std::span<const Place> ranks);

  /// Where those of a command are on its card; 0 if it runs in any case.
  CUdeviceptr of(uint32_t rank, const plan::CommandT &command) const;
  /// Puts addresses into the lists, while no step runs.
  void bind(const AddressOf &addressOf, Copies &copies);

private:
  using Guards = std::vector<std::pair<uint32_t, bool>>; // a buffer and what is expected of it
  struct List {
    uint32_t rank, card;
    Guards guards;
    CUdeviceptr place;
    std::vector<uint64_t> words; // as they are on the card
  };

  static Guards guardsOf(const plan::CommandT &command);

  std::vector<List> lists;
  std::map<std::pair<uint32_t, Guards>, size_t> numbers; // of the lists, by rank and guards
  std::vector<std::unique_ptr<CudaAllocation>> memory;   // of each card with lists
};

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_CONDITIONS_H
