// What runs on one mesh of a loaded plan: bound to code, its waits told by places in lanes.
#ifndef EPL_RUNTIME_EXECUTOR_PROGRAM_H
#define EPL_RUNTIME_EXECUTOR_PROGRAM_H

#include "runtime/collective/Collectives.h"

#include <optional>
#include <vector>

namespace epl::runtime {

/// Everything about a plan for one mesh that no step changes. Commands are those of the plan, the same for
/// every rank. What it is made of must outlive it.
class Program {
public:
  /// Where a command stands: the lane, and its place in it.
  struct Place {
    uint32_t lane, position;
  };
  /// A command that must have run on the ranks of all members of a communicator. For those in other processes
  /// what moves data between ranks waits: no command reads or overwrites their memory without it.
  struct RemoteWait {
    Place place;
    uint32_t communicator;
  };

  /// `plan` is the whole plan or part `part` of it, and verified. `code` is null for devices that run a step
  /// as a whole: commands are none of the program's then. Throws Error if a kernel or a library is missing.
  Program(const plan::PlanT &plan, uint32_t part, const LocalRanks &ranks, const Code *code,
          const BoundCollectives &collectives);

  const plan::PlanT &plan() const { return source; }
  /// Which part of the whole plan it is.
  uint32_t part() const { return partIndex; }
  const Topology &topology() const { return table; }
  /// The ranks that are here, ascending.
  std::span<const uint32_t> ranks() const { return here; }
  /// The members of a rank's communicator that are here.
  std::span<const uint32_t> peers(uint32_t communicator, uint32_t rank) const {
    return peerLists[communicator].of(rank);
  }

  /// Null for what the caller of a step does: a pull or a push.
  Command *command(uint32_t command) const { return bound[command].command.get(); }
  /// Whether commands of other ranks wait for it: it has listeners, sends or receives.
  bool isHeard(uint32_t command) const { return bound[command].isHeard; }
  /// The pointers that any of them needs room for.
  size_t numPointers() const { return maxPointers; }

  uint32_t numCommands() const { return uint32_t(places.size()); }
  Place place(uint32_t command) const { return places[command]; }
  /// The lanes that communicate, and those that do not.
  std::span<const uint32_t> communicatingLanes() const { return communicating; }
  std::span<const uint32_t> computingLanes() const { return computing; }

  /// What `command` waits for beyond the order of its lane, on its own rank and on others.
  std::span<const Place> localWaits(uint32_t command) const { return localLists.of(command); }
  std::span<const RemoteWait> remoteWaits(uint32_t command) const { return remoteLists.of(command); }

  /// The communicators over which commands of other ranks wait for `command`.
  std::span<const uint32_t> listeners(uint32_t command) const { return listenerLists.of(command); }

  /// A message of a channel.
  struct Message {
    uint32_t channel, index;
  };
  /// What a command receives or sends; none for others.
  const std::optional<Message> &received(uint32_t command) const { return receivedMessages[command]; }
  const std::optional<Message> &sent(uint32_t command) const { return sentMessages[command]; }

private:
  /// A list for each command or rank, all in one array.
  template <typename T> struct Lists {
    std::vector<uint32_t> begin = {0};
    std::vector<T> items;

    std::span<const T> of(uint32_t index) const {
      return {items.data() + begin[index], begin[index + 1] - begin[index]};
    }
    void add(const std::vector<T> &list) {
      items.insert(items.end(), list.begin(), list.end());
      begin.push_back(uint32_t(items.size()));
    }
  };

  /// What every run of a command needs, in one place.
  struct Bound {
    std::unique_ptr<Command> command; // null where the program has none, or the caller does it
    bool isHeard;
  };

  void bindPeers(const LocalRanks &ranks);
  void bindCommands(const Code *code, const BoundCollectives &collectives);
  std::unique_ptr<Command> bindCommand(uint32_t index, const Code &code,
                                       const BoundCollectives &collectives) const;
  void bindLanes();
  void bindWaits();

  const plan::PlanT &source;
  uint32_t partIndex;
  Topology table;
  std::span<const uint32_t> here;
  std::vector<Lists<uint32_t>> peerLists; // of each communicator's ranks
  std::vector<Bound> bound;
  size_t maxPointers = 0;
  std::vector<Place> places;
  std::vector<uint32_t> communicating, computing;
  Lists<Place> localLists;
  Lists<RemoteWait> remoteLists;
  Lists<uint32_t> listenerLists;
  std::vector<std::optional<Message>> receivedMessages, sentMessages; // of each command
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_EXECUTOR_PROGRAM_H
