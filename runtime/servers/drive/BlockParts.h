// What a block has of tensors that a worker has as a whole.
#ifndef EPL_RUNTIME_SERVERS_DRIVE_BLOCKPARTS_H
#define EPL_RUNTIME_SERVERS_DRIVE_BLOCKPARTS_H

#include "runtime/servers/logic/SetupItems.h"
#include "runtime/session/State.h"

#include <compare>

namespace epl::runtime::servers {

/// What servers hold: a parameter (-1), or which of its states.
struct ValueId {
  uint32_t parameter;
  int32_t state;

  auto operator<=>(const ValueId &) const = default;
};

/// Of the whole value.
TensorType typeOf(const Job &job, ValueId value);

/// What a block has of its parameter (-1), or of a state: where it begins in the whole, and what it is.
struct Part {
  size_t begin; // bytes
  TensorType type;
};

Part partOf(const Job &job, uint32_t block, int32_t state);

/// A view of the part.
HostTensor take(const HostTensor &whole, Part part);

/// A push of a block. `wholes`: all that is pushed for its parameter. A lone tensor stays where it is.
HostTensor pushOf(const Job &job, uint32_t block, const std::vector<HostTensor> &wholes);

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_DRIVE_BLOCKPARTS_H
