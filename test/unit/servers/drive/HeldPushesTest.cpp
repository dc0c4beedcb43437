// Pushes that are sent while they are made.

#include "runtime/servers/drive/HeldPushes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace epl::runtime::servers::test {
namespace {

using testing::ElementsAre;

/// Notes where in their tensor the frames begin.
class NotedStream final : public Stream {
public:
  explicit NotedStream(std::vector<uint64_t> &offsets) : offsets(offsets) {}

  void send(Frame frame) override {
    Decoded decoded = decode(frame.head, frame.payload.size());
    auto &push = std::get<frames::PushT>(std::get<Message>(decoded));
    EXPECT_EQ(push.step, 3u);
    EXPECT_EQ(push.block, 7u);
    EXPECT_EQ(push.total, kBytes);
    EXPECT_EQ(frame.payload.front(), std::byte(push.offset / maxPayloadBytes));
    offsets.push_back(push.offset);
  }
  size_t queuedBytes() const override { return 0; }
  void close() override {}
  void cancel() noexcept override {}
  std::string peer() const override { return "nobody"; }

  static constexpr uint64_t kBytes = 2 * maxPayloadBytes + 10;

private:
  std::vector<uint64_t> &offsets;
};

class Nobody final : public StreamUser {
  void received(uint64_t, std::span<const std::byte>, const Payload &) override {}
  void broke(uint64_t, const Ending &) override {}
};

struct Fixture {
  Fixture() {
    for (uint64_t stream = 0; stream < 2; ++stream)
      streams.add(stream, std::make_unique<NotedStream>(sent[stream]));
    for (uint64_t piece = 0; piece < 3; ++piece)
      tensor.data[piece * maxPayloadBytes] = std::byte(piece);
  }
  void send(GradientHandle handle, uint64_t stream) {
    held.send({{0, 0}, /*step=*/3, /*block=*/7, handle, 1.0}, stream, streams);
  }

  std::vector<uint64_t> sent[2];
  Nobody nobody;
  Streams streams{nobody};
  HostTensor tensor = HostTensor::allocate({plan::ElementType::i8, {NotedStream::kBytes}});
  HeldPushes held;
};

TEST(HeldPushes, AreSentAsTheyGrow) {
  Fixture fixture;
  GradientHandle handle = fixture.held.add(fixture.tensor, 5);
  fixture.held.grow(handle, maxPayloadBytes, fixture.streams);
  EXPECT_THAT(fixture.sent[0], ElementsAre()) << "another one is on its way";
  fixture.send(handle, 0);
  EXPECT_THAT(fixture.sent[0], ElementsAre(0));
  fixture.held.grow(handle, 2 * maxPayloadBytes + 9, fixture.streams);
  EXPECT_THAT(fixture.sent[0], ElementsAre(0, maxPayloadBytes));
  fixture.held.grow(handle, NotedStream::kBytes, fixture.streams);
  EXPECT_THAT(fixture.sent[0], ElementsAre(0, maxPayloadBytes, 2 * maxPayloadBytes));
  fixture.held.release(handle);
  fixture.held.grow(handle, NotedStream::kBytes, fixture.streams);
  EXPECT_EQ(fixture.sent[0].size(), 3u);
}

TEST(HeldPushes, BeginAnewOnAnotherStream) {
  Fixture fixture;
  GradientHandle handle = fixture.held.add(fixture.tensor, 0);
  fixture.send(handle, 0);
  fixture.held.grow(handle, maxPayloadBytes, fixture.streams);
  fixture.send(handle, 1);
  fixture.held.grow(handle, NotedStream::kBytes, fixture.streams);
  EXPECT_THAT(fixture.sent[0], ElementsAre(0));
  EXPECT_THAT(fixture.sent[1], ElementsAre(0, maxPayloadBytes, 2 * maxPayloadBytes));
  fixture.send(handle, 0);
  EXPECT_EQ(fixture.sent[0].size(), 4u) << "all of it at once";
  fixture.send(handle, 2); // a stream that has ended
}

TEST(HeldPushes, AreAddedUpElsewhere) {
  Fixture fixture;
  HostTensor one = HostTensor::allocate({plan::ElementType::f32, {2}}), other = one;
  auto *values = reinterpret_cast<float *>(one.data);
  values[0] = 1, values[1] = 2;
  GradientHandle into = fixture.held.add(one), from = fixture.held.add(other);
  fixture.held.merge({into, from});
  EXPECT_EQ(values[1], 2) << "the sum has memory of its own";
  EXPECT_ANY_THROW(fixture.send(from, 0));
}

} // namespace
} // namespace epl::runtime::servers::test
