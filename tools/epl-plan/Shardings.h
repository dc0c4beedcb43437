// Who holds what, and what moves between devices: what epl-plan explains as text and draws.
#ifndef EPL_TOOLS_EPL_PLAN_SHARDINGS_H
#define EPL_TOOLS_EPL_PLAN_SHARDINGS_H

#include "runtime/plan/format/plan_generated.h"
#include "runtime/plan/model/Mesh.h"

#include <cstdint>
#include <string>
#include <vector>

namespace epl::runtime::tool {

/// The devices of a part: "cpu:1, cpu:2 and 6 more".
std::string deviceNames(const plan::PlanT &plan, const plan::PartT &part);

/// A tensor as its caller sees it, with the axes that split its dimensions: `f32[32, 3x32/model]` is of
/// 32 x 96, and a device has a part of each of the three segments of dimension 1.
std::string tensorText(const plan::SlotT &slot);

/// Arguments or results of one kind: equal but for numbers in their names, such as those of layers.
struct Holding {
  std::string name;            // with "*" for the numbers that differ
  std::string tensor;          // as tensorText has it, and behind it who has it, if not all do, or where
  plan::SlotRole role;         // results that update an argument are that
  uint32_t tensors;            // of this kind
  uint64_t bytes;              // of all of them on one device
  uint32_t shares;             // into how many different parts each is split
  std::vector<uint32_t> parts; // for each device the part that it holds
};

/// In the order of the arguments, then of the results that update none.
std::vector<Holding> holdingsOf(const plan::PlanT &plan);

/// Collectives, or receives of what another part of the plan sends, that are equal but for the place: those
/// of a model's layers, or of a loop's iterations.
struct Exchange {
  std::string kind;  // all_reduce, receive
  std::string route; // "over data, model"; of a receive "from channel 3"
  uint32_t members;  // of each
  std::string work;  // tg0.forward
  std::string cause; // the tensor and the ops that are why; the source line if the plan has no more
  uint32_t calls;    // how many there are
  std::vector<uint32_t> commands; // all of theirs: an all-reduce has two
  uint64_t received;              // by a device from others, in all of them
};

/// In program order.
std::vector<Exchange> exchangesOf(const plan::PlanT &plan);

} // namespace epl::runtime::tool

#endif // EPL_TOOLS_EPL_PLAN_SHARDINGS_H
