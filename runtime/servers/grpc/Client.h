// The end of who connects.
#ifndef EPL_RUNTIME_SERVERS_GRPC_CLIENT_H
#define EPL_RUNTIME_SERVERS_GRPC_CLIENT_H

#include "runtime/servers/grpc/Address.h"
#include "runtime/servers/grpc/End.h"
#include "runtime/servers/grpc/Queue.h"

#include <grpcpp/alarm.h>
#include <grpcpp/channel.h>
#include <grpcpp/generic/generic_stub.h>

namespace epl::runtime::servers {

/// Calls until a server takes the stream, or the deadline is over. Begins with `call`, after it has entered
/// its queue.
class Client final : public End {
public:
  /// Throws Error for options that do not fit.
  Client(std::shared_ptr<Queue> queue, const Address &address, std::shared_ptr<StreamReader> reader,
         const StreamOptions &options);

  /// Sets the deadline and calls for the first time.
  void begin();
  std::string peer() const override { return address.str(); }

private:
  void call();
  void started(bool ok);
  void answered(bool ok);
  bool connect();
  void askStatus();
  bool wantsTls();
  void refused();
  void deadlineIsOver(bool isOver);
  void end();

  void finishCall(const grpc::Status &status) override;
  void cancelCall() noexcept override;
  void failCall() noexcept override { cancelCall(); }
  Ending howBroken() const override;
  void leave() override { queue->leave(*this); }

  const std::shared_ptr<Queue> queue;
  const Address address;
  const std::string token;
  const std::chrono::milliseconds patience;
  const bool hasTls;
  grpc::GenericStub stub;

  std::mutex
      mutex; ///< of the context, which is a new one for each call, and of the two that exclude one another
  std::shared_ptr<grpc::ClientContext> context;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream;
  grpc::Status status; ///< of the call that is over
  std::string absence; ///< what the last call says that found no server
  bool lacksTls = false;
  std::chrono::steady_clock::time_point nextProbe;
  bool isConnected = false;
  std::atomic<bool> isLate = false;
  grpc::Alarm deadline, pause;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_GRPC_CLIENT_H
