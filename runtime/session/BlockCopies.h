// Copies between a tensor of the host and what a rank holds of it.
#ifndef EPL_RUNTIME_SESSION_BLOCKCOPIES_H
#define EPL_RUNTIME_SESSION_BLOCKCOPIES_H

#include "runtime/device/Device.h"
#include "runtime/session/SlotLayout.h"

namespace epl::runtime {

// `global` is the whole tensor, row-major as the caller has it; the allocation holds the block of `rank`.
// Where the devices have memory of their own, a block that is not contiguous for the caller is packed on the
// way. Throw what the devices throw.

void copyIn(DeviceSet &devices, const SlotLayout &layout, uint32_t rank, const std::byte *global,
            Allocation &block);
void copyOut(DeviceSet &devices, const SlotLayout &layout, uint32_t rank, const Allocation &block,
             std::byte *global);

} // namespace epl::runtime

#endif // EPL_RUNTIME_SESSION_BLOCKCOPIES_H
