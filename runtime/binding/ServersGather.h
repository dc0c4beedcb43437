// All-gathers of a worker of parameter servers, as Python has them.

#ifndef EPL_RUNTIME_BINDING_SERVERSGATHER_H
#define EPL_RUNTIME_BINDING_SERVERSGATHER_H

#include "runtime/binding/OwnThreads.h"
#include "runtime/servers/drive/Gather.h"

namespace epl::runtime::binding {

struct ServersGather {
  explicit ServersGather(std::unique_ptr<servers::Gather> gather) : gather(std::move(gather)) {}

  OwnThreads<servers::Gather> gather;
};

} // namespace epl::runtime::binding

#endif // EPL_RUNTIME_BINDING_SERVERSGATHER_H
