#include "BareGrpc.h"

#include <algorithm>
#include <cstring>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/service_type.h>
#include <grpcpp/support/method_handler.h>
#include <grpcpp/support/sync_stream.h>
#include <stdexcept>
#include <thread>

namespace epl::benchmark {

using grpc::ByteBuffer;

namespace {

constexpr const char *kMethod = "/bare.Bare/Move";

/// What each exchange begins with.
struct Order {
  uint64_t there, back, chunk; ///< bytes
  bool atOnce;                 ///< whether each message is answered when it has come, or all when all have
};

/// What lands of a message, in a place of the receiver's.
void land(const ByteBuffer &message, std::byte *target) {
  std::vector<grpc::Slice> slices;
  if (!message.Dump(&slices).ok())
    throw std::runtime_error("a message that cannot be read");
  for (const grpc::Slice &slice : slices) {
    std::memcpy(target, slice.begin(), slice.size());
    target += slice.size();
  }
}

ByteBuffer messageOf(std::span<const std::byte> bytes) {
  grpc::Slice slice(bytes.data(), bytes.size(), grpc::Slice::STATIC_SLICE);
  return ByteBuffer(&slice, 1);
}

class Service : public grpc::Service {
public:
  explicit Service(size_t size) : tensor(size) {
    using Handler = grpc::internal::BidiStreamingHandler<Service, ByteBuffer, ByteBuffer>;
    auto move = [](Service *service, grpc::ServerContext *,
                   grpc::ServerReaderWriter<ByteBuffer, ByteBuffer> *stream) {
      ByteBuffer message;
      while (stream->Read(&message)) {
        Order order;
        land(message, reinterpret_cast<std::byte *>(&order));
        uint64_t sent = 0;
        auto answer = [&](uint64_t end) {
          for (end = std::min(end, order.back); sent < end; sent += std::min(order.chunk, end - sent))
            stream->Write(
                messageOf(std::span(service->tensor).subspan(sent, std::min(order.chunk, end - sent))));
        };
        for (uint64_t come = 0; come < order.there; come += message.Length()) {
          if (!stream->Read(&message))
            return grpc::Status::CANCELLED;
          land(message, service->tensor.data() + come);
          if (order.atOnce)
            answer(come + message.Length());
        }
        answer(order.back);
      }
      return grpc::Status::OK;
    };
    AddMethod(new grpc::internal::RpcServiceMethod(kMethod, grpc::internal::RpcMethod::BIDI_STREAMING,
                                                   new Handler(move, this)));
  }

private:
  std::vector<std::byte> tensor;
};

} // namespace

struct BareGrpc::Ends {
  explicit Ends(size_t size) : service(size) {}

  Service service;
  int port = 0;
  std::unique_ptr<grpc::Server> server;
  std::shared_ptr<grpc::Channel> channel;
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<ByteBuffer, ByteBuffer>> stream;
};

BareGrpc::BareGrpc(size_t size) : ends(std::make_unique<Ends>(size)) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &ends->port);
  builder.RegisterService(&ends->service);
  ends->server = builder.BuildAndStart();
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  ends->channel = grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(ends->port),
                                            grpc::InsecureChannelCredentials(), arguments);
  grpc::internal::RpcMethod method(kMethod, grpc::internal::RpcMethod::BIDI_STREAMING, ends->channel);
  using Factory = grpc::internal::ClientReaderWriterFactory<ByteBuffer, ByteBuffer>;
  ends->stream.reset(Factory::Create(ends->channel.get(), method, &ends->context));
}

BareGrpc::~BareGrpc() {
  ends->stream->WritesDone();
  ends->stream->Finish();
  ends->server->Shutdown();
}

void BareGrpc::exchange(std::span<const std::byte> there, std::span<std::byte> back, size_t chunk,
                        Answers answers) {
  Order order{there.size(), back.size(), chunk, answers == Answers::atOnce};
  ends->stream->Write(messageOf(std::as_bytes(std::span(&order, 1))));
  std::thread writer([&] {
    for (size_t at = 0; at < there.size(); at += chunk)
      ends->stream->Write(messageOf(there.subspan(at, std::min(chunk, there.size() - at))));
  });
  ByteBuffer message;
  for (size_t at = 0; at < back.size(); at += message.Length()) {
    if (!ends->stream->Read(&message))
      throw std::runtime_error("the bare stream ended");
    land(message, back.data() + at);
  }
  writer.join();
}

} // namespace epl::benchmark
