#include "runtime/servers/grpc/Handle.h"

#include "runtime/Error.h"

#include <unistd.h>

namespace epl::runtime::servers {

/// The process that used gRPC first, as its threads and locks are all one.
static pid_t firstProcess() {
  static const pid_t process = getpid();
  return process;
}

OwnProcess::OwnProcess() { firstProcess(); }

bool OwnProcess::isForked() const { return getpid() != firstProcess(); }

void OwnProcess::check() const {
  if (isForked())
    throw Error(
        "the process was forked after its first use of streams: start a new one instead (spawn, not fork)");
}

Handle::~Handle() {
  if (process.isForked())
    leaveBehind(end);
  else
    end->abandon();
}

void Handle::send(Frame frame) {
  process.check();
  end->send(std::move(frame));
}

size_t Handle::queuedBytes() const { return process.isForked() ? 0 : end->queuedBytes(); }

void Handle::close() {
  process.check();
  end->close();
}

void Handle::cancel() noexcept {
  if (!process.isForked())
    end->cancel("the stream with " + end->peer() + " was cancelled here");
}

} // namespace epl::runtime::servers
