// How people see the parts of a plan: index and name, in dumps and errors alike.

#ifndef EPL_RUNTIME_PLAN_MODEL_NAMES_H
#define EPL_RUNTIME_PLAN_MODEL_NAMES_H

#include "runtime/plan/format/Quoted.h"
#include "runtime/plan/format/plan_generated.h"
#include "runtime/plan/model/Access.h"

#include <cstdint>
#include <string>

namespace epl::runtime {

std::string commandName(const plan::PlanT &plan, uint32_t command); // #12 "fused_add"
std::string bufferName(const plan::PlanT &plan, uint32_t buffer);   // b7 "h"
std::string slotName(const plan::PlanT &plan, uint32_t slot);       // s0 "params['w1']"
std::string kernelName(const plan::PlanT &plan, uint32_t kernel);   // k3 "softmax"
std::string unitName(const plan::PlanT &plan, int32_t unit);        // s0.F.m3
std::string operandName(uint32_t operand);                          // operand 1, guard 0

/// A command where it runs, for users: command "matmul" of step.py:3 on rank 1.
std::string commandOnRank(const plan::CommandT &command, uint32_t rank);

/// The phase of a command's work, "backward" of "tg0.backward"; "" if it has none.
std::string phaseName(const plan::CommandT &command);

/// First and last byte: 0..63.
std::string rangeText(ByteRange range);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_NAMES_H
