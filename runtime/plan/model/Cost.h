// What a command takes on one rank, as far as the plan says: for timelines and estimates.

#ifndef EPL_RUNTIME_PLAN_MODEL_COST_H
#define EPL_RUNTIME_PLAN_MODEL_COST_H

#include "runtime/plan/format/plan_generated.h"
#include "runtime/plan/model/Mesh.h"

#include <cstdint>

namespace epl::runtime {

/// The kinds of commands that people tell apart.
enum class CommandKind : uint8_t { compute, collective, copy, transfer };

CommandKind kindOf(const plan::CommandT &command);
const char *kindName(CommandKind kind); // compute, collective, copy, transfer

struct Cost {
  int64_t flops = 0;    // arithmetic; 0 where there is none
  uint64_t bytes = 0;   // read and written, in whosever memory; an operand counts once for each
  uint64_t payload = 0; // of a collective: the tensor that is reduced, gathered or exchanged
  uint64_t received =
      0; // of a collective or a receive: what comes from other ranks; a mean where ranks differ
};

/// Needs a command that passes the verifier's table checks.
Cost costOf(const plan::PlanT &plan, const Mesh &mesh, const plan::CommandT &command);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_COST_H
