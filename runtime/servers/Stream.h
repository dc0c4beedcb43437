// Ordered streams of frames between the processes of workers and those of servers.
#ifndef EPL_RUNTIME_SERVERS_STREAM_H
#define EPL_RUNTIME_SERVERS_STREAM_H

#include "runtime/servers/Payload.h"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace epl::runtime::servers {

/// The most bytes of a frame: its head and its payload.
inline constexpr size_t kMaxFrame = size_t(1) << 20;

/// What is sent: an encoded head, and bytes of a tensor. Of the payload no copy is made: `owner` keeps it
/// alive and unchanged, and is released by any thread, when the bytes have left.
struct Frame {
  std::vector<std::byte> head;
  std::span<const std::byte> payload = {};
  std::shared_ptr<const void> owner = nullptr;
};

/// How a stream has ended.
struct Ending {
  std::string why = {}; ///< with the peer's address; empty if the peer closed the stream
  /// Whether the peer refuses who this end is, or is none that has streams: another attempt would end so,
  /// too.
  bool isFinal = false;
};

/// Whom a stream tells what comes. Called by threads of the transport, for one stream by one at a time; who
/// waits in a call holds up other streams, and where no thread is left peers take this end for silent. An
/// exception ends the stream.
class StreamReader {
public:
  virtual ~StreamReader() = default;

  /// The first call: the peer is there, and has the stream, too.
  virtual void opened() noexcept {}

  /// A frame, in the order in which they were sent. The bytes are valid during the call; those of the head
  /// are aligned for any type.
  virtual void received(std::span<const std::byte> head, const Payload &payload) = 0;

  /// The last call, once: nothing more comes.
  virtual void closed(const Ending &ending) = 0;
};

/// One end of a stream. Threads may call it at once. Its destructor cancels it, unless the peer has closed
/// it, and waits until no call of the reader runs, but in a call of the reader; the reader is not told of
/// that.
class Stream {
public:
  virtual ~Stream() = default;

  /// Queues a frame; does not wait. Nothing once the stream is closed, by either end or a failure. Throws
  /// Error if the frame has more than kMaxFrame bytes, and in a process that was forked off the one that made
  /// the stream.
  virtual void send(Frame frame) = 0;

  /// The bytes of frames that have not left, for who holds back while they are many.
  virtual size_t queuedBytes() const = 0;

  /// Ends the stream, after what is queued. The peer's reader is told `closed({})`, and its end closes, too,
  /// after what it had queued; then this end's reader is told the same.
  virtual void close() = 0;

  /// Ends the stream at once; what is queued is dropped. This end's reader is told that it was cancelled, the
  /// peer's that the stream broke.
  virtual void cancel() noexcept = 0;

  /// The other end, for messages: "127.0.0.1:7164".
  virtual std::string peer() const = 0;
};

/// Accepts streams at an address. Its destructor stops it.
class Listener {
public:
  virtual ~Listener() = default;

  /// Where it listens, with the port that it has.
  virtual std::string address() const = 0;

  /// Accepts no more, cancels streams that it accepted, whose readers are told so, and waits until these
  /// calls are over: none begins later. In a call of a reader of its own it does not wait.
  virtual void stop() noexcept = 0;
};

/// Called by a thread of the transport for a stream that has come: keeps it, and says who reads it. Null, or
/// an exception, refuses it.
using AcceptStream = std::function<std::shared_ptr<StreamReader>(std::unique_ptr<Stream>)>;

/// How ends prove who they are, and how long they wait. Both ends of a stream have the same. Addresses beyond
/// the loopback need a token and TLS, unless `insecure` is set: what comes in a stream may be code.
struct StreamOptions {
  /// A secret that all processes of a run share; an end that listens with one refuses who has another. Empty:
  /// none.
  std::string token = {};
  /// Files in PEM. `ca`: who signs the certificates of peers. Who listens needs `certificate` and `key`, and
  /// with `ca` as well demands a certificate of who connects. Who connects needs `ca`, and may have the other
  /// two. All empty: plaintext.
  std::string ca = {};
  std::string certificate = {};
  std::string key = {};
  /// No token, or plaintext, at addresses that other machines reach.
  bool insecure = false;
  /// How long `connect` tries to reach a peer that is not there yet.
  std::chrono::milliseconds connectDeadline{180'000};
  /// A peer whose process or machine answers nothing for as long is lost, whether or not it has to send
  /// something. At least 100 ms.
  std::chrono::milliseconds silence{3'000};
};

/// What makes streams. All ends when it is destroyed, as with Listener::stop.
class StreamTransport {
public:
  virtual ~StreamTransport() = default;

  /// Opens a stream to "host:port" ("[::1]:7164" for an address of IPv6). Returns at once: frames are queued
  /// until the peer is there, and what keeps it away is told to the reader. Throws Error for an address or
  /// options that are wrong, and in a forked process.
  virtual std::unique_ptr<Stream> connect(const std::string &address, std::shared_ptr<StreamReader> reader,
                                          const StreamOptions &options) = 0;

  /// Listens at "host:port", with port 0 at one that is free. Throws Error for an address or options that are
  /// wrong or a port that is taken, and in a forked process.
  virtual std::unique_ptr<Listener> listen(const std::string &address, AcceptStream accept,
                                           const StreamOptions &options) = 0;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_STREAM_H
