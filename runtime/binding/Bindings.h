// The parts of the Python module _epl_runtime, and what they share.
#ifndef EPL_RUNTIME_BINDING_BINDINGS_H
#define EPL_RUNTIME_BINDING_BINDINGS_H

#include "runtime/plan/model/Summary.h"
#include "runtime/session/State.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace epl::runtime::binding {

/// A plan and the figures that reports show.
struct Plan {
  explicit Plan(plan::PlanT loaded)
      : plan(std::make_shared<plan::PlanT>(std::move(loaded))), summary(summarize(*plan)) {}

  std::shared_ptr<const plan::PlanT> plan;
  Summary summary;
};

/// A tuple of what `entries` are cast to.
template <typename Entries> nanobind::tuple tupleOf(const Entries &entries) {
  nanobind::list list;
  for (const auto &entry : entries)
    list.append(nanobind::cast(entry));
  return nanobind::tuple(list);
}

inline std::span<const uint8_t> bytesOf(const nanobind::bytes &bytes) {
  return {static_cast<const uint8_t *>(bytes.data()), bytes.size()};
}

/// A state whose elements are still to be written, and where: (state, boxes as StateBuffer.shards has them).
nanobind::tuple toBeWritten(const std::shared_ptr<StateBuffer> &state);

void bindProcesses(nanobind::module_ &module);
void bindPlan(nanobind::module_ &module);
void bindResults(nanobind::module_ &module);
void bindSession(nanobind::module_ &module);
void bindCaller(nanobind::module_ &module);
void bindServers(nanobind::module_ &module);
void bindGather(nanobind::module_ &module);

} // namespace epl::runtime::binding

#endif // EPL_RUNTIME_BINDING_BINDINGS_H
