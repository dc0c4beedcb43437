#include "runtime/servers/grpc/End.h"

#include "runtime/Error.h"

namespace epl::runtime::servers {

static size_t sizeOf(const Frame &frame) { return frame.head.size() + frame.payload.size(); }

void End::send(Frame frame) {
  if (sizeOf(frame) > kMaxFrame)
    throw Error("a frame of " + std::to_string(sizeOf(frame)) + " bytes to " + peer() +
                ", expected at most " + std::to_string(kMaxFrame));
  std::optional<grpc::ByteBuffer> message;
  {
    std::lock_guard lock(mutex);
    if (isClosing || broken)
      return;
    numQueued += sizeOf(frame);
    frames.push_back(std::move(frame));
    message = nextMessage();
  }
  write(std::move(message));
}

size_t End::queuedBytes() const {
  std::lock_guard lock(mutex);
  return numQueued + numWriting;
}

void End::close() {
  std::optional<grpc::ByteBuffer> message;
  {
    std::lock_guard lock(mutex);
    isClosing = true;
    message = nextMessage();
  }
  write(std::move(message));
}

void End::open(Reading &from, Writing &to) {
  std::optional<grpc::ByteBuffer> message;
  {
    std::lock_guard lock(mutex);
    reading = &from;
    writing = &to;
    isReading = true;
    message = nextMessage();
  }
  write(std::move(message));
  delivery.opened();
  read();
}

/// The message to write now, if there is one and no other is being written. With the lock.
std::optional<grpc::ByteBuffer> End::nextMessage() {
  if (!writing || isWriting || broken || hasSentEnd || (frames.empty() && !isClosing))
    return std::nullopt;
  isWriting = true;
  if (frames.empty()) {
    hasSentEnd = true;
    return grpc::ByteBuffer(nullptr, 0);
  }
  Frame frame = std::move(frames.front());
  frames.pop_front();
  numWriting = sizeOf(frame);
  numQueued -= numWriting;
  return messageOf(std::move(frame));
}

/// Without the lock: gRPC may release owners of frames here.
void End::write(std::optional<grpc::ByteBuffer> message) {
  if (message)
    writing->Write(*message, tagOf([self = shared_from_this()](bool ok) { self->written(ok); }));
}

void End::written(bool ok) {
  std::optional<grpc::ByteBuffer> message;
  {
    std::lock_guard lock(mutex);
    isWriting = false;
    numWriting = 0;
    broken |= !ok;
    message = nextMessage();
  }
  write(std::move(message));
  finishIfDone();
}

void End::read() {
  reading->Read(&incoming, tagOf([self = shared_from_this()](bool ok) { self->received(ok); }));
}

void End::received(bool ok) {
  if (!ok)
    return stopReading(true);
  if (incoming.Length() == 0)
    return peerEnded();
  if (!deliver() || isBroken())
    return stopReading(false);
  read();
}

/// Tells the reader of the frame that has come. False if that ended the stream.
bool End::deliver() {
  try {
    ReceivedFrame frame(incoming);
    incoming.Clear();
    delivery.received(frame.head(), frame.payload());
    return true;
  } catch (const std::exception &error) {
    fail("the stream with " + peer() + " was ended here: " + error.what(),
         grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, error.what()));
    return false;
  }
}

void End::peerEnded() {
  std::optional<grpc::ByteBuffer> message;
  {
    std::lock_guard lock(mutex);
    hasEnd = isClosing = true;
    message = nextMessage();
  }
  write(std::move(message));
  delivery.closed({});
  stopReading(false);
}

void End::stopReading(bool isLost) {
  {
    std::lock_guard lock(mutex);
    isReading = false;
    broken |= isLost;
  }
  finishIfDone();
}

bool End::isBroken() const {
  std::lock_guard lock(mutex);
  return broken;
}

/// Nothing goes from now on. Returns the frames that were to go: who owns them is called without the lock.
std::deque<Frame> End::breakOff(const std::string &why, const grpc::Status &forPeer) {
  std::lock_guard lock(mutex);
  if (!broken) {
    reason = why;
    status = forPeer;
  }
  broken = true;
  numQueued = 0;
  return std::exchange(frames, {});
}

void End::cancel(const std::string &why) {
  breakOff(why, grpc::Status(grpc::StatusCode::CANCELLED, "the peer cancelled the stream"));
  cancelCall();
  finishIfDone();
}

void End::fail(const std::string &why, const grpc::Status &forPeer) {
  breakOff(why, forPeer);
  delivery.closed({why});
  failCall();
}

/// Where the peer has closed the stream all that is left is to say the same, for which nobody need wait.
void End::abandon() noexcept {
  delivery.mute();
  std::deque<Frame> dropped;
  bool isClosed = false;
  {
    std::lock_guard lock(mutex);
    isClosed = hasEnd;
    if (isClosed) {
      dropped = std::exchange(frames, {});
      numQueued = 0;
    }
  }
  if (isClosed)
    close();
  else
    cancel("the stream with " + peer() + " was destroyed");
  delivery.stop();
}

void End::finishIfDone() {
  grpc::Status forPeer;
  {
    std::lock_guard lock(mutex);
    bool isOver = broken || (hasEnd && hasSentEnd);
    if (!reading || isReading || isWriting || isFinishing || !isOver)
      return;
    isFinishing = true;
    forPeer = status;
  }
  finishCall(forPeer);
}

void End::over() {
  std::string why;
  std::deque<Frame> dropped;
  {
    std::lock_guard lock(mutex);
    dropped = std::exchange(frames, {});
    numQueued = 0;
    why = reason;
    isClosing = broken = true;
  }
  delivery.closed(why.empty() ? howBroken() : Ending{why});
  leave();
}

} // namespace epl::runtime::servers
