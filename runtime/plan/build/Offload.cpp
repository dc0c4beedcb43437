#include "runtime/plan/build/Offload.h"

#include "runtime/plan/build/CommandEdits.h"
#include "runtime/plan/model/Access.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace epl::runtime {
namespace {

/// Brings the bytes of a buffer in the host to one in the arena.
struct CopyIn {
  uint32_t source, target;
  uint64_t upTo; ///< bytes of all copies in up to this one
};

/// The copies that one command is the first to read.
struct Group {
  size_t reader;
  std::vector<CopyIn> copies;
  uint64_t bytes = 0;
  size_t start = 0;                   ///< the command that they stand before
  std::optional<size_t> follows = {}; ///< the group whose reader that is; none: the step begins with them
};

/// Brings the value of a result to the slot that it updates.
struct CopyOut {
  uint32_t slot, source, target;
  size_t place;                 ///< the command that it stands before
  std::optional<size_t> writer; ///< the last one that writes the value; none: the caller does
};

class Offloader {
public:
  Offloader(plan::PlanT &plan, const std::map<uint32_t, uint32_t> &slotBuffers,
            std::map<uint32_t, uint32_t> &results)
      : plan(plan), slotBuffers(slotBuffers), results(results), count(plan.commands.size()) {}

  void run(bool withResults) {
    markSlots(withResults);
    findWriters();
    for (size_t command = 0; command < count; ++command)
      forEachBuffer(*plan.commands[command], [&](uint32_t &buffer) { read(buffer, command); });
    readResults();
    startGroups();
    takeResults();
    rebuild();
  }

private:
  /// States that have dimensions, and what updates them; other results that callers see.
  void markSlots(bool withResults) {
    for (const auto &slot : plan.slots)
      if (slot->role == plan::SlotRole::state ||
          (withResults && slot->role == plan::SlotRole::result && !slot->hidden))
        slot->in_host = !slot->shape.empty() && localBytes(plan, *slot) != 0;
    for (const auto &slot : plan.slots)
      if (slot->updates >= 0)
        slot->in_host = plan.slots[size_t(slot->updates)]->in_host;
  }

  void findWriters() {
    Mesh mesh(plan);
    writers.resize(plan.buffers.size());
    for (size_t command = 0; command < count; ++command)
      for (const Access &access : accessesOf(plan, mesh, *plan.commands[command]))
        if (access.write) {
          writers[access.root] = command;
          firstWriters.try_emplace(access.root, command);
        }
  }

  /// Has a command read a copy of a buffer in the host.
  void read(uint32_t &buffer, size_t reader) {
    if (hostSlotOf(plan, buffer) < 0)
      return;
    uint64_t bytes = plan.buffers[buffer]->size;
    auto [place, isNew] = latest.try_emplace(buffer);
    bool isThere = !isNew && (place->second.reader == reader || copied - place->second.copy.upTo <= bytes);
    if (!isThere) {
      copied += bytes;
      place->second = {reader, {buffer, addTarget(buffer), copied}};
      if (groups.empty() || groups.back().reader != reader)
        groups.push_back({reader, {}});
      groups.back().copies.push_back(place->second.copy);
      groups.back().bytes += bytes;
    }
    buffer = place->second.copy.target;
  }

  uint32_t addTarget(uint32_t source) {
    auto target = std::make_unique<plan::BufferT>();
    target->name = plan.buffers[source]->name;
    target->size = plan.buffers[source]->size;
    plan.buffers.push_back(std::move(target));
    return uint32_t(plan.buffers.size() - 1);
  }

  uint32_t storageOf(uint32_t result) const {
    int32_t updates = plan.slots[result]->updates;
    return slotBuffers.at(updates >= 0 ? uint32_t(updates) : result);
  }

  /// Results that are other states as they came in are read at the end.
  void readResults() {
    for (auto &[slot, value] : results)
      if (value != storageOf(slot))
        read(value, count);
  }

  /// The copies of a group begin with the reader of the last group that is further ahead than they may be.
  void startGroups() {
    uint64_t most = 0, ahead = 0; // the bytes of this group and of those between it and what it follows
    for (const Group &group : groups)
      most = std::max(most, group.bytes);
    size_t next = 0; // the first of those between
    for (size_t index = 0; index < groups.size(); ++index) {
      Group &group = groups[index];
      for (ahead += group.bytes; ahead > most; ++next)
        ahead -= groups[next].bytes;
      if (next == 0)
        continue;
      group.follows = next - 1;
      group.start = groups[next - 1].reader;
    }
  }

  /// New values are copied out behind their last write, and behind the copies of the old ones.
  void takeResults() {
    std::map<uint32_t, size_t> lastCopied; // the places of the last copies in, by the buffer of the slot
    for (const Group &group : groups)
      for (const CopyIn &copy : group.copies)
        lastCopied[rootOf(plan, copy.source)] = group.start;
    for (auto &[slot, value] : results) {
      uint32_t storage = storageOf(slot);
      if (value == storage || !plan.slots[slot]->in_host)
        continue;
      uint32_t root = rootOf(plan, value);
      CopyOut out{slot, value, storage, count, {}}; // at the end, if the value is another state
      if (root < writers.size()) {
        out.writer = writers[root];
        out.place = out.writer ? *out.writer + 1 : 0;
      }
      if (auto copy = lastCopied.find(storage); copy != lastCopied.end())
        out.place = std::max(out.place, copy->second);
      copiesOut.push_back(out);
      if (auto first = firstWriters.find(root); first != firstWriters.end())
        made[first->second] += plan.buffers[value]->size;
      value = storage;
    }
    for (const Group &group : groups)
      made.erase(group.reader);
    for (auto [writer, bytes] : made)
      mostMade = std::max(mostMade, bytes);
    std::ranges::sort(copiesOut, {}, [](const CopyOut &out) { return std::pair(out.place, out.slot); });
  }

  //===--------------------------------------------------------------------===//
  // The commands anew
  //===--------------------------------------------------------------------===//

  uint32_t addLane(plan::LaneKind kind) {
    auto lane = std::make_unique<plan::LaneT>();
    lane->kind = kind;
    plan.lanes.push_back(std::move(lane));
    return uint32_t(plan.lanes.size() - 1);
  }

  void rebuild() {
    if (groups.empty() && copiesOut.empty())
      return;
    laneIn = addLane(plan::LaneKind::copy_in);
    laneOut = addLane(plan::LaneKind::copy_out);
    size_t group = 0, out = 0;
    for (size_t command = 0; command <= count; ++command) {
      for (; group < groups.size() && groups[group].start == command; ++group)
        addGroup(groups[group]);
      for (; out < copiesOut.size() && copiesOut[out].place == command; ++out)
        addOut(copiesOut[out]);
      if (command < count)
        keep(command);
    }
    for (uint32_t index : indices)
      renumber(*commands[index], [&](uint32_t other) { return indices[other]; });
    for (auto [command, out] : waits)
      commands[command]->waits.emplace_back(out, plan::WaitScope::self, 0);
    plan.commands = std::move(commands);
  }

  void keep(size_t command) {
    indices.push_back(uint32_t(commands.size()));
    std::optional<uint32_t> out = made.contains(command) ? lastFarBehind() : std::nullopt;
    if (plan.lanes[plan.commands[command]->lane]->kind == plan::LaneKind::compute)
      computed = indices.back();
    commands.push_back(std::move(plan.commands[command]));
    if (out)
      waits.emplace_back(indices.back(), *out);
  }

  /// The last copy out so far behind which come more bytes of others than one command makes.
  std::optional<uint32_t> lastFarBehind() const {
    uint64_t bytes = 0;
    for (size_t i = outs.size(); i-- > 0; bytes += plan.buffers[copiesOut[i].source]->size)
      if (bytes + plan.buffers[copiesOut[i].source]->size > mostMade)
        return outs[i].second;
    return std::nullopt;
  }

  /// A copy that people find where `near` is, the command that reads or makes its value; null if the caller
  /// does. It is of no unit: it may run ahead of that of its reader.
  plan::CommandT &addCopy(const std::string &name, const plan::SlotT &slot, uint32_t source, uint32_t target,
                          const plan::CommandT *near) {
    commands.push_back(makeCopy(plan, name + " " + slot.name, slot, source, target));
    if (near) {
      commands.back()->location = near->location;
      commands.back()->work = near->work;
    }
    return *commands.back();
  }

  void addGroup(const Group &group) {
    const plan::CommandT *reader = group.reader < count ? plan.commands[group.reader].get() : nullptr;
    for (const CopyIn &in : group.copies) {
      plan::CommandT &copy =
          addCopy("copy in", *plan.slots[size_t(hostSlotOf(plan, in.source))], in.source, in.target, reader);
      copy.lane = laneIn;
      if (group.follows && computed)
        copy.waits.emplace_back(*computed, plan::WaitScope::self, 0);
      if (std::optional<uint32_t> out =
              group.follows ? outBefore(groups[*group.follows].start) : std::nullopt)
        copy.waits.emplace_back(*out, plan::WaitScope::self, 0);
    }
  }

  void addOut(const CopyOut &out) {
    const plan::CommandT *writer = out.writer ? commands[indices[*out.writer]].get() : nullptr;
    addCopy("copy out", *plan.slots[out.slot], out.source, out.target, writer).lane = laneOut;
    outs.emplace_back(out.place, uint32_t(commands.size() - 1));
  }

  /// The last copy out so far that stands before that command, or one before it.
  std::optional<uint32_t> outBefore(size_t place) const {
    auto behind = std::ranges::upper_bound(outs, place, {}, &std::pair<size_t, uint32_t>::first);
    return behind == outs.begin() ? std::nullopt : std::optional(std::prev(behind)->second);
  }

  struct Latest {
    size_t reader;
    CopyIn copy;
  };

  plan::PlanT &plan;
  const std::map<uint32_t, uint32_t> &slotBuffers;
  std::map<uint32_t, uint32_t> &results;
  const size_t count;                         // of commands
  std::vector<std::optional<size_t>> writers; // of each buffer that is no view, the last one
  std::map<uint32_t, Latest> latest;          // of each buffer in the host, the last copy
  std::map<uint32_t, size_t> firstWriters;    // of each such buffer, the first one, if any
  std::map<size_t, uint64_t> made; // bytes to be copied out, by commands that begin them and read no copies
  uint64_t mostMade = 0;           // by one of these
  std::vector<std::pair<uint32_t, uint32_t>> waits;      // of these for copies out; by new indices
  uint64_t copied = 0;                                   // bytes, so far
  std::vector<Group> groups;                             // by ascending readers
  std::vector<CopyOut> copiesOut;                        // by ascending places
  std::vector<std::unique_ptr<plan::CommandT>> commands; // the new ones
  std::vector<uint32_t> indices;                         // in these, of each command
  uint32_t laneIn = 0, laneOut = 0;
  std::optional<uint32_t> computed;              // the last command so far that computes
  std::vector<std::pair<size_t, uint32_t>> outs; // of copies out so far: places, and indices
};

} // namespace

void offloadStates(plan::PlanT &plan, const std::map<uint32_t, uint32_t> &slotBuffers,
                   std::map<uint32_t, uint32_t> &results, bool withResults) {
  Offloader(plan, slotBuffers, results).run(withResults);
}

} // namespace epl::runtime
