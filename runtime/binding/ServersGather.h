// All-gathers of a worker of parameter servers, as Python has them.

#ifndef EPL_RUNTIME_BINDING_SERVERSGATHER_H
#define EPL_RUNTIME_BINDING_SERVERSGATHER_H

#include "runtime/servers/drive/Gather.h"

#include <memory>
#include <nanobind/nanobind.h>

namespace epl::runtime::binding {

struct ServersGather {
  explicit ServersGather(std::unique_ptr<servers::Gather> gather) : gather(std::move(gather)) {}
  /// Its threads may be about to take the interpreter's lock.
  ~ServersGather() {
    nanobind::gil_scoped_release unlocked;
    gather = nullptr;
  }
  ServersGather(const ServersGather &) = delete;

  std::unique_ptr<servers::Gather> gather;
};

} // namespace epl::runtime::binding

#endif // EPL_RUNTIME_BINDING_SERVERSGATHER_H
