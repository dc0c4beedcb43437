// Mutations of buffers: their sizes, their places, their slots.

#include "test/unit/mutation/Mutations.h"

namespace epl::runtime::test {
namespace {

std::string number(uint32_t buffer) { return "b" + std::to_string(buffer); }

/// A mutation for each buffer that `change` accepts.
template <typename Accept, typename Change>
std::vector<Mutation> eachBuffer(const plan::PlanT &plan, const std::string &what, const Accept &accept,
                                 const Change &change) {
  std::vector<Mutation> list;
  for (uint32_t buffer = 0; buffer < plan.buffers.size(); ++buffer)
    if (accept(*plan.buffers[buffer]))
      list.push_back({"buffer " + number(buffer) + " " + what, {number(buffer)}, [=](plan::PlanT &mutant) {
                        change(*mutant.buffers[buffer]);
                      }});
  return list;
}

bool any(const plan::BufferT &) { return true; }
bool inArena(const plan::BufferT &buffer) { return buffer.slot < 0 && buffer.view_of < 0; }
bool isView(const plan::BufferT &buffer) { return buffer.view_of >= 0; }
bool inSlot(const plan::BufferT &buffer) { return buffer.slot >= 0; }

template <typename... Lists> std::vector<Mutation> join(std::vector<Mutation> first, Lists... others) {
  (first.insert(first.end(), others.begin(), others.end()), ...);
  return first;
}

std::vector<Mutation> shrunk(const plan::PlanT &plan) {
  return join(eachBuffer(plan, "a byte smaller", any, [](plan::BufferT &buffer) { --buffer.size; }),
              eachBuffer(plan, "of half the size", any, [](plan::BufferT &buffer) { buffer.size /= 2; }),
              eachBuffer(plan, "empty", any, [](plan::BufferT &buffer) { buffer.size = 0; }));
}

/// Harmless where a contraction or a collective uses less than the buffer, and nothing lies behind it.
std::vector<Mutation> grown(const plan::PlanT &plan) {
  return join(eachBuffer(plan, "a byte larger", any, [](plan::BufferT &buffer) { ++buffer.size; }),
              eachBuffer(plan, "twice as large", any, [](plan::BufferT &buffer) { buffer.size *= 2; }));
}

/// Harmless where the new place is free while the buffer lives.
std::vector<Mutation> moved(const plan::PlanT &plan) {
  std::vector<Mutation> list;
  for (uint64_t offset = 0; offset < plan.arena_size; offset += 64) {
    auto elsewhere = [=](const plan::BufferT &buffer) { return inArena(buffer) && buffer.offset != offset; };
    // What the buffer then meets may be what the message names.
    for (Mutation &mutation : eachBuffer(plan, "at " + std::to_string(offset), elsewhere,
                                         [=](plan::BufferT &buffer) { buffer.offset = offset; })) {
      mutation.names.clear();
      list.push_back(std::move(mutation));
    }
  }
  return list;
}

std::vector<Mutation> misplaced(const plan::PlanT &plan) {
  uint64_t arena = plan.arena_size;
  return join(
      eachBuffer(plan, "a byte further", inArena, [](plan::BufferT &buffer) { ++buffer.offset; }),
      eachBuffer(plan, "at the arena's end", inArena, [=](plan::BufferT &buffer) { buffer.offset = arena; }),
      eachBuffer(plan, "at no address", inArena,
                 [](plan::BufferT &buffer) { buffer.offset = UINT64_MAX - 63; }));
}

/// Two buffers at one place.
std::vector<Mutation> aliased(const plan::PlanT &plan) {
  std::vector<Mutation> list;
  for (uint32_t a = 0; a < plan.buffers.size(); ++a)
    for (uint32_t b = 0; b < plan.buffers.size(); ++b)
      if (inArena(*plan.buffers[a]) && inArena(*plan.buffers[b]) &&
          plan.buffers[a]->offset != plan.buffers[b]->offset)
        list.push_back({"buffer " + number(a) + " on " + number(b), {}, [=](plan::PlanT &mutant) {
                          mutant.buffers[a]->offset = mutant.buffers[b]->offset;
                        }});
  return list;
}

std::vector<Mutation> arenaSizes(const plan::PlanT &plan) {
  std::vector<Mutation> list;
  for (uint64_t size : {plan.arena_size - 64, plan.arena_size - 1, plan.arena_size / 2, uint64_t(0)})
    if (size < plan.arena_size)
      list.push_back({"arena of " + std::to_string(size) + " bytes", {}, [=](plan::PlanT &mutant) {
                        mutant.arena_size = size;
                      }});
  return list;
}

std::vector<Mutation> slotsAliased(const plan::PlanT &plan) {
  std::vector<Mutation> list;
  for (uint32_t a = 0; a < plan.buffers.size(); ++a)
    for (uint32_t slot = 0; slot < plan.slots.size(); ++slot)
      if (plan.buffers[a]->slot != int32_t(slot))
        list.push_back({"buffer " + number(a) + " in slot s" + std::to_string(slot),
                        {},
                        [=](plan::PlanT &mutant) { mutant.buffers[a]->slot = int32_t(slot); }});
  return list;
}

std::vector<Mutation> slotsSwapped(const plan::PlanT &plan) {
  std::vector<Mutation> list;
  for (uint32_t a = 0; a < plan.buffers.size(); ++a)
    for (uint32_t b = 0; b < a; ++b)
      if (inSlot(*plan.buffers[a]) && inSlot(*plan.buffers[b]) &&
          plan.buffers[a]->size == plan.buffers[b]->size)
        list.push_back(
            {"slots of " + number(a) + " and " + number(b) + " swapped", {}, [=](plan::PlanT &mutant) {
               std::swap(mutant.buffers[a]->slot, mutant.buffers[b]->slot);
             }});
  return list;
}

std::vector<Mutation> slotsLost(const plan::PlanT &plan) {
  std::vector<Mutation> list;
  for (Mutation &mutation : eachBuffer(plan, "in the arena", inSlot,
                                       [](plan::BufferT &buffer) { buffer.slot = -1, buffer.offset = 0; })) {
    mutation.names.clear();
    list.push_back(std::move(mutation));
  }
  return list;
}

/// Another part of the buffer, all of which one command may have written.
std::vector<Mutation> viewsMoved(const plan::PlanT &plan) {
  return join(
      eachBuffer(plan, "a part further", isView, [](plan::BufferT &view) { view.offset += view.size; }),
      eachBuffer(plan, "at the first part", isView, [](plan::BufferT &view) { view.offset = 0; }),
      eachBuffer(plan, "a byte further", isView, [](plan::BufferT &view) { ++view.offset; }),
      eachBuffer(plan, "at no address", isView, [](plan::BufferT &view) { view.offset = UINT64_MAX - 63; }));
}

/// A view of another buffer, or of none.
std::vector<Mutation> viewsAliased(const plan::PlanT &plan) {
  std::vector<Mutation> list;
  for (int32_t whole = -1; whole <= int32_t(plan.buffers.size()); ++whole)
    for (Mutation &mutation : eachBuffer(plan, "of buffer " + std::to_string(whole), isView,
                                         [=](plan::BufferT &view) { view.view_of = whole; })) {
      mutation.names.clear();
      list.push_back(std::move(mutation));
    }
  return list;
}

} // namespace

std::vector<MutationClass> memoryMutations() {
  return {{"buffer shrunk", Promise::harmless, shrunk},
          {"buffer grown", Promise::harmless, grown},
          {"buffer moved", Promise::harmless, moved},
          {"buffer misplaced", Promise::harmless, misplaced},
          {"buffer on another", Promise::harmless, aliased},
          {"arena shrunk", Promise::harmless, arenaSizes},
          {"slot aliased", Promise::harmless, slotsAliased},
          {"slots swapped", Promise::harmless, slotsSwapped},
          {"slot's buffer in the arena", Promise::harmless, slotsLost},
          {"view moved", Promise::harmless, viewsMoved},
          {"view of another buffer", Promise::harmless, viewsAliased}};
}

} // namespace epl::runtime::test
