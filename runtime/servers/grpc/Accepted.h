// The end of a stream that has come to who listens.
#ifndef EPL_RUNTIME_SERVERS_GRPC_ACCEPTED_H
#define EPL_RUNTIME_SERVERS_GRPC_ACCEPTED_H

#include "runtime/servers/grpc/Server.h"

namespace epl::runtime::servers {

class Accepted final : public End {
public:
  explicit Accepted(std::shared_ptr<Server> server) : server(std::move(server)), stream(&context) {}

  /// Waits for a stream, of which an Accepted will be the end.
  static void awaitNext(const std::shared_ptr<Server> &server);

  std::string peer() const override { return client; }

private:
  void came(bool ok);
  grpc::Status check() const;
  void refuse(const grpc::Status &status);
  void accept();
  void begin();

  void finishCall(const grpc::Status &status) override;
  void cancelCall() noexcept override;
  void failCall() noexcept override {} // finishCall tells the peer, when what is being written has gone
  Ending howBroken() const override;
  void leave() override { server->queue->leave(*this); }

  const std::shared_ptr<Server> server;
  std::string client; ///< its address
  grpc::GenericServerContext context;
  grpc::GenericServerAsyncReaderWriter stream;
  std::atomic<bool> isOpen = false;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_GRPC_ACCEPTED_H
