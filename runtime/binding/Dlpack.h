// Memory of cards for other libraries, by DLPack.

#ifndef EPL_RUNTIME_BINDING_DLPACK_H
#define EPL_RUNTIME_BINDING_DLPACK_H

#include "runtime/session/State.h"

#include <nanobind/nanobind.h>

namespace epl::runtime::binding {

/// How another library takes a block of memory.
struct DlpackRequest {
  uint8_t code;     ///< of the elements' type: DLDataTypeCode
  bool isVersioned; ///< as a `DLManagedTensorVersioned`, of DLPack 1.0 and later
  bool isCopy;      ///< nobody else has the memory, so that it may be written
};

/// A capsule of a shard in memory of a card, which `owner` keeps. Whoever takes the tensor out of it lets go
/// of that by its deleter, in whatever thread, with or without the interpreter's lock.
nanobind::object makeDlpack(const Shard &shard, const TensorType &type, uint32_t card,
                            std::shared_ptr<const void> owner, const DlpackRequest &request);

} // namespace epl::runtime::binding

#endif // EPL_RUNTIME_BINDING_DLPACK_H
