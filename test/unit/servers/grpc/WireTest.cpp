// What goes over the wire, and what a peer may send that knows gRPC and not us.
#include "Ends.h"

#include "runtime/Error.h"
#include "runtime/servers/grpc/Secrets.h"
#include "runtime/servers/grpc/Wire.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/service_type.h>
#include <grpcpp/support/method_handler.h>
#include <grpcpp/support/sync_stream.h>
#include <gtest/gtest.h>
#include <random>

using namespace epl::runtime;
using namespace epl::runtime::servers;
using grpc::ByteBuffer;
using testing::HasSubstr;

namespace {

/// A message of bytes, in slices of at most so many.
ByteBuffer cut(const Bytes &bytes, size_t most) {
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size(); at += most)
    slices.emplace_back(bytes.data() + at, std::min(most, bytes.size() - at));
  return ByteBuffer(slices.data(), slices.size());
}

Bytes wholeOf(const ByteBuffer &message) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(message.Dump(&slices).ok());
  Bytes bytes;
  for (const grpc::Slice &slice : slices) {
    auto part = std::as_bytes(std::span(slice.begin(), slice.size()));
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  return bytes;
}

/// A frame of so many bytes that says that its head has some of them.
Bytes rawFrame(uint32_t head, size_t size) {
  Bytes bytes(sizeof(head) + size);
  std::memcpy(bytes.data(), &head, sizeof(head));
  return bytes;
}

struct Malformed {
  Bytes message;
  std::string why;
};

std::vector<Malformed> malformed() {
  return {{Bytes(1), "a frame of 1 bytes, expected at least 4"},
          {Bytes(3), "a frame of 3 bytes, expected at least 4"},
          {rawFrame(11, 10), "a frame of 10 bytes that has a head of 11"},
          {rawFrame(UINT32_MAX, 10), "a frame of 10 bytes that has a head of 4294967295"},
          {rawFrame(4, kMaxFrame + 1), "a frame of 1048577 bytes, expected at most 1048576"}};
}

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

TEST(Wire, FramesComeHoweverTheirMessageIsCut) {
  for (auto [head, payload] : {std::pair<size_t, size_t>{0, 0}, {0, 100}, {100, 0}, {37, 1000}, {1000, 3}}) {
    Bytes headBytes = randomBytes(head, head), payloadBytes = randomBytes(payload + 1, payload);
    Bytes whole = wholeOf(messageOf(frameOf(headBytes, payloadBytes)));
    EXPECT_EQ(whole.size(), kFramePrefix + head + payload);
    for (size_t most : {1, 2, 3, 5, 64, 5000}) {
      ReceivedFrame frame(cut(whole, most));
      EXPECT_EQ(Bytes(frame.head().begin(), frame.head().end()), headBytes);
      Bytes copy(frame.payload().size());
      frame.payload().copyTo(copy);
      EXPECT_EQ(copy, payloadBytes);
    }
  }
}

TEST(Wire, SendsThePayloadThatItIsGiven) {
  auto bytes = std::make_shared<const Bytes>(randomBytes(1, 1000));
  std::weak_ptr<const Bytes> watched = bytes;
  {
    ByteBuffer message = messageOf({Bytes(10), *bytes, bytes});
    std::vector<grpc::Slice> slices;
    ASSERT_TRUE(message.Dump(&slices).ok());
    ASSERT_EQ(slices.size(), 2u);
    EXPECT_EQ(slices[1].begin(), reinterpret_cast<const uint8_t *>(bytes->data()));
    bytes.reset();
    EXPECT_FALSE(watched.expired());
  }
  EXPECT_TRUE(watched.expired());
}

TEST(Wire, RefusesWhatIsNoFrame) {
  for (const Malformed &each : malformed())
    EXPECT_THAT([&] { ReceivedFrame frame(cut(each.message, 1000)); },
                testing::ThrowsMessage<Error>(HasSubstr(each.why)));
}

TEST(Wire, ReadsNothingBeyondRandomBytes) {
  std::mt19937_64 random(1);
  size_t frames = 0;
  for (int i = 0; i < 20'000; ++i) {
    Bytes bytes = randomBytes(random(), random() % 40);
    for (size_t at = 1; at < std::min<size_t>(bytes.size(), 4); ++at)
      bytes[at] &= static_cast<std::byte>(random() % 16 == 0); // small heads mostly
    try {
      ReceivedFrame frame(cut(bytes, 1 + random() % 8));
      EXPECT_EQ(kFramePrefix + frame.head().size() + frame.payload().size(), bytes.size());
      ++frames;
    } catch (const Error &) {
    }
  }
  EXPECT_GT(frames, 1000u);
  EXPECT_LT(frames, 19'000u);
}

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

TEST(Secrets, AreComparedWhole) {
  EXPECT_TRUE(isEqualSecret("", ""));
  EXPECT_TRUE(isEqualSecret("token", "token"));
  for (const char *other : {"", "toke", "tokens", "Token", "tokem"})
    EXPECT_FALSE(isEqualSecret(other, "token"));
}
