// The last stage of the plan verifier: the plan on all ranks.
//
// Problem: prove for every interleaving of lanes and ranks that no two accesses race, that everything read
// was written before (through the same buffer, so that reuse of its bytes destroys nothing) by the commands
// that the program says (Origins.h), and that results are written in full. Method: program order is one legal
// interleaving, since lanes and waits follow it. Replay it, with a map from bytes to their last write and the
// reads since, and ask the order of all ranks (Order.h) of every conflicting pair. If every pair is ordered,
// all interleavings do what the replay does. Every access to a rank's memory is replayed there, also those of
// other ranks.
//
// All of this is a matter of single bytes in the memory of single ranks, and of the accesses that meet them,
// in their order. Ranks differ only in the parts of all-reduces that they own, so the replay goes through
// classes of bytes and ranks that met the same accesses (CaseMap.h): what is the same on all ranks is
// replayed once, and an all-reduce twice, for the parts that ranks own and for the others, on any number of
// ranks:
//
//     command            bytes of its tensor, as the map has them afterwards
//     0 layer            written by 0
//     1 reduce           own part: written by 1              others: written by 0, read by 1 of other ranks
//     2 gather           own part: read by 2 of other ranks  others: written by 2
//     3 update           own part: written by 1, read by 3   others: written by 2, read by 3
//
// Sound, as each class has all bytes and ranks that met what its state says; complete, as none is empty: a
// message names the first rank of one and its bytes there.
//
// Bound: an access visits, of the bytes that it touches, each piece that differs in its writer or readers
// from its neighbours, and its cases, maxCases at most. A piece begins or ends where an access that the file
// says does, so the visits are bounded by accesses times ranges of accesses, whatever the numbers in the
// file. In what the compiler makes they are a few for each access: writes join pieces, reads find as many
// writers as the file lists origins. Of readers the last one of each lane and scope is kept. Reference: C.
// Flanagan, S. Freund, FastTrack: efficient and precise dynamic race detection, 2009.

#include "runtime/plan/verify/VerifyStages.h"

#include "runtime/plan/model/CaseMap.h"
#include "runtime/plan/model/Names.h"
#include "runtime/plan/model/Order.h"
#include "runtime/plan/model/Origins.h"
#include "runtime/plan/model/Outside.h"

#include <algorithm>
#include <set>

namespace epl::runtime {
namespace {

/// A read since the last write. Its scope says on which ranks it runs, relative to the memory's owner.
struct Reader {
  uint32_t lane;
  Scope scope;
  uint32_t command;
  uint32_t buffer;

  bool operator==(const Reader &) const = default;
};

/// The state of bytes: through which buffer they were last written by whom, and who has read them since.
struct State {
  std::optional<Writer> writer{};
  uint32_t buffer = 0;
  std::vector<Reader> readers{}; // ascending by lane and scope

  bool operator==(const State &) const = default;
};

std::string over(int32_t communicator) {
  return communicator < 0 ? "" : " over communicator c" + std::to_string(communicator);
}

class Replay {
public:
  Replay(const plan::PlanT &plan, const Mesh &mesh, const Addresses &addresses, OriginList &origins,
         Report &report)
      : plan(plan), addresses(addresses), order(Order::of(plan)), origins(origins), report(report),
        cuts(mesh), memory(cuts, addresses.size()) {
    for (uint32_t buffer = 0; buffer < plan.buffers.size(); ++buffer)
      if (int32_t slot = plan.buffers[buffer]->slot; slot >= 0 && isGiven(*plan.slots[size_t(slot)]))
        memory.assign(addresses.all(buffer), holdersOf(uint32_t(slot)), {Writer{-1, uint32_t(slot)}, buffer});
  }

  /// Commands come in program order.
  void step(uint32_t command, const std::vector<Access> &accesses) {
    current = command;
    for (const Access &access : accesses)
      if (!access.remote || order.scopeOf(access.communicator) != 0) // else its only member is not remote
        step(access);
  }

  void finish() {
    checkResults();
    if (memory.excess())
      report.add("bytes ", rangeText(*memory.excess()),
                 " of a rank's memory are in parts of too many all-reduces of different members or tensors, "
                 "none of which writes them, or in memory of too many owners: ranks differ in more than ",
                 maxCases, " ways, expected a command that writes them as a whole in between");
  }

  uint64_t visited() const { return memory.visited(); }

private:
  using Case = CaseMap<State>::Case;

  /// The ranks that have storage of a slot.
  Condition holdersOf(uint32_t slot) { return cuts.conditionOf(ownersOf(*plan.slots[slot])).value(); }

  void step(const Access &access) {
    cuts.visit(access, addresses.of(access.buffer), [&](ByteRange bytes, const Condition &condition) {
      memory.visit(bytes, condition, [&](ByteRange piece, Case &each) {
        if (access.write)
          checkWrite(access, piece, each);
        else
          read(access, piece, each);
      });
      if (access.write)
        memory.assign(bytes, condition, {Writer{current, access.operand}, access.root});
    });
  }

  void read(const Access &access, ByteRange bytes, Case &each) {
    Scope scope = access.remote ? order.scopeOf(access.communicator) : 0;
    checkRead(access, bytes, each, scope);
    addReader(each.state.readers, {plan.commands[current]->lane, scope, current, access.root});
  }

  void checkRead(const Access &access, ByteRange bytes, const Case &each, Scope scope) {
    uint32_t buffer = access.root;
    const State &state = each.state;
    if (!state.writer) {
      if (isNew(buffer, buffer, current))
        report.add("command ", commandName(plan, current), " reads buffer ", bufferName(plan, buffer),
                   " before anything writes ", place(each, bytes, buffer));
    } else if (int64_t writer = state.writer->command;
               writer >= 0 && !order.before(uint32_t(writer), current, scope))
      race({uint32_t(writer), state.buffer, "writes"}, {current, buffer, "reads"}, bytes, each, scope);
    else if (state.buffer != buffer && isNew(state.buffer, buffer, current))
      report.add("command ", commandName(plan, current), " reads buffer ", bufferName(plan, buffer), " in ",
                 place(each, bytes, buffer), ", which command ", commandName(plan, uint32_t(writer)),
                 " has overwritten through buffer ", bufferName(plan, state.buffer));
    else if (!origins.meet(current, access, *state.writer) && isNew(buffer, buffer, current))
      report.add("command ", commandName(plan, current), " reads ", place(each, bytes, buffer),
                 " through buffer ", bufferName(plan, access.buffer), ", which are ",
                 writerName(plan, *state.writer), ", no origin of its ", operandName(access.operand),
                 over(communicatorOf(access)));
  }

  /// What comes behind the last reader of a lane and scope comes behind its others too.
  static void addReader(std::vector<Reader> &readers, const Reader &reader) {
    auto key = [](const Reader &each) { return std::pair(each.lane, each.scope); };
    auto same = std::ranges::lower_bound(readers, key(reader), {}, key);
    if (same == readers.end() || key(*same) != key(reader))
      readers.insert(same, reader);
    else
      *same = reader;
  }

  void checkWrite(const Access &access, ByteRange bytes, const Case &each) {
    const State &state = each.state;
    int64_t writer = state.writer ? state.writer->command : -1;
    Touch write{current, access.root, "writes"};
    if (writer >= 0 && uint32_t(writer) != current && !order.before(uint32_t(writer), current, 0))
      race({uint32_t(writer), state.buffer, "writes"}, write, bytes, each, 0);
    for (const Reader &reader : state.readers) {
      bool own = reader.command == current && reader.scope == 0; // checkOperands has looked at it
      if (!own && !order.before(reader.command, current, reader.scope))
        race(write, {reader.command, reader.buffer, "reads"}, bytes, each, reader.scope);
    }
  }

  struct Touch {
    uint32_t command, buffer;
    const char *verb;
  };

  void race(Touch a, Touch b, ByteRange bytes, const Case &each, Scope scope) {
    if (!isNew(a.buffer, b.buffer, std::max(a.command, b.command)))
      return;
    const char *whose = scope == 0 ? "" : " of another rank";
    if (a.buffer == b.buffer)
      report.add("command ", commandName(plan, a.command), " ", a.verb, " and command ",
                 commandName(plan, b.command), whose, " ", b.verb, " ", place(each, bytes, a.buffer),
                 " of buffer ", bufferName(plan, a.buffer), " without order");
    else
      report.add("buffers ", bufferName(plan, a.buffer), " and ", bufferName(plan, b.buffer), " overlap in ",
                 place(each, bytes, a.buffer), ", which command ", commandName(plan, a.command), " ", a.verb,
                 " and command ", commandName(plan, b.command), whose, " ", b.verb, " without order");
  }

  void checkResults() {
    for (uint32_t slot = 0; slot < plan.slots.size(); ++slot) {
      const plan::SlotT &result = *plan.slots[slot];
      if (!isResult(result))
        continue;
      if (auto buffer = addresses.bufferOf(result.updates >= 0 ? uint32_t(result.updates) : slot))
        checkResult(slot, *buffer);
      else if (result.updates < 0 && localBytes(plan, result) > 0)
        report.add("nothing writes result ", slotName(plan, slot));
    }
  }

  /// `buffer` is the storage of the result: written in full, and by whom the program says.
  void checkResult(uint32_t slot, uint32_t buffer) {
    memory.visit(addresses.all(buffer), holdersOf(slot), [&](ByteRange bytes, const Case &each) {
      if (!each.state.writer)
        report.add("nothing writes ", place(each, bytes, buffer), " of result ", slotName(plan, slot));
      else if (!origins.meetResult(slot, *each.state.writer))
        report.add("result ", slotName(plan, slot), " holds ", place(each, bytes, buffer), ", which are ",
                   writerName(plan, *each.state.writer), ", no origin of it");
    });
  }

  /// Where a case is, for messages: on the first rank that it is on.
  std::string place(const Case &each, ByteRange bytes, uint32_t buffer) const {
    std::optional<Place> place = cuts.find(each.condition, bytes);
    assert(place && "no case is empty");
    return addresses.text(*place, buffer);
  }

  /// One message for each pair of buffers and command: a range may lie in many pieces.
  bool isNew(uint32_t a, uint32_t b, uint32_t command) {
    return reported.insert({std::min(a, b), std::max(a, b), command}).second;
  }

  const plan::PlanT &plan;
  const Addresses &addresses;
  Order order;
  OriginList &origins;
  Report &report;
  Cuts cuts;
  CaseMap<State> memory;
  std::set<std::tuple<uint32_t, uint32_t, uint32_t>> reported;
  uint32_t current = 0; // command
};

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

uint64_t checkMemory(const plan::PlanT &plan, Report &report) {
  Mesh mesh(plan);
  Addresses addresses(plan);
  OriginList origins(plan);
  Replay replay(plan, mesh, addresses, origins, report);
  for (uint32_t command = 0; command < plan.commands.size(); ++command) {
    std::vector<Access> accesses = accessesOf(plan, mesh, *plan.commands[command]);
    checkOperands(plan, mesh, addresses, command, accesses, report);
    replay.step(command, accesses);
  }
  replay.finish();
  if (!report.failed())
    checkAllMet(plan, origins, report);
  return replay.visited();
}

} // namespace epl::runtime
