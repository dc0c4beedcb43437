// A plan that is loaded on devices: checked, bound to code, its waits told by places in lanes.
#ifndef EPL_RUNTIME_EXECUTOR_PROGRAM_H
#define EPL_RUNTIME_EXECUTOR_PROGRAM_H

#include "runtime/executor/Actions.h"
#include "runtime/executor/SlotLayout.h"

#include <memory>

namespace epl::runtime {

/// Everything about a plan that no step changes. Commands are those of the plan, the same for every rank.
class Program {
public:
  /// Where a command stands: the lane, and its place in it.
  struct Place {
    uint32_t lane, position;
  };
  /// A command that must have run on the ranks of all members of a communicator.
  struct RemoteWait {
    Place place;
    uint32_t communicator;
  };

  /// `plan` has passed the verifier, as every plan that the reader gives has. Throws Error if it is for other
  /// devices or another CPU, or if a kernel or a library is missing.
  Program(std::shared_ptr<const plan::PlanT> plan, const std::string &devices);

  const plan::PlanT &plan() const { return *source; }
  const Topology &topology() const { return ranks; }
  const Actions &actions() const { return bound; }
  const SlotLayout &layout(size_t slot) const { return layouts[slot]; }

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

  /// Slots that are arguments come first, then the results.
  size_t numArguments() const { return arguments; }
  size_t numSlots() const { return layouts.size(); }
  /// The result that updates a state argument, or -1.
  int32_t updateOf(size_t argument) const { return updates[argument]; }

private:
  /// A list for each command, all in one array.
  template <typename T> struct Lists {
    std::vector<uint32_t> begin = {0};
    std::vector<T> items;

    std::span<const T> of(uint32_t command) const {
      return {items.data() + begin[command], begin[command + 1] - begin[command]};
    }
    void add(const std::vector<T> &list) {
      items.insert(items.end(), list.begin(), list.end());
      begin.push_back(uint32_t(items.size()));
    }
  };

  void findUpdates();
  void bindLanes();
  void bindWaits();

  std::shared_ptr<const plan::PlanT> source;
  Topology ranks;
  std::vector<SlotLayout> layouts;
  Actions bound;
  size_t arguments = 0;
  std::vector<int32_t> updates;
  std::vector<Place> places;
  std::vector<uint32_t> communicating, computing;
  Lists<Place> localLists;
  Lists<RemoteWait> remoteLists;
  Lists<uint32_t> listenerLists;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_EXECUTOR_PROGRAM_H
