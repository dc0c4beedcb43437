// Plans of several meshes, whose parts run side by side.

#ifndef EPL_RUNTIME_PLAN_MODEL_PARTS_H
#define EPL_RUNTIME_PLAN_MODEL_PARTS_H

#include "runtime/plan/format/plan_generated.h"

#include <cstdint>
#include <vector>

namespace epl::runtime {

/// What runs on one mesh: the plan itself, or one of its parts.
std::vector<const plan::PlanT *> meshPlansOf(const plan::PlanT &plan);

/// Where each rank of a part stands in the plan's order of devices.
std::vector<uint32_t> placesOf(const plan::PartT &part);

/// The device at a place of the plan's order, which takes a device of each node in turn; devices are numbered
/// node after node. For a plan that says nothing of nodes they are the same.
uint32_t deviceAt(const plan::PlanT &plan, uint32_t place);

/// The shape of the caller's tensor that a slot is, or has rows of.
std::vector<int64_t> callerShape(const plan::SlotT &slot);

/// How many rows of the caller's tensor a slot has: not of one without dimensions.
inline int64_t ownRows(const plan::SlotT &slot) {
  return slot.caller_shape.empty() ? slot.shape.front() : slot.caller_shape.front();
}

/// A slot as those who hold it see it: itself, or that of the first part that has it.
const plan::SlotT &heldSlot(const plan::PlanT &plan, uint32_t slot);

/// Where a command is: which part, which of its commands.
struct PartCommand {
  uint32_t part, command;
  bool operator==(const PartCommand &) const = default;
};

/// The commands that send and receive the messages of each channel, in their order. Needs a plan that passed
/// the verifier.
struct MessageEnds {
  PartCommand send, receive;
};
std::vector<std::vector<MessageEnds>> channelsOf(const plan::PlanT &plan);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_PARTS_H
