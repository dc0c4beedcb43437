// Where messages from other processes wait until those who are here have read them.
#ifndef EPL_RUNTIME_COLLECTIVE_MESSAGES_INBOX_H
#define EPL_RUNTIME_COLLECTIVE_MESSAGES_INBOX_H

#include "runtime/collective/messages/Endpoint.h"
#include "runtime/device/Command.h"
#include "runtime/host/Memory.h"

#include <algorithm>
#include <mutex>

namespace epl::runtime {

/// The messages of one command for the ranks of this process that read them, and where they are in an inbox:
///
///   message 0 | message 1 | .. | buffers that a message does not have as they are read: with the gaps
///   between runs
///
class Delivery {
public:
  explicit Delivery(std::vector<const Message *> messages);

  /// Bytes of an inbox that has room for it.
  size_t size() const { return bytes; }
  bool empty() const { return parcels.empty(); }
  bool has(const Message &message) const {
    return std::ranges::any_of(parcels, [&](const Parcel &parcel) { return parcel.message == &message; });
  }
  /// Where a buffer of its holder would begin in memory in which only what is fetched is there.
  FetchedBuffers in(std::byte *memory) const;

private:
  friend class Inbox;
  /// A buffer of one message: whether its runs have to be put in their places.
  struct Content {
    uint32_t buffer;
    std::span<const ByteRun> runs;
    size_t packed, place; // where the first of them is
    bool isUnpacked() const { return place != packed; }
  };
  struct Parcel {
    const Message *message;
    size_t begin, size;
    std::vector<Content> contents;
  };

  std::vector<Parcel> parcels;
  size_t bytes = 0;
};

/// Memory for one delivery at a time. All of its readers read each delivery, or none does. Its first reader
/// has it begin, once all have read the one before; so no byte is overwritten that somebody still reads.
class Inbox {
public:
  /// `endpoint` and deliveries outlive it.
  Inbox(Endpoint &endpoint, uint32_t readers, size_t size)
      : endpoint(endpoint), readers(readers), memory(size) {}
  ~Inbox() { endpoint.cancel(left); }

  std::byte *data() { return memory.data(); }

  /// Whether it is `delivery` that comes here now.
  bool open(const Delivery &delivery);
  /// Whether all of it is here.
  bool hasCome();
  /// A reader has read it.
  void close();
  /// No reader reads any more, of a step that was stopped.
  void abandon();

private:
  void unpack();

  Endpoint &endpoint;
  const uint32_t readers;
  Memory memory;
  std::mutex mutex;
  const Delivery *current = nullptr; // what comes, or is read
  uint32_t reading = 0;              // who have not read it
  bool isUnpacked = false;
  std::atomic<uint32_t> left = 0;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_COLLECTIVE_MESSAGES_INBOX_H
