// The ends of who listens.
#ifndef EPL_RUNTIME_SERVERS_GRPC_SERVER_H
#define EPL_RUNTIME_SERVERS_GRPC_SERVER_H

#include "runtime/servers/grpc/Address.h"
#include "runtime/servers/grpc/End.h"
#include "runtime/servers/grpc/Queue.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>

namespace epl::runtime::servers {

/// What listens, shared by its ends.
struct Server {
  Address address;
  std::string token;
  AcceptStream accept;
  std::chrono::milliseconds silence;
  grpc::AsyncGenericService service;
  std::shared_ptr<Queue> queue;
  grpc::ServerCompletionQueue *completions = nullptr; ///< the queue's
  std::unique_ptr<grpc::Server> server;
};

/// Listens, and waits for the first stream. Throws Error if it cannot.
std::shared_ptr<Server> startServer(const Address &address, AcceptStream accept, const StreamOptions &options,
                                    unsigned threads);

/// Accepts no more, ends all streams and waits for that.
void stopServer(Server &server);

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_GRPC_SERVER_H
