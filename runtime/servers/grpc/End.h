// One end of a stream: what is the same for who connects and who listens.
//
// A call of gRPC can be half closed by who makes it only, so the end of a stream's frames is a message of its
// own, in both directions. An end that has it answers with its own, after what it has queued; when both have
// gone, the call ends with status OK. Whatever else ends the call broke the stream.
//
// Operations of a call: at most one read and one write at a time, and one Finish when neither runs.
#ifndef EPL_RUNTIME_SERVERS_GRPC_END_H
#define EPL_RUNTIME_SERVERS_GRPC_END_H

#include "runtime/servers/grpc/Delivery.h"
#include "runtime/servers/grpc/Tag.h"
#include "runtime/servers/grpc/Wire.h"

#include <deque>
#include <grpcpp/support/async_stream.h>
#include <mutex>
#include <optional>

namespace epl::runtime::servers {

class End : public std::enable_shared_from_this<End> {
public:
  virtual ~End() = default;

  void send(Frame frame);
  size_t queuedBytes() const;
  void close();
  /// `why` is what the reader is told.
  void cancel(const std::string &why);
  /// The stream's owner is gone: as Stream::~Stream.
  void abandon() noexcept;
  virtual std::string peer() const = 0;

protected:
  using Reading = grpc::internal::AsyncReaderInterface<grpc::ByteBuffer>;
  using Writing = grpc::internal::AsyncWriterInterface<grpc::ByteBuffer>;

  // Of the call, for this class.

  /// Begins to finish the call, whose end calls `over`; `status` is for the peer.
  virtual void finishCall(const grpc::Status &status) = 0;
  /// Gives the call up, so that its operations end.
  virtual void cancelCall() noexcept = 0;
  /// After a failure of this end of the stream, which `finishCall` may tell the peer: gives up what may last.
  virtual void failCall() noexcept = 0;
  /// How the call broke, if not by this end.
  virtual Ending howBroken() const = 0;
  /// No operation of the call comes any more.
  virtual void leave() = 0;

  // For who has the call.

  /// The call is there: frames go and come.
  void open(Reading &reading, Writing &writing);
  /// The stream is over for a reason of this end's, which the reader is told at once. `status` is for the
  /// peer.
  void fail(const std::string &why, const grpc::Status &status);
  /// The last operation of the call is over. Tells the reader and leaves.
  void over();
  /// Whether something has ended the stream, or is about to.
  bool isBroken() const;

  Delivery delivery;

private:
  std::optional<grpc::ByteBuffer> nextMessage();
  void write(std::optional<grpc::ByteBuffer> message);
  void written(bool ok);
  void read();
  void received(bool ok);
  bool deliver();
  void peerEnded();
  void stopReading(bool isLost);
  std::deque<Frame> breakOff(const std::string &why, const grpc::Status &status);
  void finishIfDone();

  mutable std::mutex mutex; ///< of what follows
  Reading *reading = nullptr;
  Writing *writing = nullptr;
  std::deque<Frame> frames;
  size_t numQueued = 0, numWriting = 0; ///< bytes in frames; of the message on its way
  bool isReading = false, isWriting = false, isFinishing = false;
  bool isClosing = false;  ///< takes no more frames; the end is sent behind those that it has
  bool hasSentEnd = false; ///< or is sending it
  bool hasEnd = false;     ///< the peer's
  bool broken = false;
  std::string reason;  ///< why it is broken; empty: the call says it
  grpc::Status status; ///< for the peer

  grpc::ByteBuffer incoming; ///< of the one read
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_GRPC_END_H
