// The stages of the plan verifier. Each needs a plan that passed the stages before it.

#ifndef EPL_RUNTIME_PLAN_VERIFY_VERIFY_STAGES_H
#define EPL_RUNTIME_PLAN_VERIFY_VERIFY_STAGES_H

#include "runtime/plan/format/Report.h"
#include "runtime/plan/format/plan_generated.h"
#include "runtime/plan/model/Devices.h"
#include "runtime/plan/verify/Addresses.h"

#include <string>
#include <vector>

namespace epl::runtime {

inline constexpr size_t maxLanes = 64;
inline constexpr size_t maxCommunicators = maxLanes;     // each that is used has a lane
inline constexpr size_t maxImageBytes = size_t(1) << 28; // a FlatBuffer holds less than 2 GiB

/// Images and kernels. A part of the first stage.
void checkCode(const plan::PlanT &plan, Report &report);

/// Axes, communicators, slots, buffers without their offsets, kernels, lanes.
void checkTables(const plan::PlanT &plan, Report &report);

/// Each command by itself: indices, types, sizes, what it may write.
void checkCommands(const plan::PlanT &plan, Report &report);

/// A contraction, or the gradient of attention, by itself: whether nothing is wrong with it. A part of that
/// stage.
bool checkContraction(const plan::PlanT &plan, uint32_t command, Report &report);

/// The halves of each all-reduce: that they name each other, and are of one all-reduce.
void checkHalves(const plan::PlanT &plan, Report &report);

/// What touches slots in memory of the host: copies on lanes for these, and nothing else.
void checkHostSlots(const plan::PlanT &plan, Report &report);

/// What comes from outside and goes there: one command for each such slot, on lanes for these.
void checkOutside(const plan::PlanT &plan, Report &report);

/// Where buffers lie, and that waits name earlier commands.
void checkLayout(const plan::PlanT &plan, Report &report);

/// What a library may run as attention, or as its gradient: that its commands name one another and fit
/// together, and that nobody else reads what they hand to one another.
void checkAttention(const plan::PlanT &plan, Report &report);

/// Units of commands, and that no lane does them in another order than the schedule.
void checkUnits(const plan::PlanT &plan, Report &report);

/// What is wrong with an owner, as a part of a sentence; empty if it is one member of a communicator of the
/// plan.
std::string faultOf(const plan::PlanT &plan, const plan::Owner &owner);

/// What commands that only an owner runs have written is read by that owner, or by others behind a copy from
/// it; a result that all ranks have holds such a copy.
void checkOwners(const plan::PlanT &plan, Report &report);

/// What commands that may be skipped have written is read by no other command than may be.
void checkBranches(const plan::PlanT &plan, Report &report);

/// The operands of a command: what it writes meets nothing else of it. A part of the last stage.
void checkOperands(const plan::PlanT &plan, const Mesh &mesh, const Addresses &addresses, uint32_t command,
                   const std::vector<Access> &accesses, Report &report);

/// The plan on all ranks: no race, nothing read before it is written, every result written. Returns how many
/// states of bytes it looked at, which tests hold to a bound.
uint64_t checkMemory(const plan::PlanT &plan, Report &report);

/// What a plan is as a whole, and its parts are not: channels need parts; a plan with parts has nothing else.
void checkWhole(const plan::PlanT &plan, Report &report);

/// The schedules of all meshes together: each is a table that ends.
void checkSchedules(const plan::PlanT &plan, Report &report);

/// The parts of a plan together; each has passed all stages.
void checkParts(const plan::PlanT &plan, Report &report);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_VERIFY_VERIFY_STAGES_H
