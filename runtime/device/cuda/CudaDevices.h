// The devices "cuda:..": cards, each with one or several virtual devices.
#ifndef EPL_RUNTIME_DEVICE_CUDA_CUDADEVICES_H
#define EPL_RUNTIME_DEVICE_CUDA_CUDADEVICES_H

#include "runtime/device/cuda/CudaMemory.h"
#include "runtime/device/cuda/Plugin.h"
#include "runtime/device/cuda/collectives/Communicators.h"

namespace epl::runtime::cuda {

class CudaDevices final : public DeviceSet {
public:
  /// As an OpenFunction (Plugin.h).
  explicit CudaDevices(const Devices &devices, std::shared_ptr<ProcessGroup> processes = nullptr);

  bool usesHostMemory() const override { return false; }
  std::optional<uint32_t> cardOf(uint32_t device) const override {
    return cards->number(cards->cardOf(device));
  }
  std::unique_ptr<Allocation> allocate(uint32_t device, size_t size, Memory::Fill fill) override;
  std::unique_ptr<Allocation> allocateInHost(uint32_t device, size_t size) override;
  void copyIn(const std::byte *host, Allocation &to) override;
  void copyOut(const Allocation &from, std::byte *host) override;
  void copy(const Allocation &from, Allocation &to) override;
  std::unique_ptr<ArgumentStage> stageArgument(uint32_t device, size_t size) override;
  std::unique_ptr<ResultStage> stageResult(uint32_t device, size_t size) override;
  std::unique_ptr<Code> load(const plan::PlanT &plan) override;

private:
  std::shared_ptr<Peers> peers;
  std::shared_ptr<const Cards> cards;
  std::shared_ptr<Copies> copies;
  std::shared_ptr<Communicators> communicators;
};

} // namespace epl::runtime::cuda

/// The plugin's function, an OpenFunction (Plugin.h).
extern "C" void eplOpenCudaDevices(const epl::runtime::Devices &devices,
                                   std::shared_ptr<epl::runtime::ProcessGroup> processes,
                                   std::shared_ptr<epl::runtime::DeviceSet> &opened);

#endif // EPL_RUNTIME_DEVICE_CUDA_CUDADEVICES_H
