// Memory of cards, and copies between them and the host.
#ifndef EPL_RUNTIME_DEVICE_CUDA_CUDAMEMORY_H
#define EPL_RUNTIME_DEVICE_CUDA_CUDAMEMORY_H

#include "runtime/device/Device.h"
#include "runtime/device/cuda/Cards.h"
#include "runtime/device/cuda/Handles.h"

#include <mutex>

namespace epl::runtime::cuda {

/// Memory of one device: on its card, or pinned memory of the host. The cards outlive it.
class CudaAllocation final : public Allocation {
public:
  CudaAllocation(std::shared_ptr<const Cards> cards, uint32_t card, std::byte *start, size_t bytes,
                 MemoryKind kind = MemoryKind::card)
      : Allocation(start, bytes), cards(std::move(cards)), cardIndex(card), kind(kind) {}
  ~CudaAllocation() override;

  uint32_t card() const { return cardIndex; }
  bool isInHost() const { return kind == MemoryKind::pinned; }
  CUdeviceptr pointer() const { return reinterpret_cast<CUdeviceptr>(address()); }

private:
  std::shared_ptr<const Cards> cards;
  uint32_t cardIndex;
  MemoryKind kind;
};

/// Memory of a card for `what`. Throws Error that says how much there is, if there is not so much.
std::unique_ptr<CudaAllocation> allocateOn(const std::shared_ptr<const Cards> &cards, uint32_t card,
                                           size_t size, const std::string &what);

/// Pinned memory of the host, for every card. Throws Error if there is not so much.
std::unique_ptr<CudaAllocation> allocatePinned(const std::shared_ptr<const Cards> &cards, uint32_t card,
                                               size_t size, const std::string &what);

/// A stream for each card, on which copies that are waited for run. Those between the host and a card go
/// through memory that the card reads by itself, in pieces: the caller's is of any kind. For one thread at a
/// time.
class Copies {
public:
  explicit Copies(std::shared_ptr<const Cards> cards);
  Copies(const Copies &) = delete;

  // Complete when they return. Throw Error if the card fails.

  void in(const std::byte *host, CUdeviceptr to, size_t size, uint32_t card);
  void out(CUdeviceptr from, std::byte *host, size_t size, uint32_t card);
  void across(CUdeviceptr from, CUdeviceptr to, size_t size, uint32_t card);
  void clear(CUdeviceptr memory, size_t size, uint32_t card);

private:
  static constexpr size_t kPiece = size_t(4) << 20;

  void finish(uint32_t card, CUresult started);

  std::shared_ptr<const Cards> cards;
  const Driver &api;
  std::mutex mutex;
  std::vector<Stream> streams; // of each card
  Pinned memory;
  std::byte *piece;
};

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_CUDAMEMORY_H
