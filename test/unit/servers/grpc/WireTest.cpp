// What goes over the wire.
#include "Messages.h"

#include "runtime/Error.h"
#include "runtime/servers/grpc/Secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

using namespace epl::runtime;
using namespace epl::runtime::servers;
using grpc::ByteBuffer;
using testing::HasSubstr;

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

TEST(Secrets, AreComparedWhole) {
  EXPECT_TRUE(isEqualSecret("", ""));
  EXPECT_TRUE(isEqualSecret("token", "token"));
  for (const char *other : {"", "toke", "tokens", "Token", "tokem"})
    EXPECT_FALSE(isEqualSecret(other, "token"));
}
