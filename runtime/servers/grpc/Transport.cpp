#include "runtime/Error.h"
#include "runtime/servers/grpc/Client.h"
#include "runtime/servers/grpc/Handle.h"
#include "runtime/servers/grpc/Plugin.h"
#include "runtime/servers/grpc/Server.h"

#include <cstdlib>
#include <grpc/support/log.h>

namespace epl::runtime::servers {

namespace {

class GrpcListener : public Listener {
public:
  explicit GrpcListener(std::shared_ptr<Server> server) : server(std::move(server)) {}
  ~GrpcListener() override;

  std::string address() const override { return server->address.str(); }
  void stop() noexcept override;

private:
  std::shared_ptr<Server> server;
  OwnProcess process;
  std::once_flag stopped;
};

class GrpcTransport : public StreamTransport {
public:
  explicit GrpcTransport(unsigned threads)
      : threads(threads), queue(std::make_shared<Queue>(std::make_unique<grpc::CompletionQueue>(), threads)) {
  }
  ~GrpcTransport() override;

  std::unique_ptr<Stream> connect(const std::string &address, std::shared_ptr<StreamReader> reader,
                                  const StreamOptions &options) override;
  std::unique_ptr<Listener> listen(const std::string &address, AcceptStream accept,
                                   const StreamOptions &options) override;

private:
  const unsigned threads;
  std::shared_ptr<Queue> queue;
  OwnProcess process;
};

} // namespace

GrpcListener::~GrpcListener() {
  if (process.isForked())
    leaveBehind(server);
  else
    stop();
}

void GrpcListener::stop() noexcept {
  if (process.isForked())
    return;
  std::call_once(stopped, [&] { outsideOf(*server->queue, [server = server] { stopServer(*server); }); });
}

GrpcTransport::~GrpcTransport() {
  if (process.isForked())
    leaveBehind(queue);
  else
    outsideOf(*queue, [queue = queue] { queue->drain("the transport was closed"); });
}

std::unique_ptr<Stream> GrpcTransport::connect(const std::string &address,
                                               std::shared_ptr<StreamReader> reader,
                                               const StreamOptions &options) {
  process.check();
  auto client =
      std::make_shared<Client>(queue, Address::parse(address, /*listens=*/false), std::move(reader), options);
  auto stream = std::make_unique<Handle>(client);
  if (queue->enter(client))
    client->begin();
  return stream;
}

std::unique_ptr<Listener> GrpcTransport::listen(const std::string &address, AcceptStream accept,
                                                const StreamOptions &options) {
  process.check();
  return std::make_unique<GrpcListener>(
      startServer(Address::parse(address, /*listens=*/true), std::move(accept), options, threads));
}

/// What gRPC would print is in errors, unless somebody asks for its log.
static void silence() {
  if (!std::getenv("GRPC_VERBOSITY"))
    gpr_set_log_function([](gpr_log_func_args *) {});
}

} // namespace epl::runtime::servers

extern "C" __attribute__((visibility("default"))) void
eplOpenGrpcTransport(unsigned threads, std::shared_ptr<epl::runtime::servers::StreamTransport> &opened) {
  epl::runtime::servers::OwnProcess().check(); // before gRPC's own state is touched
  epl::runtime::servers::silence();
  opened = std::make_shared<epl::runtime::servers::GrpcTransport>(threads);
}
