// The last stage of the plan verifier: the plan on all ranks.
//
// Problem: prove for every interleaving of lanes and ranks that no two accesses race, that everything read
// was written before (through the same buffer, so that reuse of its bytes destroys nothing) by the commands
// that the program says (Origins.h), and that results are written in full. Method: program order is one legal
// interleaving, since lanes and waits follow it. Replay it on the memory of one rank, with a map from bytes
// to their last write and the reads since, and ask the order of all ranks (Order.h) of every conflicting
// pair. If every pair is ordered, all interleavings do what the replay does. Every access to a rank's memory
// is replayed there, also those of other ranks. Ranks differ only in the parts of collectives that they own,
// so one rank of each kind is enough. Reference: C. Flanagan, S. Freund, FastTrack: efficient and precise
// dynamic race detection, 2009.

#include "runtime/plan/verify/VerifyStages.h"

#include "runtime/plan/model/Access.h"
#include "runtime/plan/model/Names.h"
#include "runtime/plan/model/Order.h"
#include "runtime/plan/model/Origins.h"

#include <algorithm>
#include <map>
#include <set>

namespace epl::runtime {
namespace {

/// A read since the last write. Its scope says on which ranks it runs, relative to the memory's owner.
struct Reader {
  uint32_t command;
  uint32_t buffer;
  Scope scope;
};

/// The state of adjacent bytes: through which buffer and by which command they were last written (-1: by the
/// caller, before the step) as which output, and who read them since.
struct Segment {
  uint64_t end;
  uint32_t buffer;
  int64_t writer;
  uint32_t output;
  std::vector<Reader> readers;
};

std::string over(int32_t communicator) {
  return communicator < 0 ? "" : " over communicator c" + std::to_string(communicator);
}

using Accesses = std::vector<std::vector<Access>>; // of each command

class Replay {
public:
  Replay(const plan::PlanT &plan, const Mesh &mesh, const Order &order, const Accesses &accesses,
         uint32_t rank, OriginList &origins, Report &report)
      : plan(plan), mesh(mesh), order(order), accesses(accesses), rank(rank), origins(origins),
        report(report) {
    layOut();
  }

  void run() {
    for (uint32_t buffer = 0; buffer < plan.buffers.size(); ++buffer)
      if (plan.buffers[buffer]->slot >= 0 && plan.buffers[buffer]->size > 0 && !isResult(buffer))
        memory[base[buffer]] = {
            base[buffer] + plan.buffers[buffer]->size, buffer, -1, uint32_t(plan.buffers[buffer]->slot), {}};
    for (current = 0; current < plan.commands.size(); ++current)
      step();
    checkResults();
  }

private:
  bool isResult(uint32_t buffer) const {
    return plan.slots[size_t(plan.buffers[buffer]->slot)]->role == plan::SlotRole::result;
  }

  /// One address space for the arena and, behind it, each slot.
  void layOut() {
    uint64_t next = plan.arena_size;
    for (uint32_t i = 0; i < plan.buffers.size(); ++i) {
      const plan::BufferT &buffer = *plan.buffers[i];
      base.push_back(buffer.slot < 0 ? buffer.offset : next);
      if (buffer.slot < 0)
        continue;
      storage[buffer.slot] = i;
      next += buffer.size;
    }
  }

  void step() {
    checkOperands();
    for (const Access &access : accesses[current]) {
      Scope scope = access.remote ? order.scopeOf(access.communicator) : 0;
      if (access.remote && scope == 0)
        continue; // a communicator of one member
      for (ByteRange range : rangesOf(access, mesh, rank)) {
        ByteRange bytes{base[access.buffer] + range.begin, base[access.buffer] + range.end};
        if (access.write)
          write(access, bytes);
        else
          read(access, bytes, scope);
      }
    }
  }

  /// Whether input `in` and output `out` of the current command may be the same bytes.
  bool mayShare(size_t in, size_t out) const {
    const plan::ActionUnion &action = plan.commands[current]->action;
    const Access &input = accesses[current][in], &output = accesses[current][out];
    if (input.write || base[input.buffer] != base[output.buffer])
      return false;
    if (const plan::LaunchT *launch = action.AsLaunch()) {
      const plan::KernelT &kernel = *plan.kernels[launch->kernel];
      size_t index = out - kernel.num_inputs;
      return index < kernel.num_outputs && kernel.in_place[index] == int32_t(in);
    }
    if (action.AsContract())
      return in == 2; // accumulation: c itself
    return action.AsReducePart() && input.operand == output.operand;
  }

  /// The operands of one command on one rank do not meet, but where the command allows it.
  void checkOperands() {
    const std::vector<Access> &list = accesses[current];
    for (size_t out = 0; out < list.size(); ++out)
      for (size_t in = 0; in < list.size() && list[out].write; ++in) {
        bool twice = list[in].write && in >= out;
        if (!twice && !list[in].remote && !mayShare(in, out))
          checkApart(list[in], list[out]);
      }
  }

  void checkApart(const Access &a, const Access &b) {
    for (ByteRange x : rangesOf(a, mesh, rank))
      for (ByteRange y : rangesOf(b, mesh, rank)) {
        ByteRange common{std::max(base[a.buffer] + x.begin, base[b.buffer] + y.begin),
                         std::min(base[a.buffer] + x.end, base[b.buffer] + y.end)};
        if (common.begin < common.end && isNew(a.buffer, b.buffer, current))
          return report.add("command ", commandName(plan, current),
                            a.write ? " writes buffer " : " reads buffer ", bufferName(plan, a.buffer),
                            " and writes buffer ", bufferName(plan, b.buffer), ", which overlap in ",
                            place(common, b.buffer));
      }
  }

  void read(const Access &access, ByteRange bytes, Scope scope) {
    uint32_t buffer = access.buffer;
    split(bytes);
    uint64_t at = bytes.begin;
    auto undefined = [&](uint64_t end) {
      if (at < end && isNew(buffer, buffer, current))
        report.add("command ", commandName(plan, current), " reads buffer ", bufferName(plan, buffer),
                   " before anything writes ", place({at, end}, buffer));
    };
    for (auto it = memory.lower_bound(bytes.begin); it != memory.end() && it->first < bytes.end; ++it) {
      undefined(it->first);
      at = it->second.end;
      readSegment(access, {it->first, at}, scope, it->second);
    }
    undefined(bytes.end);
  }

  void readSegment(const Access &access, ByteRange bytes, Scope scope, Segment &segment) {
    uint32_t buffer = access.buffer;
    if (segment.writer >= 0 && !order.before(uint32_t(segment.writer), current, scope))
      race(uint32_t(segment.writer), segment.buffer, "writes", current, buffer, "reads", bytes, scope);
    else if (segment.buffer != buffer && isNew(segment.buffer, buffer, current))
      report.add("command ", commandName(plan, current), " reads buffer ", bufferName(plan, buffer), " in ",
                 place(bytes, buffer), ", which command ", commandName(plan, uint32_t(segment.writer)),
                 " has overwritten through buffer ", bufferName(plan, segment.buffer));
    else if (!origins.meet(current, access, {segment.writer, segment.output}) &&
             isNew(buffer, buffer, current))
      report.add("command ", commandName(plan, current), " reads ", place(bytes, buffer), " through buffer ",
                 bufferName(plan, buffer), ", which are ", writerName(plan, {segment.writer, segment.output}),
                 ", no origin of its ", operandName(access.operand), over(communicatorOf(access)));
    addReader(segment, {current, buffer, scope});
  }

  /// What comes behind the last reader of a lane and scope comes behind its others too.
  void addReader(Segment &segment, const Reader &reader) const {
    auto same = std::ranges::find_if(segment.readers, [&](const Reader &other) {
      return other.scope == reader.scope &&
             plan.commands[other.command]->lane == plan.commands[reader.command]->lane;
    });
    if (same == segment.readers.end())
      segment.readers.push_back(reader);
    else
      *same = reader;
  }

  void write(const Access &access, ByteRange bytes) {
    uint32_t buffer = access.buffer;
    split(bytes);
    auto it = memory.lower_bound(bytes.begin);
    while (it != memory.end() && it->first < bytes.end) {
      const Segment &segment = it->second;
      ByteRange common{it->first, segment.end};
      if (segment.writer >= 0 && uint32_t(segment.writer) != current &&
          !order.before(uint32_t(segment.writer), current, 0))
        race(uint32_t(segment.writer), segment.buffer, "writes", current, buffer, "writes", common, 0);
      for (const Reader &reader : segment.readers) {
        bool own = reader.command == current && reader.scope == 0; // checkOperands has looked at it
        if (!own && !order.before(reader.command, current, reader.scope))
          race(current, buffer, "writes", reader.command, reader.buffer, "reads", common, reader.scope);
      }
      it = memory.erase(it);
    }
    memory[bytes.begin] = {bytes.end, buffer, int64_t(current), access.operand, {}};
  }

  /// Makes segments begin and end where `bytes` does.
  void split(ByteRange bytes) {
    for (uint64_t at : {bytes.begin, bytes.end}) {
      auto it = memory.lower_bound(at);
      if (it == memory.begin())
        continue;
      Segment &before = std::prev(it)->second;
      if (before.end <= at)
        continue;
      Segment tail = before;
      before.end = at;
      memory.emplace_hint(it, at, std::move(tail));
    }
  }

  void race(uint32_t a, uint32_t bufferA, const char *verbA, uint32_t b, uint32_t bufferB, const char *verbB,
            ByteRange bytes, Scope scope) {
    if (!isNew(bufferA, bufferB, std::max(a, b)))
      return;
    const char *whose = scope == 0 ? "" : " of another rank";
    if (bufferA == bufferB)
      report.add("command ", commandName(plan, a), " ", verbA, " and command ", commandName(plan, b), whose,
                 " ", verbB, " ", place(bytes, bufferA), " of buffer ", bufferName(plan, bufferA),
                 " without order");
    else
      report.add("buffers ", bufferName(plan, bufferA), " and ", bufferName(plan, bufferB), " overlap in ",
                 place(bytes, bufferA), ", which command ", commandName(plan, a), " ", verbA, " and command ",
                 commandName(plan, b), whose, " ", verbB, " without order");
  }

  void checkResults() {
    for (uint32_t slot = 0; slot < plan.slots.size(); ++slot) {
      const plan::SlotT &result = *plan.slots[slot];
      if (result.role != plan::SlotRole::result)
        continue;
      auto buffer = storage.find(result.updates >= 0 ? result.updates : int32_t(slot));
      if (buffer != storage.end())
        checkResult(slot, buffer->second);
      else if (result.updates < 0 && localBytes(plan, result) > 0)
        report.add("nothing writes result ", slotName(plan, slot));
    }
  }

  /// `buffer` is the storage of the result: written in full, and by whom the program says.
  void checkResult(uint32_t slot, uint32_t buffer) {
    uint64_t at = base[buffer], end = at + plan.buffers[buffer]->size;
    for (auto it = memory.lower_bound(at); it != memory.end() && it->first == at && at < end; ++it) {
      at = it->second.end;
      Writer writer{it->second.writer, it->second.output};
      if (!origins.meetResult(slot, writer))
        report.add("result ", slotName(plan, slot), " holds ", place({it->first, at}, buffer), ", which are ",
                   writerName(plan, writer), ", no origin of it");
    }
    if (at < end)
      report.add("nothing writes ", place({at, end}, buffer), " of result ", slotName(plan, slot));
  }

  /// Where bytes are: in the arena or in a slot, of this rank.
  std::string place(ByteRange bytes, uint32_t buffer) const {
    int32_t slot = plan.buffers[buffer]->slot;
    if (slot >= 0)
      bytes = {bytes.begin - base[buffer], bytes.end - base[buffer]};
    return "bytes " + rangeText(bytes) + " of " +
           (slot >= 0 ? "slot " + slotName(plan, uint32_t(slot)) : std::string("the arena")) + " of rank " +
           std::to_string(rank);
  }

  /// One message for each pair of buffers and command on a rank: a range may lie in many pieces.
  bool isNew(uint32_t a, uint32_t b, uint32_t command) {
    return reported.insert({std::min(a, b), std::max(a, b), command}).second;
  }

  const plan::PlanT &plan;
  const Mesh &mesh;
  const Order &order;
  const Accesses &accesses;
  uint32_t rank; // whose memory it is
  OriginList &origins;
  Report &report;
  std::vector<uint64_t> base;          // address of each buffer
  std::map<int32_t, uint32_t> storage; // the buffer of each slot that has one
  std::map<uint64_t, Segment> memory;
  std::set<std::tuple<uint32_t, uint32_t, uint32_t>> reported;
  uint32_t current = 0; // command
};

/// About how many steps the replays take: a small file can ask for years.
uint64_t replayWork(const Accesses &accesses, size_t replays) {
  uint64_t work = 0;
  for (const std::vector<Access> &list : accesses) {
    work += list.size() * list.size();
    for (const Access &access : list)
      work += 16 * access.ranges.size();
  }
  return work * replays;
}

/// Values that the program reads and the plan never does.
void checkAllMet(const plan::PlanT &plan, const OriginList &origins, Report &report) {
  auto writer = [&](const plan::Origin &origin) {
    return writerName(plan, {origin.command(), origin.output()});
  };
  for (uint32_t command = 0; command < plan.commands.size(); ++command)
    for (size_t i = 0; i < plan.commands[command]->origins.size(); ++i)
      if (const plan::Origin &origin = plan.commands[command]->origins[i]; !origins.isMet(command, i))
        report.add("command ", commandName(plan, command), " reads nothing of ", writer(origin),
                   ", an origin of its ", operandName(origin.operand()), over(origin.communicator()));
  for (uint32_t slot = 0; slot < plan.slots.size(); ++slot)
    for (size_t i = 0; i < plan.slots[slot]->origins.size(); ++i)
      if (!origins.isResultMet(slot, i))
        report.add("result ", slotName(plan, slot), " holds nothing of ",
                   writer(plan.slots[slot]->origins[i]), ", an origin of it");
}

} // namespace

void checkMemory(const plan::PlanT &plan, Report &report) {
  Mesh mesh(plan);
  Order order = Order::of(plan);
  OriginList origins(plan);
  Accesses accesses;
  for (const auto &command : plan.commands)
    accesses.push_back(accessesOf(plan, mesh, *command));
  std::vector<uint32_t> ranks = distinctRanks(mesh, accesses);
  if (uint64_t work = replayWork(accesses, ranks.size()); work > maxReplayWork)
    return report.add("plan takes ", work, " steps to verify, expected at most ", maxReplayWork);
  for (uint32_t rank : ranks) {
    if (report.failed())
      return;
    Replay(plan, mesh, order, accesses, rank, origins, report).run();
  }
  if (!report.failed())
    checkAllMet(plan, origins, report);
}

} // namespace epl::runtime
