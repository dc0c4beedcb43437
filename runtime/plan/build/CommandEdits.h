// What commands name, to be changed: buffers, and other commands; and copies beside them.

#ifndef EPL_RUNTIME_PLAN_BUILD_COMMAND_EDITS_H
#define EPL_RUNTIME_PLAN_BUILD_COMMAND_EDITS_H

#include "runtime/plan/format/plan_generated.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace epl::runtime {

/// Calls `visit` with each buffer index that the command holds, those of its guards among them.
void forEachBuffer(plan::CommandT &command, const std::function<void(uint32_t &)> &visit);

/// Has a command name others (those that it waits for, the other half of an all-reduce, the parts of
/// attention) by new indices.
void renumber(plan::CommandT &command, const std::function<uint32_t(uint32_t)> &indexOf);

/// A copy of a whole buffer, to or from what is a slot's, whose owner does it; it is on lane 0, and waits for
/// nothing.
std::unique_ptr<plan::CommandT> makeCopy(const plan::PlanT &plan, std::string name, const plan::SlotT &slot,
                                         uint32_t source, uint32_t target);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_BUILD_COMMAND_EDITS_H
