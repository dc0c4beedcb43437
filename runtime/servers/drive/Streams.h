// The streams of a process, by numbers, and what comes in them.
#ifndef EPL_RUNTIME_SERVERS_DRIVE_STREAMS_H
#define EPL_RUNTIME_SERVERS_DRIVE_STREAMS_H

#include "runtime/servers/Stream.h"
#include "runtime/servers/logic/Timing.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <set>

namespace epl::runtime::servers {

/// Who is told what comes in streams, by the numbers that he gave them. Threads of the transport call it.
class StreamUser {
public:
  virtual ~StreamUser() = default;
  /// The peer has the stream, too.
  virtual void opened(uint64_t) noexcept {}
  virtual void received(uint64_t stream, std::span<const std::byte> head, const Payload &payload) = 0;
  virtual void broke(uint64_t stream, const Ending &ending) = 0;
};

/// The streams of a user, who may be locked in calls but where that is ruled out: a stream that is open is
/// destroyed by who holds no lock that its reader may wait for.
class Streams {
public:
  explicit Streams(StreamUser &user) : user(user) {}
  ~Streams() { destroyAll(); }
  Streams(const Streams &) = delete;

  /// Who reads a stream that will have this number.
  std::shared_ptr<StreamReader> readerOf(uint64_t stream);

  /// Keeps a stream under its number.
  void add(uint64_t number, std::unique_ptr<Stream> stream);
  /// A stream that is open; null if there is none.
  std::shared_ptr<Stream> find(uint64_t number);
  /// Queues a frame without a payload, if the stream is open.
  void send(uint64_t number, std::vector<std::byte> head);
  /// Closes a stream after what is queued, or at once.
  void close(uint64_t number, bool atOnce);
  /// Whether no stream is open.
  bool empty() const;

  /// Destroys the streams that have ended. The user is not locked.
  void sweep();
  /// Cancels and destroys all; no call of the user comes after that. The user is not locked.
  void destroyAll();

private:
  class Reader;

  void ended(uint64_t number);

  StreamUser &user;
  mutable std::mutex mutex;
  std::map<uint64_t, std::shared_ptr<Stream>> open;
  std::vector<std::shared_ptr<Stream>> over; // have ended
  std::set<uint64_t> early;                  // have ended before they were added
};

/// The options of a stream that tries to connect only as long as its peer may be silent: the logic has the
/// patience, opens another one, and wants to know why.
StreamOptions impatient(StreamOptions options, const Timing &timing);

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_DRIVE_STREAMS_H
