// Mutations of what the parts of a plan send each other, and of where its parts are. Other plans have none.

#include "test/unit/mutation/Mutations.h"

#include <algorithm>
#include <numeric>

namespace epl::runtime::test {
namespace {

using plan::PlanT;

/// The fields that both ends of a channel have.
struct End {
  uint32_t &channel, &message, &depth, &buffer;
  plan::ElementType &type;
  std::vector<int64_t> &shape;
  std::vector<std::unique_ptr<plan::DimShardingT>> &sharding;
};

/// An end of a channel: a send or a receive of a part.
struct Place {
  uint32_t part, command;
  bool operator==(const Place &) const = default;
};

End endAt(PlanT &plan, Place place) {
  plan::ActionUnion &action = plan.parts[place.part]->plan->commands[place.command]->action;
  if (plan::SendT *send = action.AsSend())
    return {send->channel, send->message, send->depth, send->source, send->type, send->shape, send->sharding};
  plan::ReceiveT *receive = action.AsReceive();
  return {receive->channel, receive->message, receive->depth,   receive->target,
          receive->type,    receive->shape,   receive->sharding};
}

std::vector<Place> endsOf(const PlanT &plan) {
  std::vector<Place> ends;
  for (uint32_t part = 0; part < plan.parts.size(); ++part)
    for (uint32_t command = 0; command < plan.parts[part]->plan->commands.size(); ++command)
      if (auto type = plan.parts[part]->plan->commands[command]->action.type;
          type == plan::Action::Send || type == plan::Action::Receive)
        ends.push_back({part, command});
  return ends;
}

std::string nameOf(Place place) {
  return "#" + std::to_string(place.command) + " of part " + std::to_string(place.part);
}

/// A mutation for each end, with what `change` does to its fields.
template <typename Change>
std::vector<Mutation> eachEnd(const PlanT &plan, const std::string &what, const Change &change) {
  std::vector<Mutation> list;
  for (Place place : endsOf(plan))
    list.push_back({nameOf(place) + " " + what, {}, [=](PlanT &mutant) { change(endAt(mutant, place)); }});
  return list;
}

template <typename... Lists> std::vector<Mutation> join(std::vector<Mutation> first, Lists... others) {
  (first.insert(first.end(), others.begin(), others.end()), ...);
  return first;
}

std::vector<Mutation> channels(const PlanT &plan) {
  return join(eachEnd(plan, "on the next channel", [](End end) { ++end.channel; }),
              eachEnd(plan, "on the channel before", [](End end) { --end.channel; }),
              eachEnd(plan, "on channel 0", [](End end) { end.channel = 0; }));
}

/// A ring in which another message is in the place of one.
std::vector<Mutation> messages(const PlanT &plan) {
  return join(eachEnd(plan, "of the next message", [](End end) { ++end.message; }),
              eachEnd(plan, "of the message before", [](End end) { --end.message; }),
              eachEnd(plan, "of message 0", [](End end) { end.message = 0; }));
}

std::vector<Mutation> messagesSwapped(const PlanT &plan) {
  std::vector<Mutation> list;
  std::vector<Place> ends = endsOf(plan);
  for (size_t a = 0; a < ends.size(); ++a)
    for (size_t b = 0; b < a; ++b)
      list.push_back({nameOf(ends[a]) + " and " + nameOf(ends[b]) + " with each other's messages",
                      {},
                      [one = ends[a], other = ends[b]](PlanT &mutant) {
                        std::swap(endAt(mutant, one).message, endAt(mutant, other).message);
                      }});
  return list;
}

/// A channel with room for more or fewer messages, at one end or at all.
std::vector<Mutation> depths(const PlanT &plan) {
  auto all = [&](const std::string &what, auto change) {
    std::vector<Mutation> list;
    for (uint32_t channel = 0; channel < endsOf(plan).size() / 2; ++channel)
      list.push_back({"channel " + std::to_string(channel) + what, {}, [=](PlanT &mutant) {
                        for (Place place : endsOf(mutant))
                          if (End end = endAt(mutant, place); end.channel == channel)
                            change(end);
                      }});
    return list;
  };
  return join(eachEnd(plan, "of a deeper channel", [](End end) { ++end.depth; }),
              eachEnd(plan, "of a flatter channel", [](End end) { --end.depth; }),
              all(" deeper", [](End end) { ++end.depth; }), all(" flatter", [](End end) { --end.depth; }),
              all(" without room", [](End end) { end.depth = 0; }));
}

/// Two ends that exchange their channels. Two sends of equal tensors are accepted: they mean something else.
std::vector<Mutation> channelsSwapped(const PlanT &plan) {
  std::vector<Mutation> list;
  std::vector<Place> ends = endsOf(plan);
  for (size_t a = 0; a < ends.size(); ++a)
    for (size_t b = 0; b < a; ++b)
      list.push_back({nameOf(ends[a]) + " and " + nameOf(ends[b]) + " swapped",
                      {},
                      [one = ends[a], other = ends[b]](PlanT &mutant) {
                        std::swap(endAt(mutant, one).channel, endAt(mutant, other).channel);
                      }});
  return list;
}

/// Both ends of two channels that exchange their numbers: these are names.
std::vector<Mutation> channelsRenamed(const PlanT &plan) {
  std::vector<Mutation> list;
  size_t count = endsOf(plan).size() / 2;
  for (uint32_t a = 1; a < count; ++a)
    list.push_back(
        {"channels " + std::to_string(a - 1) + " and " + std::to_string(a), {}, [=](PlanT &mutant) {
           for (Place place : endsOf(mutant)) {
             uint32_t &channel = endAt(mutant, place).channel;
             channel = channel == a ? a - 1 : channel == a - 1 ? a : channel;
           }
         }});
  return list;
}

std::vector<Mutation> tensors(const PlanT &plan) {
  return join(eachEnd(plan, "of another width",
                      [](End end) {
                        bool wide = end.type == plan::ElementType::f64 || end.type == plan::ElementType::i64;
                        end.type = wide ? plan::ElementType::f32 : plan::ElementType::f64;
                      }),
              eachEnd(plan, "of another type of that width",
                      [](End end) {
                        end.type = end.type == plan::ElementType::f32   ? plan::ElementType::i32
                                   : end.type == plan::ElementType::i32 ? plan::ElementType::f32
                                                                        : plan::ElementType::i8;
                      }),
              eachEnd(plan, "twice as long",
                      [](End end) {
                        if (!end.shape.empty())
                          end.shape.front() *= 2;
                      }),
              eachEnd(plan, "of one more element", [](End end) { end.shape.push_back(2); }));
}

std::vector<Mutation> shardings(const PlanT &plan) {
  return join(eachEnd(plan, "whole",
                      [](End end) {
                        for (auto &dim : end.sharding)
                          dim->axes.clear();
                      }),
              eachEnd(plan, "split by an axis that is not there",
                      [](End end) {
                        if (!end.sharding.empty())
                          end.sharding.front()->axes = {"nowhere"};
                      }),
              eachEnd(plan, "of one dimension less", [](End end) {
                if (!end.sharding.empty())
                  end.sharding.pop_back();
              }));
}

/// The parts of another dimension: as many bytes, other elements. Of a square tensor also with its extents.
std::vector<Mutation> shardingsReversed(const PlanT &plan) {
  return join(
      eachEnd(plan, "split in another dimension", [](End end) { std::ranges::reverse(end.sharding); }),
      eachEnd(plan, "with its dimensions reversed",
              [](End end) { std::ranges::reverse(end.shape), std::ranges::reverse(end.sharding); }));
}

std::vector<Mutation> buffers(const PlanT &plan) {
  std::vector<Mutation> list;
  for (Place place : endsOf(plan)) {
    const PlanT &part = *plan.parts[place.part]->plan;
    for (uint32_t buffer = 0; buffer < part.buffers.size(); ++buffer)
      list.push_back({nameOf(place) + " with b" + std::to_string(buffer), {}, [=](PlanT &mutant) {
                        endAt(mutant, place).buffer = buffer;
                      }});
  }
  return list;
}

/// Without an end, or with one twice.
std::vector<Mutation> ends(const PlanT &plan) {
  std::vector<Mutation> list;
  for (Place place : endsOf(plan)) {
    auto reorder = [=](PlanT &mutant, bool isTwice) {
      PlanT &part = *mutant.parts[place.part]->plan;
      std::vector<uint32_t> order(part.commands.size());
      std::iota(order.begin(), order.end(), 0);
      if (isTwice)
        order.insert(order.begin() + place.command, place.command);
      else
        order.erase(order.begin() + place.command);
      reorderCommands(part, order);
    };
    list.push_back({nameOf(place) + " left out", {}, [=](PlanT &mutant) { reorder(mutant, false); }});
    list.push_back({nameOf(place) + " twice", {}, [=](PlanT &mutant) { reorder(mutant, true); }});
  }
  return list;
}

/// The order of parts is nobody's business.
std::vector<Mutation> partOrder(const PlanT &plan) {
  std::vector<Mutation> list;
  for (size_t part = 1; part < plan.parts.size(); ++part)
    list.push_back({"parts " + std::to_string(part - 1) + " and " + std::to_string(part),
                    {},
                    [=](PlanT &mutant) { std::swap(mutant.parts[part - 1], mutant.parts[part]); }});
  return list;
}

template <typename Change>
std::vector<Mutation> eachPart(const PlanT &plan, const std::string &what, const Change &change) {
  std::vector<Mutation> list;
  for (size_t part = 0; part < plan.parts.size(); ++part)
    list.push_back({"part " + std::to_string(part) + " " + what, {}, [=](PlanT &mutant) {
                      change(*mutant.parts[part]);
                    }});
  return list;
}

/// Which device a rank is changes nothing of what it computes, as long as each device is one rank.
std::vector<Mutation> devices(const PlanT &plan) {
  return join(
      eachPart(plan, "a device further", [](plan::PartT &part) { ++part.first; }),
      eachPart(plan, "from no device", [](plan::PartT &part) { part.first = UINT32_MAX; }),
      eachPart(plan, "with its strides reversed",
               [](plan::PartT &part) { std::ranges::reverse(part.strides); }),
      eachPart(plan, "with strides of 1", [](plan::PartT &part) { std::ranges::fill(part.strides, 1); }),
      eachPart(plan, "with strides of 0", [](plan::PartT &part) { std::ranges::fill(part.strides, 0); }),
      eachPart(plan, "with a stride more", [](plan::PartT &part) { part.strides.push_back(1); }));
}

std::vector<Mutation> slots(const PlanT &plan) {
  std::vector<Mutation> list;
  for (size_t part = 0; part < plan.parts.size(); ++part)
    for (size_t slot = 0; slot < plan.parts[part]->slots.size(); ++slot)
      for (uint32_t whole = 0; whole <= plan.slots.size(); ++whole)
        if (plan.parts[part]->slots[slot] != whole)
          list.push_back({"slot s" + std::to_string(slot) + " of part " + std::to_string(part) + " is s" +
                              std::to_string(whole),
                          {},
                          [=](PlanT &mutant) { mutant.parts[part]->slots[slot] = whole; }});
  return join(list, eachPart(plan, "without its last slot", [](plan::PartT &part) { part.slots.pop_back(); }),
              eachPart(plan, "with its first slot last",
                       [](plan::PartT &part) { std::ranges::rotate(part.slots, part.slots.begin() + 1); }));
}

/// A mutation for each slot of a part that has rows of the caller's tensor.
std::vector<Mutation> eachWithRows(const PlanT &plan, const std::string &what,
                                   const std::function<void(plan::SlotT &)> &change) {
  std::vector<Mutation> list;
  for (size_t part = 0; part < plan.parts.size(); ++part)
    for (size_t slot = 0; slot < plan.parts[part]->plan->slots.size(); ++slot)
      if (plan.parts[part]->plan->slots[slot]->caller_rows)
        list.push_back({"slot s" + std::to_string(slot) + " of part " + std::to_string(part) + " " + what,
                        {},
                        [=](PlanT &mutant) { change(*mutant.parts[part]->plan->slots[slot]); }});
  return list;
}

std::vector<Mutation> rows(const PlanT &plan) {
  auto moved = [](int64_t first, int64_t count) {
    return [=](plan::SlotT &slot) {
      const plan::CallerRows &own = *slot.caller_rows;
      slot.caller_rows = std::make_unique<plan::CallerRows>(own.first() + first, own.count() + count);
    };
  };
  return join(
      eachWithRows(plan, "a row later", moved(1, 0)), eachWithRows(plan, "a row earlier", moved(-1, 0)),
      eachWithRows(plan, "of a row more", moved(0, 1)), eachWithRows(plan, "of a row less", moved(0, -1)),
      eachWithRows(plan, "a row later of a row more", moved(1, 1)),
      eachWithRows(plan, "of all rows", [](plan::SlotT &slot) { slot.caller_rows.reset(); }));
}

} // namespace

std::vector<MutationClass> channelMutations() {
  return {{"channel replaced", Promise::harmless, channels},
          {"channels of two ends swapped", Promise::anotherProgram, channelsSwapped},
          {"channels renamed", Promise::harmless, channelsRenamed},
          {"message of a channel replaced", Promise::harmless, messages},
          {"messages of two ends swapped", Promise::anotherProgram, messagesSwapped},
          {"depth of a channel changed", Promise::harmless, depths},
          {"tensor of a channel changed", Promise::harmless, tensors},
          {"sharding at a channel changed", Promise::harmless, shardings},
          {"sharding at a channel reversed", Promise::anotherProgram, shardingsReversed},
          {"buffer of a channel replaced", Promise::harmless, buffers},
          {"end of a channel missing or twice", Promise::harmless, ends},
          {"parts in another order", Promise::harmless, partOrder},
          {"devices of a part changed", Promise::harmless, devices},
          {"slots of a part changed", Promise::harmless, slots},
          {"rows of a slot changed", Promise::harmless, rows}};
}

} // namespace epl::runtime::test
