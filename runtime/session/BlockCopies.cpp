#include "runtime/session/BlockCopies.h"

namespace epl::runtime {

void copyIn(DeviceSet &devices, const SlotLayout &layout, uint32_t rank, const std::byte *global,
            Allocation &block) {
  if (devices.usesHostMemory())
    return layout.copyToLocal(rank, global, block.address());
  if (layout.isContiguous())
    return devices.copyIn(global + layout.offset(rank), block);
  Memory packed(layout.localBytes(), Memory::Fill::none);
  layout.copyToLocal(rank, global, packed.data());
  devices.copyIn(packed.data(), block);
}

void copyOut(DeviceSet &devices, const SlotLayout &layout, uint32_t rank, const Allocation &block,
             std::byte *global) {
  if (devices.usesHostMemory())
    return layout.copyToGlobal(rank, block.address(), global);
  if (layout.isContiguous())
    return devices.copyOut(block, global + layout.offset(rank));
  Memory packed(layout.localBytes(), Memory::Fill::none);
  devices.copyOut(block, packed.data());
  layout.copyToGlobal(rank, packed.data(), global);
}

} // namespace epl::runtime
