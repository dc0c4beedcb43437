// A plan that is loaded on devices: a program for each of its meshes, and what they send each other.
#ifndef EPL_RUNTIME_EXECUTOR_LOADEDPLAN_H
#define EPL_RUNTIME_EXECUTOR_LOADEDPLAN_H

#include "runtime/executor/Program.h"

#include <deque>

namespace epl::runtime {

/// Everything that runs of a plan, which no step changes.
class LoadedPlan {
public:
  /// `plan` has passed the verifier, as every plan that the reader gives has. Throws Error if it is for other
  /// devices or another CPU, or if a kernel or a library is missing.
  LoadedPlan(std::shared_ptr<const plan::PlanT> plan, const std::string &devices);
  LoadedPlan(const LoadedPlan &) = delete;

  const plan::PlanT &plan() const { return *source; }
  uint32_t numDevices() const { return source->devices; }

  /// One for each mesh: the plan's parts, in order.
  uint32_t numPrograms() const { return uint32_t(programs.size()); }
  const Program &program(uint32_t part) const { return programs[part]; }
  /// The device that a rank of a part is.
  uint32_t device(uint32_t part, uint32_t rank) const { return devices[part][rank]; }
  const Channels &channels() const { return transfers; }

private:
  std::shared_ptr<const plan::PlanT> source;
  Image image;
  Channels transfers;
  std::deque<Program> programs;
  std::vector<std::vector<uint32_t>> devices; // of the ranks of each part
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_EXECUTOR_LOADEDPLAN_H
