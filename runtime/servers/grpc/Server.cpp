#include "runtime/servers/grpc/Server.h"

#include "runtime/Error.h"
#include "runtime/servers/grpc/Accepted.h"
#include "runtime/servers/grpc/Secrets.h"
#include "runtime/servers/grpc/Settings.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

namespace epl::runtime::servers {

static std::shared_ptr<grpc::ServerCredentials> credentialsOf(const Secrets &secrets) {
  if (!secrets.hasTls())
    return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(secrets.ca.empty()
                                                ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                                                : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = secrets.ca;
  options.pem_key_cert_pairs.push_back({secrets.key, secrets.certificate});
  return grpc::SslServerCredentials(options);
}

std::shared_ptr<Server> startServer(const Address &address, AcceptStream accept, const StreamOptions &options,
                                    unsigned threads) {
  Secrets secrets = readSecrets(options, address, /*listens=*/true);
  Settings settings = settingsOf(options);
  checkCanListen(address);
  auto server = std::make_shared<Server>();
  grpc::ServerBuilder builder;
  for (const Settings &some : {settings, settingsOfListening()})
    for (auto [name, value] : some)
      builder.AddChannelArgument(name, value);
  int port = 0;
  builder.AddListeningPort(address.str(), credentialsOf(secrets), &port);
  builder.RegisterAsyncGenericService(&server->service);
  std::unique_ptr<grpc::ServerCompletionQueue> completions = builder.AddCompletionQueue();
  server->completions = completions.get();
  server->server = builder.BuildAndStart();
  if (!server->server || port == 0)
    throw Error("cannot listen at " + address.str() + ": gRPC cannot, for a reason that it does not tell");
  server->address = {address.host, static_cast<uint16_t>(port)};
  server->token = options.token;
  server->accept = std::move(accept);
  server->silence = options.silence;
  server->queue = std::make_shared<Queue>(std::move(completions), threads);
  Accepted::awaitNext(server);
  return server;
}

/// Ends hold the server, and the server has a queue: the ends are gone when the queue has been drained.
void stopServer(Server &server) {
  server.queue->drain("the listener at " + server.address.str() + " was stopped",
                      [&] { server.server->Shutdown(std::chrono::system_clock::now()); });
  server.accept = nullptr;
}

} // namespace epl::runtime::servers
