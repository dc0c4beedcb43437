// The devices "cpu:N": virtual ones, as many as wished, whose memory is the process's own.
#ifndef EPL_RUNTIME_DEVICE_CPU_CPUDEVICES_H
#define EPL_RUNTIME_DEVICE_CPU_CPUDEVICES_H

#include "runtime/device/Device.h"

namespace epl::runtime {

class CpuDevices final : public DeviceSet {
public:
  bool usesHostMemory() const override { return true; }
  std::unique_ptr<Allocation> allocate(uint32_t device, size_t size, Memory::Fill fill) override;
  void copyIn(const std::byte *host, Allocation &to) override;
  void copyOut(const Allocation &from, std::byte *host) override;
  void copy(const Allocation &from, Allocation &to) override;
  std::unique_ptr<Code> load(const plan::PlanT &plan) override;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_DEVICE_CPU_CPUDEVICES_H
