#include "runtime/plan/model/Origins.h"

#include "runtime/plan/model/Names.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <set>
#include <tuple>

namespace epl::runtime {
namespace {

/// Who wrote the bytes of one buffer of one rank last.
class WriterMap {
public:
  void write(ByteRange bytes, Writer writer) {
    split(bytes.begin);
    split(bytes.end);
    segments.erase(segments.lower_bound(bytes.begin), segments.lower_bound(bytes.end));
    if (bytes.begin < bytes.end)
      segments[bytes.begin] = {bytes.end, writer};
  }

  /// Calls `visit` with the writer of each piece of `bytes` that has one.
  template <typename Visit> void read(ByteRange bytes, const Visit &visit) const {
    auto it = segments.upper_bound(bytes.begin);
    if (it != segments.begin() && std::prev(it)->second.end > bytes.begin)
      --it;
    for (; it != segments.end() && it->first < bytes.end; ++it)
      visit(it->second.writer);
  }

private:
  struct Segment {
    uint64_t end;
    Writer writer;
  };

  void split(uint64_t at) {
    auto it = segments.lower_bound(at);
    if (it == segments.begin() || std::prev(it)->second.end <= at)
      return;
    Segment tail = std::prev(it)->second;
    std::prev(it)->second.end = at;
    segments.emplace_hint(it, at, tail);
  }

  std::map<uint64_t, Segment> segments;
};

using OriginKey = std::tuple<uint32_t, int64_t, uint32_t, int32_t>; // the fields in order

OriginKey keyOf(const plan::Origin &origin) {
  return {origin.operand(), origin.command(), origin.output(), origin.communicator()};
}

/// The origins that one rank sees.
class Recorder {
public:
  struct Record {
    std::vector<std::set<OriginKey>> commands, slots;
  };

  Recorder(const plan::PlanT &plan, const Mesh &mesh, uint32_t rank, Record &record)
      : plan(plan), mesh(mesh), rank(rank), record(record), memory(plan.buffers.size()) {}

  void run(const std::vector<std::vector<Access>> &accesses) {
    for (uint32_t buffer = 0; buffer < plan.buffers.size(); ++buffer)
      if (plan.buffers[buffer]->slot >= 0 && slotOf(buffer).role != plan::SlotRole::result)
        memory[buffer].write({0, plan.buffers[buffer]->size}, {-1, uint32_t(plan.buffers[buffer]->slot)});
    for (uint32_t command = 0; command < accesses.size(); ++command)
      for (const Access &access : accesses[command])
        if (!access.remote || mesh.memberCount(access.communicator) > 1)
          step(command, access);
    recordResults();
  }

private:
  const plan::SlotT &slotOf(uint32_t buffer) const { return *plan.slots[size_t(plan.buffers[buffer]->slot)]; }

  void step(uint32_t command, const Access &access) {
    for (ByteRange bytes : rangesOf(access, mesh, rank))
      if (access.write)
        memory[access.buffer].write(bytes, {command, access.operand});
      else
        memory[access.buffer].read(bytes, [&](Writer writer) {
          record.commands[command].insert(
              {access.operand, writer.command, writer.output, communicatorOf(access)});
        });
  }

  void recordResults() {
    std::map<int32_t, uint32_t> storage; // the buffer of each slot that has one
    for (uint32_t buffer = 0; buffer < plan.buffers.size(); ++buffer)
      storage[plan.buffers[buffer]->slot] = buffer;
    for (uint32_t slot = 0; slot < plan.slots.size(); ++slot) {
      const plan::SlotT &result = *plan.slots[slot];
      auto found = storage.find(result.updates >= 0 ? result.updates : int32_t(slot));
      if (result.role == plan::SlotRole::result && found != storage.end())
        memory[found->second].read({0, plan.buffers[found->second]->size}, [&](Writer writer) {
          record.slots[slot].insert({0, writer.command, writer.output, -1});
        });
    }
  }

  const plan::PlanT &plan;
  const Mesh &mesh;
  uint32_t rank; // whose memory it is
  Record &record;
  std::vector<WriterMap> memory; // of each buffer
};

/// Finds an origin in an ascending list and ticks it off.
bool tick(const std::vector<plan::Origin> &origins, const OriginKey &key, std::vector<bool> &met) {
  auto it = std::ranges::lower_bound(origins, key, {}, keyOf);
  if (it == origins.end() || keyOf(*it) != key)
    return false;
  met[size_t(it - origins.begin())] = true;
  return true;
}

std::vector<plan::Origin> toOrigins(const std::set<OriginKey> &keys) {
  std::vector<plan::Origin> origins;
  origins.reserve(keys.size());
  for (auto [operand, command, output, communicator] : keys)
    origins.emplace_back(operand, int32_t(command), output, communicator);
  return origins;
}

} // namespace

void recordOrigins(plan::PlanT &plan) {
  Mesh mesh(plan);
  std::vector<std::vector<Access>> accesses;
  accesses.reserve(plan.commands.size());
  for (const auto &command : plan.commands)
    accesses.push_back(accessesOf(plan, mesh, *command));
  Recorder::Record record;
  record.commands.resize(plan.commands.size());
  record.slots.resize(plan.slots.size());
  for (uint32_t rank : distinctRanks(mesh, accesses))
    Recorder(plan, mesh, rank, record).run(accesses);
  for (size_t command = 0; command < plan.commands.size(); ++command)
    plan.commands[command]->origins = toOrigins(record.commands[command]);
  for (size_t slot = 0; slot < plan.slots.size(); ++slot)
    plan.slots[slot]->origins = toOrigins(record.slots[slot]);
}

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
              {access.operand, writer.command, writer.output, communicatorOf(access)}, commands[command]);
}

bool OriginList::meetResult(uint32_t slot, Writer writer) {
  return tick(plan.slots[slot]->origins, {0, writer.command, writer.output, -1}, slots[slot]);
}

bool ascend(const plan::Origin &a, const plan::Origin &b) { return keyOf(a) < keyOf(b); }

std::string writerName(const plan::PlanT &plan, Writer writer) {
  if (writer.command < 0)
    return "the caller's slot " + std::to_string(writer.output);
  return "output " + std::to_string(writer.output) + " of command " +
         commandName(plan, uint32_t(writer.command));
}

} // namespace epl::runtime
