// Two ends of streams, for tests: who listens and who connects, with readers that note what they are told.
#ifndef EPL_TEST_UNIT_SERVERS_GRPC_ENDS_H
#define EPL_TEST_UNIT_SERVERS_GRPC_ENDS_H

#include "runtime/servers/OpenTransport.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

namespace epl::runtime::servers {

using Bytes = std::vector<std::byte>;

/// Bytes that a seed determines.
Bytes randomBytes(uint64_t seed, size_t size);
Bytes bytesOf(const std::string &text);

/// A frame whose payload is owned by it.
Frame frameOf(Bytes head, Bytes payload = {});

/// Whether a condition holds within 20 seconds.
bool eventually(const std::function<bool()> &condition);

/// A reader that keeps what comes.
class Recorder : public StreamReader {
public:
  struct Came {
    Bytes head, payload;
    bool operator==(const Came &) const = default;
  };

  void opened() noexcept override { ++numOpened; }
  void received(std::span<const std::byte> head, const Payload &payload) override;
  void closed(const Ending &ending) override;

  /// The next frame; nothing if the stream is closed instead, or none comes in 20 seconds.
  std::optional<Came> next();
  /// Why the stream was closed; nothing if it is not in so many seconds.
  std::optional<std::string> whyClosed(double seconds = 20);
  /// Whether that stays so, where the stream is closed.
  bool isFinal();
  size_t numCalls();

  /// Done in `received`, before the frame is noted.
  std::function<void()> during = [] {};
  /// How often it was told that the stream is open.
  std::atomic<size_t> numOpened = 0;

private:
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Came> frames;
  std::optional<Ending> how;
  size_t calls = 0;
};

/// A listener whose streams are noted by recorders.
class Acceptor {
public:
  explicit Acceptor(StreamTransport &transport, const std::string &address = "127.0.0.1:0",
                    const StreamOptions &options = {});

  std::string address() const { return listener->address(); }
  /// The stream that came next, and its recorder; it is the caller's.
  struct Accepted {
    std::unique_ptr<Stream> stream;
    std::shared_ptr<Recorder> recorder;
  };
  Accepted next();
  /// Whether one has come that nobody has taken.
  bool hasNext();

  std::unique_ptr<Listener> listener;

private:
  std::shared_ptr<StreamReader> accept(std::unique_ptr<Stream> stream);

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Accepted> accepted;
};

/// Both ends of one stream, of one transport.
struct Pair {
  explicit Pair(const StreamOptions &options = {});

  std::shared_ptr<StreamTransport> transport = openStreamTransport();
  Acceptor acceptor;
  std::shared_ptr<Recorder> reader = std::make_shared<Recorder>(); ///< of who connects
  std::unique_ptr<Stream> stream;
  Acceptor::Accepted other;
};

/// Why a stream to an address is closed; nothing if it is not.
std::optional<std::string> whyNotConnected(const std::string &address, const StreamOptions &options);

} // namespace epl::runtime::servers

#endif // EPL_TEST_UNIT_SERVERS_GRPC_ENDS_H
