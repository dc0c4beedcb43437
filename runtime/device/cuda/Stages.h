// Pinned memory for what goes to a card and comes from it, with copies that nobody waits for.
//
//   the host     | writes |                      | writes |
//   arrivals            | copy to the card |             | copy to the card |
//   steps         step before   | copy | step |                  | copy | step
//
// The card's side of an argument is memory of its own: the step before still reads the last argument where
// the graph has it. A copy within the card, between steps, takes a thousandth of what that from the host
// does.
#ifndef EPL_RUNTIME_DEVICE_CUDA_STAGES_H
#define EPL_RUNTIME_DEVICE_CUDA_STAGES_H

#include "runtime/device/cuda/CudaMemory.h"

namespace epl::runtime::cuda {

class CudaArgumentStage final : public ArgumentStage {
public:
  /// Throws Error if there is no memory left.
  CudaArgumentStage(std::shared_ptr<const Cards> cards, uint32_t card, size_t size);
  ~CudaArgumentStage() override;

  std::byte *host() const override { return static_cast<std::byte *>(pinned.get()); }
  bool isFree() override;
  void await() override;
  void send() override;
  void deliver(Allocation &to) override;

private:
  std::shared_ptr<const Cards> cards;
  const Driver &api;
  uint32_t card;
  Pinned pinned;
  std::unique_ptr<CudaAllocation> arrived; // the card's side
  Event sent, delivered;
};

class CudaResultStage final : public ResultStage {
public:
  /// Throws Error if there is no memory left.
  CudaResultStage(std::shared_ptr<const Cards> cards, size_t size);

  void fetch(const Allocation &from) override;
  const std::byte *host() const override { return static_cast<const std::byte *>(pinned.get()); }

private:
  std::shared_ptr<const Cards> cards;
  const Driver &api;
  Pinned pinned;
};

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_STAGES_H
