// What a command of one rank reads in the memory of another rank, byte by byte: what has to be sent where the
// two are in different processes.

#ifndef EPL_RUNTIME_PLAN_MODEL_RUNS_H
#define EPL_RUNTIME_PLAN_MODEL_RUNS_H

#include "runtime/plan/model/Access.h"
#include "runtime/plan/model/Blocks.h"

namespace epl::runtime {

/// Bytes of one buffer, as the command names it.
struct ByteRun {
  uint32_t buffer;
  ByteRange bytes;

  bool operator==(const ByteRun &) const = default;
};

/// What `command` reads on rank `reader` in the memory of rank `holder`, another one: for each buffer
/// ascending and disjoint, in the order of the command's operands. Nothing for a command that is no
/// collective, or if `holder` is no member of its communicator. Equal on every process that computes it: a
/// message between two ranks is these bytes, one run behind the other. No run lies outside of what accessesOf
/// says, which the verifier proves the order of (test/unit/plan/model/RunsTest.cpp). Needs a command that
/// passes the verifier's table checks.
std::vector<ByteRun> runsOf(const plan::PlanT &plan, const Mesh &mesh, const plan::CommandT &command,
                            uint32_t reader, uint32_t holder);

/// Adds what is read of the source of a box, in ascending order.
void addRuns(std::vector<ByteRun> &runs, uint32_t buffer, const SharedBox &box, uint64_t elementBytes);

/// The bytes of all of them.
uint64_t bytesOf(const std::vector<ByteRun> &runs);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_RUNS_H
