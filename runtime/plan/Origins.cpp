#include "runtime/plan/Origins.h"

#include "runtime/plan/Access.h"
#include "runtime/plan/Names.h"

#include <algorithm>
#include <map>
#include <set>

namespace epl::runtime {
namespace {

/// Who wrote the bytes of one buffer of one rank last.
class WriterMap {
public:
  void write(ByteRange bytes, int64_t writer) {
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
    int64_t writer;
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

/// The origins that one rank sees.
class Recorder {
public:
  using Origin = std::pair<uint32_t, int32_t>; // operand, writer
  struct Record {
    std::vector<std::set<Origin>> commands;
    std::vector<std::set<int32_t>> slots;
  };

  Recorder(const plan::PlanT &plan, const Mesh &mesh, uint32_t rank, Record &record)
      : plan(plan), mesh(mesh), rank(rank), record(record), memory(plan.buffers.size()) {}

  void run(const std::vector<std::vector<Access>> &accesses) {
    for (uint32_t buffer = 0; buffer < plan.buffers.size(); ++buffer)
      if (plan.buffers[buffer]->slot >= 0 && slotOf(buffer).role != plan::SlotRole::result)
        memory[buffer].write({0, plan.buffers[buffer]->size}, -1);
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
        memory[access.buffer].write(bytes, command);
      else
        memory[access.buffer].read(bytes, [&](int64_t writer) {
          record.commands[command].insert({access.operand, int32_t(writer)});
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
        memory[found->second].read({0, plan.buffers[found->second]->size},
                                   [&](int64_t writer) { record.slots[slot].insert(int32_t(writer)); });
    }
  }

  const plan::PlanT &plan;
  const Mesh &mesh;
  uint32_t rank; // whose memory it is
  Record &record;
  std::vector<WriterMap> memory; // of each buffer
};

/// Finds `key` in an ascending list and ticks it off.
template <typename List, typename Key, typename Projection>
bool tick(const List &list, const Key &key, const Projection &projection, std::vector<bool> &met) {
  auto it = std::ranges::lower_bound(list, key, {}, projection);
  if (it == list.end() || projection(*it) != key)
    return false;
  met[size_t(it - list.begin())] = true;
  return true;
}

} // namespace

void recordOrigins(plan::PlanT &plan) {
  Mesh mesh(plan);
  std::vector<std::vector<Access>> accesses;
  for (const auto &command : plan.commands)
    accesses.push_back(accessesOf(plan, mesh, *command));
  Recorder::Record record{.commands = std::vector<std::set<Recorder::Origin>>(plan.commands.size()),
                          .slots = std::vector<std::set<int32_t>>(plan.slots.size())};
  for (uint32_t rank : distinctRanks(mesh, accesses))
    Recorder(plan, mesh, rank, record).run(accesses);
  for (size_t command = 0; command < plan.commands.size(); ++command) {
    plan.commands[command]->origins.clear();
    for (auto [operand, writer] : record.commands[command])
      plan.commands[command]->origins.emplace_back(operand, writer);
  }
  for (size_t slot = 0; slot < plan.slots.size(); ++slot)
    plan.slots[slot]->origins.assign(record.slots[slot].begin(), record.slots[slot].end());
}

OriginList::OriginList(const plan::PlanT &plan) : plan(plan) {
  for (const auto &command : plan.commands)
    commands.emplace_back(command->origins.size());
  for (const auto &slot : plan.slots)
    slots.emplace_back(slot->origins.size());
}

bool OriginList::meet(uint32_t command, uint32_t operand, int64_t writer) {
  auto key = [](const plan::Origin &origin) {
    return std::pair(origin.operand(), int64_t(origin.command()));
  };
  return tick(plan.commands[command]->origins, std::pair(operand, writer), key, commands[command]);
}

bool OriginList::meetResult(uint32_t slot, int64_t writer) {
  auto key = [](int32_t origin) { return int64_t(origin); };
  return tick(plan.slots[slot]->origins, writer, key, slots[slot]);
}

std::string originName(const plan::PlanT &plan, int64_t writer) {
  return writer < 0 ? "the caller" : "command " + commandName(plan, uint32_t(writer));
}

} // namespace epl::runtime
