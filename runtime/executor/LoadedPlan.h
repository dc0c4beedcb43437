// A plan that is loaded on devices: a program for each of its meshes, and what they send each other.
#ifndef EPL_RUNTIME_EXECUTOR_LOADEDPLAN_H
#define EPL_RUNTIME_EXECUTOR_LOADEDPLAN_H

#include "runtime/executor/Backend.h"
#include "runtime/executor/Program.h"

#include <deque>

namespace epl::runtime {

/// Everything that runs of a plan, which no step changes.
class LoadedPlan {
public:
  /// `plan` has passed the verifier, as every plan that the reader gives has, and is for devices of the
  /// backend's kind, of which `ranks` are here. Throws Error if their code cannot run here, if a kernel or a
  /// library is missing, or if the collectives do not reach all that they need.
  LoadedPlan(std::shared_ptr<const plan::PlanT> plan, Backend backend, LocalRanks ranks);
  /// All ranks are here.
  LoadedPlan(const std::shared_ptr<const plan::PlanT> &plan, Backend backend)
      : LoadedPlan(plan, std::move(backend), LocalRanks::all(*plan)) {}
  LoadedPlan(const LoadedPlan &) = delete;

  const plan::PlanT &plan() const { return *source; }
  const std::shared_ptr<DeviceSet> &devices() const { return backend.devices; }
  /// Which ranks are here, and the device that each rank is.
  const LocalRanks &ranks() const { return here; }

  /// One for each mesh: the plan's parts, in order.
  uint32_t numPrograms() const { return uint32_t(programs.size()); }
  const Program &program(uint32_t part) const { return programs[part]; }
  const Channels &channels() const { return transfers; }
  BoundCollectives &collectives() const { return *boundCollectives; }
  /// All commands, of devices that run a step as a whole; else null.
  BoundStep *step() const { return boundStep.get(); }

private:
  std::shared_ptr<const plan::PlanT> source;
  Backend backend;
  LocalRanks here;
  std::unique_ptr<Code> code;
  Channels transfers;
  std::unique_ptr<BoundStep> boundStep;
  std::unique_ptr<BoundCollectives> boundCollectives;
  std::deque<Program> programs;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_EXECUTOR_LOADEDPLAN_H
