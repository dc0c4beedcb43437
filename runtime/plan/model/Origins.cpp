#include "runtime/plan/model/Origins.h"

#include "runtime/plan/model/CaseMap.h"
#include "runtime/plan/model/Names.h"
#include "runtime/plan/model/Outside.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <set>
#include <tuple>

namespace epl::runtime {
namespace {

using OriginKey = std::tuple<uint32_t, int64_t, uint32_t, int32_t, uint64_t>; // the fields in order

OriginKey keyOf(const plan::Origin &origin) {
  return {origin.operand(), origin.command(), origin.output(), origin.communicator(), origin.offset()};
}

std::vector<plan::Origin> toOrigins(const std::set<OriginKey> &keys) {
  std::vector<plan::Origin> origins;
  origins.reserve(keys.size());
  for (auto [operand, command, output, communicator, offset] : keys)
    origins.emplace_back(operand, int32_t(command), output, communicator, offset);
  return origins;
}

/// Finds the origins that all ranks see.
class Recorder {
public:
  explicit Recorder(plan::PlanT &plan) : plan(plan), mesh(plan), cuts(mesh) {
    memory.reserve(plan.buffers.size());
    for (const auto &buffer : plan.buffers) { // views have nothing of their own
      uint64_t size = buffer->view_of < 0 ? buffer->size : 0;
      memory.emplace_back(cuts, size);
      if (std::optional<Writer> writer = writerBefore(*buffer))
        memory.back().assign({0, size}, holdersOf(*buffer), writer);
    }
  }

  void run() {
    for (uint32_t command = 0; command < plan.commands.size(); ++command) {
      std::set<OriginKey> found;
      for (const Access &access : accessesOf(plan, mesh, *plan.commands[command]))
        if (!access.remote || mesh.memberCount(access.communicator) > 1)
          step(command, access, found);
      plan.commands[command]->origins = toOrigins(found);
    }
    recordResults();
  }

private:
  /// Who wrote bytes last; nobody knows what is in memory that nothing has written.
  using Memory = CaseMap<std::optional<Writer>>;

  std::optional<Writer> writerBefore(const plan::BufferT &buffer) const {
    if (buffer.slot < 0 || !isGiven(*plan.slots[size_t(buffer.slot)]))
      return std::nullopt;
    return Writer{-1, uint32_t(buffer.slot)};
  }

  /// The ranks that have the storage of a slot's buffer.
  Condition holdersOf(const plan::BufferT &buffer) {
    return cuts.conditionOf(ownersOf(*plan.slots[size_t(buffer.slot)])).value();
  }

  void step(uint32_t command, const Access &access, std::set<OriginKey> &found) {
    Memory &bytes = memory[access.root];
    cuts.visit(access, access.offset, [&](ByteRange range, const Condition &condition) {
      if (access.write)
        return bytes.assign(range, condition, Writer{command, access.operand});
      bytes.visit(range, condition, [&](ByteRange, const Memory::Case &each) {
        if (each.state)
          found.insert({access.operand, each.state->command, each.state->output, communicatorOf(access),
                        access.offset});
      });
    });
  }

  void recordResults() {
    std::map<int32_t, uint32_t> storage; // the buffer of each slot that has one
    for (uint32_t buffer = 0; buffer < plan.buffers.size(); ++buffer)
      storage[plan.buffers[buffer]->slot] = buffer;
    for (uint32_t slot = 0; slot < plan.slots.size(); ++slot) {
      const plan::SlotT &result = *plan.slots[slot];
      auto found = storage.find(result.updates >= 0 ? result.updates : int32_t(slot));
      bool isHere = isResult(result) && found != storage.end();
      plan.slots[slot]->origins = isHere ? writersOf(found->second) : std::vector<plan::Origin>();
    }
  }

  std::vector<plan::Origin> writersOf(uint32_t buffer) {
    std::set<OriginKey> found;
    memory[buffer].visit({0, plan.buffers[buffer]->size}, holdersOf(*plan.buffers[buffer]),
                         [&](ByteRange, const Memory::Case &each) {
                           if (each.state)
                             found.insert({0, each.state->command, each.state->output, -1, 0});
                         });
    return toOrigins(found);
  }

  plan::PlanT &plan;
  Mesh mesh;
  Cuts cuts;
  std::vector<Memory> memory; // of each buffer
};

/// Finds an origin in an ascending list and ticks it off.
bool tick(const std::vector<plan::Origin> &origins, const OriginKey &key, std::vector<bool> &met) {
  auto it = std::ranges::lower_bound(origins, key, {}, keyOf);
  if (it == origins.end() || keyOf(*it) != key)
    return false;
  met[size_t(it - origins.begin())] = true;
  return true;
}

} // namespace

void recordOrigins(plan::PlanT &plan) { Recorder(plan).run(); }

OriginList::OriginList(const plan::PlanT &plan) : plan(plan) {
  [[maybe_unused]] auto areAscending = [](const std::vector<plan::Origin> &origins) {
    return std::ranges::is_sorted(origins, ascend);
  };
  for (const auto &command : plan.commands) {
    assert(areAscending(command->origins) && "a plan lists origins in ascending order");
    commands.emplace_back(command->origins.size());
  }
  for (const auto &slot : plan.slots) {
    assert(areAscending(slot->origins) && "a plan lists origins in ascending order");
    slots.emplace_back(slot->origins.size());
  }
}

bool OriginList::meet(uint32_t command, const Access &access, Writer writer) {
  return tick(plan.commands[command]->origins,
              {access.operand, writer.command, writer.output, communicatorOf(access), access.offset},
              commands[command]);
}

bool OriginList::meetResult(uint32_t slot, Writer writer) {
  return tick(plan.slots[slot]->origins, {0, writer.command, writer.output, -1, 0}, slots[slot]);
}

bool ascend(const plan::Origin &a, const plan::Origin &b) { return keyOf(a) < keyOf(b); }

std::string writerName(const plan::PlanT &plan, Writer writer) {
  if (writer.command < 0)
    return "the caller's slot " + std::to_string(writer.output);
  return "output " + std::to_string(writer.output) + " of command " +
         commandName(plan, uint32_t(writer.command));
}

} // namespace epl::runtime
