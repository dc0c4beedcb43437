// What a peer may send that knows gRPC and not us.
#include "Messages.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/service_type.h>
#include <grpcpp/support/method_handler.h>
#include <grpcpp/support/sync_stream.h>
#include <gtest/gtest.h>

using namespace epl::runtime::servers;
using grpc::ByteBuffer;
using testing::HasSubstr;

namespace {

/// A call of a method at an address, by gRPC alone.
struct RawClient {
  using Calls = grpc::internal::ClientReaderWriterFactory<ByteBuffer, ByteBuffer>;

  RawClient(const std::string &address, const char *method) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, -1);
    channel = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
    call.reset(
        Calls::Create(channel.get(), {method, grpc::internal::RpcMethod::BIDI_STREAMING, channel}, &context));
  }
  /// Its status, when all that came has been read.
  grpc::Status status() {
    ByteBuffer ignored;
    while (call->Read(&ignored)) {
    }
    return call->Finish();
  }

  std::shared_ptr<grpc::Channel> channel;
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<ByteBuffer, ByteBuffer>> call;
};

/// Accepts every stream and sends one message.
class RawServer : public grpc::Service {
public:
  explicit RawServer(const Bytes &message, bool accepts = true) {
    using Handler = grpc::internal::BidiStreamingHandler<RawServer, ByteBuffer, ByteBuffer>;
    auto handle = [=](RawServer *, grpc::ServerContext *context,
                      grpc::ServerReaderWriter<ByteBuffer, ByteBuffer> *call) {
      if (accepts)
        context->AddInitialMetadata(kAcceptedKey, "1");
      call->Write(cut(message, 1 << 20));
      ByteBuffer ignored;
      while (call->Read(&ignored)) {
      }
      return grpc::Status::OK;
    };
    AddMethod(new grpc::internal::RpcServiceMethod(kMethod, grpc::internal::RpcMethod::BIDI_STREAMING,
                                                   new Handler(handle, this)));
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server = builder.BuildAndStart();
  }
  ~RawServer() override { server->Shutdown(std::chrono::system_clock::now()); }
  std::string address() const { return "127.0.0.1:" + std::to_string(port); }

private:
  int port = 0;
  std::unique_ptr<grpc::Server> server;
};

} // namespace

TEST(RawPeers, ThatSendNoFrameAreTold) {
  std::shared_ptr<StreamTransport> transport = openStreamTransport();
  Acceptor acceptor(*transport);
  for (const Malformed &each : malformed()) {
    RawClient client(acceptor.address(), kMethod);
    client.call->Write(cut(each.message, 100'000));
    Acceptor::Accepted accepted = acceptor.next();
    EXPECT_THAT(accepted.recorder->whyClosed().value(),
                AllOf(HasSubstr(each.why), HasSubstr(accepted.stream->peer())));
    grpc::Status status = client.status();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), HasSubstr(each.why));
  }
}

TEST(RawPeers, ThatSendMessagesOfManyMegabytesAreTold) {
  std::shared_ptr<StreamTransport> transport = openStreamTransport();
  Acceptor acceptor(*transport);
  RawClient client(acceptor.address(), kMethod);
  client.call->Write(cut(Bytes(20 << 20), 1 << 20));
  Acceptor::Accepted accepted = acceptor.next();
  EXPECT_THAT(accepted.recorder->whyClosed().value(), HasSubstr(" broke: "));
  EXPECT_THAT(client.status().error_message(), HasSubstr("larger than max"));
}

TEST(RawPeers, ThatWantAnotherMethodAreTold) {
  std::shared_ptr<StreamTransport> transport = openStreamTransport();
  Acceptor acceptor(*transport);
  RawClient client(acceptor.address(), "/other.Service/Method");
  grpc::Status status = client.status();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(status.error_message(), "expected the method /epl.Servers/Frames, found /other.Service/Method");
  EXPECT_FALSE(acceptor.hasNext());
}

TEST(RawPeers, ThatServeNoFrameEndTheStream) {
  for (const Malformed &each : malformed()) {
    RawServer server(each.message);
    EXPECT_THAT(whyNotConnected(server.address(), {}).value(),
                AllOf(HasSubstr(each.why), HasSubstr(server.address())));
  }
}

TEST(RawPeers, ThatDoNotTakeTheStreamAreNoServers) {
  RawServer mute(Bytes(10), /*accepts=*/false);
  StreamOptions options;
  options.connectDeadline = std::chrono::milliseconds(400);
  EXPECT_THAT(whyNotConnected(mute.address(), options).value(),
              HasSubstr("no server answered at " + mute.address() + " within 400 ms"));
}
