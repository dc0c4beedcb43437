#include "runtime/device/cpu/CpuDevices.h"

#include "runtime/Error.h"
#include "runtime/device/cpu/Commands.h"
#include "runtime/device/cpu/Features.h"
#include "runtime/plan/model/Images.h"

#include <cstring>
#include <new>
#include <string>

namespace epl::runtime {

namespace {

class CpuAllocation final : public Allocation {
public:
  explicit CpuAllocation(Memory memory)
      : Allocation(memory.data(), memory.size()), memory(std::move(memory)) {}

private:
  Memory memory;
};

/// There may be no memory where there are no bytes.
void copyBytes(const std::byte *from, std::byte *to, size_t size) {
  if (size != 0)
    std::memcpy(to, from, size);
}

} // namespace

std::unique_ptr<Allocation> CpuDevices::allocate(uint32_t device, size_t size, Memory::Fill fill) {
  try {
    return std::make_unique<CpuAllocation>(Memory(size, fill));
  } catch (const std::bad_alloc &) {
    throw Error("device " + std::to_string(device) + " has no " + std::to_string(size) + " bytes of memory");
  }
}

void CpuDevices::copyIn(const std::byte *host, Allocation &to) { copyBytes(host, to.address(), to.size()); }

void CpuDevices::copyOut(const Allocation &from, std::byte *host) {
  copyBytes(from.address(), host, from.size());
}

void CpuDevices::copy(const Allocation &from, Allocation &to) {
  copyBytes(from.address(), to.address(), from.size());
}

std::unique_ptr<Code> CpuDevices::load(const plan::PlanT &plan) {
  checkCpuFeatures(cpuFeaturesOf(plan));
  const plan::ImageT *image = findImage(plan, plan::ImageKind::elf);
  return std::make_unique<CpuCode>(image ? std::span<const uint8_t>(image->bytes)
                                         : std::span<const uint8_t>());
}

} // namespace epl::runtime
