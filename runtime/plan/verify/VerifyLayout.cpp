// A stage of the plan verifier: where buffers lie, that waits and origins name earlier commands, so that
// nothing can wait for itself, and that origins ascend, so that they can be found by bisection.

#include "runtime/plan/verify/VerifyStages.h"

#include "runtime/plan/model/Lifetime.h"
#include "runtime/plan/model/Names.h"
#include "runtime/plan/model/Origins.h"

namespace epl::runtime {
namespace {

/// The writers of one list are commands before `end`, or the caller, and the list ascends.
/// `user` names whose they are.
template <typename User>
void checkOriginList(const User &user, const std::vector<plan::Origin> &origins, size_t end, Report &report) {
  for (size_t i = 0; i < origins.size(); ++i)
    if (int32_t command = origins[i].command(); command < -1 || command >= int64_t(end))
      report.add(user(), " has command ", command, " as an origin, expected -1 or more and less than ", end);
    else if (i > 0 && !ascend(origins[i - 1], origins[i]))
      report.add(user(), " has origins that do not ascend at the one of index ", i);
}

void checkOrigins(const plan::PlanT &plan, Report &report) {
  for (uint32_t i = 0; i < plan.commands.size(); ++i)
    checkOriginList([&] { return "command " + commandName(plan, i); }, plan.commands[i]->origins, i, report);
  for (uint32_t i = 0; i < plan.slots.size(); ++i)
    checkOriginList([&] { return "slot " + slotName(plan, i); }, plan.slots[i]->origins, plan.commands.size(),
                    report);
}

/// All bytes of a rank have an address.
void checkMemorySize(const plan::PlanT &plan, Report &report) {
  uint64_t bytes = plan.arena_size;
  for (const auto &buffer : plan.buffers)
    if (buffer->slot >= 0 && __builtin_add_overflow(bytes, buffer->size, &bytes))
      return report.add("arena and slots of a rank have 2^64 bytes or more");
}

void checkWaits(const plan::PlanT &plan, Report &report) {
  for (uint32_t i = 0; i < plan.commands.size(); ++i)
    for (const plan::Wait &wait : plan.commands[i]->waits) {
      if (wait.command() >= i)
        report.add("command ", commandName(plan, i), " waits for command ", wait.command(),
                   ", expected an earlier one");
      if (wait.scope() < plan::WaitScope::MIN || wait.scope() > plan::WaitScope::MAX)
        report.add("command ", commandName(plan, i), " waits with scope ", int(wait.scope()),
                   ", which does not exist");
      if (wait.scope() == plan::WaitScope::members && wait.communicator() >= plan.communicators.size())
        report.add("command ", commandName(plan, i), " waits for communicator ", wait.communicator(), " of ",
                   plan.communicators.size());
    }
}

} // namespace

void checkLayout(const plan::PlanT &plan, Report &report) {
  if (plan.arena_size % arenaAlignment != 0)
    report.add("arena has ", plan.arena_size, " bytes, expected a multiple of ", arenaAlignment);
  for (uint32_t i = 0; i < plan.buffers.size(); ++i) {
    const plan::BufferT &buffer = *plan.buffers[i];
    if (buffer.slot >= 0 || buffer.view_of >= 0)
      continue;
    if (buffer.offset % arenaAlignment != 0)
      report.add("buffer ", bufferName(plan, i), " is at offset ", buffer.offset, ", expected a multiple of ",
                 arenaAlignment);
    if (buffer.offset > plan.arena_size || buffer.size > plan.arena_size - buffer.offset)
      report.add("buffer ", bufferName(plan, i), " is ", buffer.size, " bytes at offset ", buffer.offset,
                 ", beyond the arena of ", plan.arena_size);
  }
  checkMemorySize(plan, report);
  checkOrigins(plan, report);
  checkWaits(plan, report);
}

} // namespace epl::runtime
