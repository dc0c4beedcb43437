// What a command of a plan is to those who order commands: it is started, and it is complete then or later.
#ifndef EPL_RUNTIME_DEVICE_COMMAND_H
#define EPL_RUNTIME_DEVICE_COMMAND_H

#include "runtime/plan/model/Runs.h"
#include "runtime/plan/model/Topology.h"

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace epl::runtime {

/// Where every buffer of one mesh lies on the ranks that are here.
class AddressTable {
public:
  AddressTable(std::span<const uint32_t> ranks, uint32_t numRanks, size_t numBuffers)
      // A rank has a row, also if there are no buffers.
      : rows(numRanks), addresses(ranks.size() * numBuffers + 1) {
    for (size_t i = 0; i < ranks.size(); ++i)
      rows[ranks[i]] = addresses.data() + i * numBuffers;
  }
  AddressTable(const AddressTable &) = delete;
  AddressTable(AddressTable &&) = default;

  bool has(uint32_t rank) const { return rows[rank] != nullptr; }

  // For ranks that are here.

  void set(uint32_t rank, uint32_t buffer, void *address) { row(rank)[buffer] = address; }
  void *get(uint32_t rank, uint32_t buffer) const { return row(rank)[buffer]; }
  /// Where each buffer of a rank lies.
  void *const *of(uint32_t rank) const { return row(rank); }

private:
  void **row(uint32_t rank) const {
    assert(rows[rank] && "the rank is here");
    return rows[rank];
  }

  std::vector<void **> rows; // of each rank; null for those elsewhere
  std::vector<void *> addresses;
};

/// Where a command finds what it has fetched of ranks that are elsewhere.
class FetchedBuffers {
public:
  void set(uint32_t rank, uint32_t buffer, void *address) { entries.push_back({rank, buffer, address}); }
  /// Where the buffer of the rank would begin; only bytes that were fetched are there. Null if there are
  /// none.
  void *get(uint32_t rank, uint32_t buffer) const {
    for (const Entry &entry : entries)
      if (entry.rank == rank && entry.buffer == buffer)
        return entry.address;
    return nullptr;
  }

private:
  struct Entry {
    uint32_t rank, buffer;
    void *address;
  };
  std::vector<Entry> entries;
};

/// What a command needs besides itself: the rank that runs it, all addresses, and room for numPointers()
/// pointers until the call returns.
struct CommandContext {
  const Topology &topology;
  const AddressTable &addresses;
  uint32_t rank;
  void **pointers;
  const FetchedBuffers *fetched = nullptr; ///< null where all ranks are here

  /// Where a buffer of a rank lies, wherever that rank is, for a command that reads other ranks' memory: that
  /// of the own rank if nothing was fetched of it, or if it came there.
  void *addressOf(uint32_t member, uint32_t buffer) const {
    if (addresses.has(member))
      return addresses.get(member, buffer);
    void *address = fetched ? fetched->get(member, buffer) : nullptr;
    return address ? address : addresses.get(rank, buffer);
  }
};

/// How far a command is on a rank.
enum class CommandState : uint8_t {
  done,    ///< what it writes is there
  skipped, ///< a guard does not hold: it counts as run, and has done nothing
  pending, ///< it has begun; whoever started it asks again
};

/// A command of a plan, bound to what runs it: one for all ranks. Several threads call it at once, each for
/// other ranks. What a rank's instance must remember while it is pending, the implementation keeps.
class Command {
public:
  virtual ~Command() = default;

  /// Begins the command on a rank, once all that it waits for is done. Throws Error if it fails: then it has
  /// ended.
  virtual CommandState start(const CommandContext &context) = 0;
  /// Begins and ends what a command does with these bytes of a buffer of other ranks: of a command that reads
  /// each byte once, by itself.
  virtual void startOn(const CommandContext &, const ByteRun &) {
    assert(false && "this command is done as a whole");
  }
  /// Asks for a command that is pending on a rank; soon, without waiting for it. Throws as `start`.
  virtual CommandState proceed(const CommandContext &) { return CommandState::done; }
  /// Ends a command that is pending on a rank: when this returns, it touches no memory any more.
  virtual void cancel(const CommandContext &) noexcept {}

  /// The pointers that it needs room for.
  virtual size_t numPointers() const { return 0; }
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_DEVICE_COMMAND_H
