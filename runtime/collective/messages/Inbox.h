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
///   message 0 | its buffers, where it does not have them as they are read, with gaps between runs | message
///   1 ..
///
/// Of messages that are not put together each run comes to its place at once; all of them come into the
/// buffers of the reader, and nothing to the inbox, if that would copy them there as they are.
class Delivery {
public:
  /// `isCopied`: there is one reader, who would copy all to where it is in the buffers of the same name.
  Delivery(std::vector<const Message *> messages, bool isCopied);

  /// Bytes of an inbox that has room for it.
  size_t size() const { return bytes; }
  bool has(const Message &message) const {
    return std::ranges::any_of(arrivals, [&](const Arrival &each) { return each.message == &message; });
  }
  /// Where a buffer of its holder would begin in memory in which only what is fetched is there. Nowhere if it
  /// comes into the reader's buffers.
  FetchedBuffers in(std::byte *memory) const;

private:
  friend class Inbox;
  /// What is received at once: of a buffer of the reader, or at a place of the inbox.
  struct Arrival {
    const Message *message;
    size_t place, size;
    uint32_t buffer;
  };
  /// Runs of one buffer of a holder: those of a message that is put together have to go to their places.
  struct Content {
    uint32_t holder, buffer;
    std::span<const ByteRun> runs;
    size_t packed, place; // where the first of them is
    bool isUnpacked() const { return place != packed; }
  };

  void addPacked(const Message &message);
  void addRuns(const Message &message);
  void addDirect(const Message &message);
  void makeRoom(Content &content);

  bool isDirect;
  std::vector<Arrival> arrivals;
  std::vector<Content> contents;
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

  /// Whether it is `delivery` that comes here now, or into the buffers of a rank.
  bool open(const Delivery &delivery, const AddressTable &addresses, uint32_t rank);
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
