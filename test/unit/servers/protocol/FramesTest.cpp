// Frames: what is written is read; whatever else the bytes are, the answer says what is wrong.

#include "runtime/servers/protocol/Pieces.h"

#include "test/unit/servers/protocol/Messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

namespace epl::runtime::servers::test {
namespace {

using testing::HasSubstr;
using namespace frames;

std::string faultOf(const Decoded &decoded) {
  return std::holds_alternative<std::string>(decoded) ? std::get<std::string>(decoded) : "no fault";
}

TEST(Frames, AreReadAsTheyWereWritten) {
  std::vector<Example> examples = exampleMessages();
  EXPECT_EQ(examples.size(), std::variant_size_v<Message>);
  for (size_t i = 0; i < examples.size(); ++i) {
    const auto &[message, payload] = examples[i];
    EXPECT_EQ(message.index(), i) << "an example of each kind";
    std::vector<std::byte> bytes = encode(message);
    Decoded decoded = decode(bytes, payload);
    ASSERT_EQ(faultOf(decoded), "no fault") << messageName(message);
    EXPECT_EQ(encode(std::get<Message>(decoded)), bytes) << messageName(message);
  }
}

TEST(Frames, KeepTheirNumbers) {
  Decoded decoded = decode(encode(exampleMessages()[5].message), 8);
  const PushT &push = std::get<PushT>(std::get<Message>(decoded));
  EXPECT_EQ(push.step, 4u);
  EXPECT_EQ(push.block, 3u);
  EXPECT_EQ(push.offset, 16u);
  EXPECT_EQ(push.total, 24u);
  decoded = decode(encode(exampleMessages()[7].message), 0);
  const PullRequestT &request = std::get<PullRequestT>(std::get<Message>(decoded));
  ASSERT_EQ(request.blocks.size(), 2u);
  EXPECT_EQ(request.blocks[1].block(), 1u);
  EXPECT_EQ(request.blocks[1].least(), 4u);
}

/// Bytes changed at random, at any address, are a fault or a message that can be written.
TEST(Frames, OfDamagedBytesAreFaults) {
  std::mt19937 random(5);
  std::vector<Example> examples = exampleMessages();
  for (int i = 0; i < 20000; ++i) {
    const Example &example = examples[size_t(i) % examples.size()];
    std::vector<std::byte> bytes = encode(example.message);
    for (unsigned count = 1 + random() % 3; count > 0; --count)
      bytes[random() % bytes.size()] = std::byte(random());
    if (i % 5 == 0)
      bytes.resize(random() % bytes.size());
    bytes.insert(bytes.begin(), std::byte(0xa5));
    Decoded decoded = decode(std::span(bytes).subspan(1), example.payloadBytes);
    if (std::holds_alternative<Message>(decoded)) {
      EXPECT_FALSE(encode(std::get<Message>(decoded)).empty());
    } else {
      EXPECT_NE(faultOf(decoded), "");
    }
  }
}

template <typename T, typename Change> Message changed(Change change) {
  for (const Example &example : exampleMessages())
    if (const T *found = std::get_if<T>(&example.message)) {
      T message = *found;
      change(message);
      return message;
    }
  return {};
}

struct Fault {
  Message message;
  size_t payload;
  std::string text;
};

TEST(Frames, AreFoundAtFault) {
  const Fault faults[] = {
      {changed<HelloT>([](HelloT &m) { m.worker = 3; }), 0, "(Hello) is from worker 3 of 3"},
      {changed<HelloT>([](HelloT &m) { m.workers = 5000; }), 0, "(Hello) is from worker 2 of 5000"},
      {changed<HelloT>([](HelloT &m) { m.server = 5000; }), 0, "(Hello) is for server 5000"},
      {changed<WelcomeT>([](WelcomeT &m) { m.server = 5000; }), 0, "(Welcome) is from server 5000"},
      {changed<SetupT>([](SetupT &m) { m.kind = SetupKind(9); }), 16,
       "(Setup) is of kind 9, which does not exist"},
      {changed<PushT>([](PushT &m) { m.offset = 25; }), 0, "(Push) has 0 bytes from 25 on of 24"},
      {changed<PushT>([](PushT &) {}), 9, "(Push) has 9 bytes from 16 on of 24"},
      {changed<PushT>([](PushT &) {}), 0, "(Push) has 0 bytes from 16 on of 24"},
      {changed<ValueT>([](ValueT &m) { m.total = UINT64_MAX; }), 8,
       "(Value) is of 18446744073709551615 bytes, expected at most 281474976710656"},
      {changed<PullRequestT>([](PullRequestT &m) { m.blocks.clear(); }), 0,
       "(PullRequest) is for 0 blocks, expected from 1 to 32768"},
      {changed<PullRequestT>([](PullRequestT &m) { m.blocks.resize(40000); }), 0,
       "(PullRequest) is for 40000 blocks, expected from 1 to 32768"},
      {changed<PullRowsT>([](PullRowsT &m) { m.total = 25; }), 8,
       "(PullRows) is of 25 bytes, expected 8 of each id"},
      {changed<PullRowsT>([](PullRowsT &) {}), 17, "(PullRows) has 17 bytes from 8 on of 24"},
      {changed<RunTaskT>([](RunTaskT &m) { m.task = TableTask(9); }), 0,
       "(RunTask) is of task 9, which does not exist"},
      {changed<RunTaskT>([](RunTaskT &m) { m.folder = std::string(9000, 'x'); }), 0,
       "(RunTask) has a text of 9000 bytes, expected at most 8192"},
      {changed<HeartbeatT>([](HeartbeatT &m) { m.block = -2; }), 0, "(Heartbeat) is about block -2"},
      {changed<JoinT>([](JoinT &m) { m.worker = 2; }), 0, "(Join) is from worker 2 of 2"},
      {changed<ShareT>([](ShareT &m) { m.total = maxSharedBytes + 1; }), 8,
       "(Share) is of 1073741825 bytes, expected at most 1073741824"},
      {changed<ShareT>([](ShareT &m) { m.from = -2; }), 8, "(Share) wants what worker -2 gives"},
      {changed<SharedT>([](SharedT &) {}), 9, "(Shared) has 9 bytes from 16 on of 24"},
      {changed<ShareFailedT>([](ShareFailedT &) {}), 1,
       "(ShareFailed) has a payload of 1 bytes, expected none"},
      {changed<GoodbyeT>([](GoodbyeT &) {}), 4, "(Goodbye) has a payload of 4 bytes, expected none"},
      {changed<GoodbyeT>([](GoodbyeT &) {}), kMaxFrame, "payload of 1048576, expected at most 1048576"},
  };
  for (const Fault &fault : faults)
    EXPECT_THAT(faultOf(decode(encode(fault.message), fault.payload)), HasSubstr(fault.text));
  EXPECT_EQ(faultOf(decode({}, 0)), "is malformed");
}

TEST(Frames, OfAnUnknownKindAreFaults) {
  flatbuffers::FlatBufferBuilder builder;
  auto body = CreateReady(builder);
  FinishFrameBuffer(builder, CreateFrame(builder, Body(99), body.Union()));
  std::span bytes(reinterpret_cast<const std::byte *>(builder.GetBufferPointer()), builder.GetSize());
  EXPECT_EQ(faultOf(decode(bytes, 0)), "is of kind 99, which does not exist");
}

TEST(Frames, HaveTextsThatFit) {
  FailureT failure;
  failure.text = std::string(100000, 'x');
  Decoded decoded = decode(encode(failure), 0);
  ASSERT_EQ(faultOf(decoded), "no fault");
  EXPECT_EQ(std::get<FailureT>(std::get<Message>(decoded)).text.size(), maxFailureBytes);
  ShareT share;
  share.what = std::string(100000, 'x');
  std::vector<std::byte> head = encode(share);
  EXPECT_LE(head.size(), kMaxFrame - maxPayloadBytes);
  decoded = decode(head, 0);
  ASSERT_EQ(faultOf(decoded), "no fault");
  EXPECT_EQ(std::get<ShareT>(std::get<Message>(decoded)).what.size(), maxWhatBytes);
}

TEST(Frames, OfTheLargestRequestFit) {
  PullRequestT request;
  request.blocks.resize(maxPulledBlocks);
  EXPECT_EQ(faultOf(decode(encode(request), 0)), "no fault");
}

TEST(Frames, OfTheLargestPieceFit) {
  for (Example example : exampleMessages()) {
    EXPECT_LE(encode(example.message).size(), kMaxFrame - maxPayloadBytes) << messageName(example.message);
  }
}

} // namespace
} // namespace epl::runtime::servers::test
