#include "Ends.h"

#include "runtime/Error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

using namespace epl::runtime;
using namespace epl::runtime::servers;
using testing::HasSubstr;
using testing::ThrowsMessage;

namespace {

constexpr size_t kFrames = 10'000;

/// Sizes from 0 to the largest, more of the small ones, so that a test does not take minutes.
std::pair<size_t, size_t> sizesOf(uint64_t seed) {
  std::mt19937_64 random(seed);
  size_t most = random() % 20 == 0 ? kMaxFrame : size_t(1) << (random() % 15);
  size_t head = random() % std::min<size_t>(most + 1, 2000), payload = random() % (most - head + 1);
  if (seed % 1000 == 0)
    return {100, kMaxFrame - 100};
  return {head, payload};
}

Recorder::Came numbered(uint64_t seed) {
  auto [head, payload] = sizesOf(seed);
  return {randomBytes(seed, head), randomBytes(~seed, payload)};
}

/// Sends frames of the seeds from `first`, holding back while 8 MiB are queued.
void sendAll(Stream &stream, uint64_t first) {
  for (uint64_t i = 0; i < kFrames; ++i) {
    while (stream.queuedBytes() > 8 * kMaxFrame)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    Recorder::Came frame = numbered(first + i);
    stream.send(frameOf(std::move(frame.head), std::move(frame.payload)));
  }
}

/// The number of frames that come as sent.
size_t countEqual(Recorder &recorder, uint64_t first) {
  for (uint64_t i = 0; i < kFrames; ++i)
    if (recorder.next() != numbered(first + i))
      return i;
  return kFrames;
}

} // namespace

TEST(Payload, IsCopiedPieceByPiece) {
  Bytes all = randomBytes(1, 100), copy(100);
  std::span<const std::byte> bytes = all;
  std::vector pieces = {bytes.subspan(0, 1), bytes.subspan(1, 0), bytes.subspan(1, 99)};
  Payload payload{pieces};
  EXPECT_EQ(payload.size(), 100u);
  payload.copyTo(copy);
  EXPECT_EQ(copy, all);
  EXPECT_THAT([&] { payload.copyTo(std::span(copy).first(99)); },
              ThrowsMessage<Error>(HasSubstr("100 bytes for a tensor of 99")));
}

TEST(Streams, CarryFramesBothWaysAtOnceInOrder) {
  Pair pair;
  std::thread there([&] { sendAll(*pair.stream, 0); });
  std::thread back([&] { sendAll(*pair.other.stream, kFrames); });
  size_t equalBack = 0;
  std::thread reader([&] { equalBack = countEqual(*pair.reader, kFrames); });
  EXPECT_EQ(countEqual(*pair.other.recorder, 0), kFrames);
  reader.join();
  EXPECT_EQ(equalBack, kFrames);
  there.join();
  back.join();
}

TEST(Streams, HaveHeadsThatAreAlignedAndEmptyFrames) {
  Pair pair;
  std::atomic<bool> isAligned = true;
  struct Reader : StreamReader {
    explicit Reader(std::atomic<bool> &isAligned) : isAligned(isAligned) {}
    void received(std::span<const std::byte> head, const Payload &) override {
      if (reinterpret_cast<uintptr_t>(head.data()) % alignof(std::max_align_t) != 0)
        isAligned = false;
    }
    void closed(const Ending &) override {}
    std::atomic<bool> &isAligned;
  };
  auto other = pair.transport->connect(pair.acceptor.address(), std::make_shared<Reader>(isAligned), {});
  Acceptor::Accepted accepted = pair.acceptor.next();
  for (size_t i = 1; i < 64; ++i)
    accepted.stream->send(frameOf(randomBytes(i, i), randomBytes(i, 3 * i)));
  pair.stream->send({});
  EXPECT_EQ(pair.other.recorder->next(), Recorder::Came());
  accepted.stream->close();
  EXPECT_EQ(accepted.recorder->whyClosed(), "");
  EXPECT_TRUE(isAligned);
}

/// Before any frame; who listens may have it before the other end knows.
TEST(Streams, AreOpenedOnce) {
  Pair pair;
  size_t before = 2;
  pair.reader->during = [&] { before = pair.reader->numOpened; };
  pair.other.stream->send(frameOf(bytesOf("head")));
  ASSERT_TRUE(pair.reader->next());
  EXPECT_EQ(before, 1u);
  pair.stream->close();
  EXPECT_EQ(pair.other.recorder->whyClosed(), "");
  EXPECT_EQ(pair.reader->whyClosed(), "");
  EXPECT_EQ(pair.reader->numOpened, 1u);
  EXPECT_EQ(pair.other.recorder->numOpened, 1u);
}

/// Nor is one that is refused.
TEST(Streams, AreNotOpenedWhereNobodyListens) {
  std::shared_ptr<StreamTransport> transport = openStreamTransport();
  auto recorder = std::make_shared<Recorder>();
  StreamOptions options;
  options.connectDeadline = std::chrono::milliseconds(200);
  auto stream = transport->connect("127.0.0.1:1", recorder, options);
  EXPECT_THAT(recorder->whyClosed().value_or(""), HasSubstr("no server answered"));
  EXPECT_EQ(recorder->numOpened, 0u);
  StreamOptions secret;
  secret.token = "one";
  Acceptor acceptor(*transport, "127.0.0.1:0", secret);
  auto refused = std::make_shared<Recorder>();
  auto other = transport->connect(acceptor.address(), refused, {});
  EXPECT_THAT(refused->whyClosed().value_or(""), HasSubstr("refused the stream"));
  EXPECT_EQ(refused->numOpened, 0u);
}

TEST(Streams, DeliverWhatIsQueuedBeforeTheyClose) {
  for (bool byServer : {false, true}) {
    Pair pair;
    Stream &from = byServer ? *pair.other.stream : *pair.stream;
    Recorder &here = byServer ? *pair.other.recorder : *pair.reader;
    Recorder &there = byServer ? *pair.reader : *pair.other.recorder;
    std::mutex held; // of who reads, until all is queued
    held.lock();
    there.during = [&] { std::lock_guard wait(held); };
    for (uint64_t i = 0; i < 50; ++i)
      from.send(frameOf(bytesOf("head"), randomBytes(i, kMaxFrame - 4)));
    EXPECT_GT(from.queuedBytes(), 0u);
    from.close();
    from.send(frameOf(bytesOf("late")));
    held.unlock();
    for (uint64_t i = 0; i < 50; ++i)
      ASSERT_EQ(there.next(), (Recorder::Came{bytesOf("head"), randomBytes(i, kMaxFrame - 4)}));
    EXPECT_EQ(there.next(), std::nullopt);
    EXPECT_EQ(there.whyClosed(), "");
    EXPECT_EQ(here.whyClosed(), "");
    EXPECT_TRUE(eventually([&] { return from.queuedBytes() == 0; }));
  }
}

TEST(Streams, AnswerACloseWithWhatTheyHadQueued) {
  Pair pair;
  std::mutex held;
  held.lock();
  pair.reader->during = [&] { std::lock_guard wait(held); };
  for (uint64_t i = 0; i < 60; ++i)
    pair.other.stream->send(frameOf({}, randomBytes(i, kMaxFrame)));
  pair.stream->close();
  EXPECT_EQ(pair.other.recorder->whyClosed(), "");
  held.unlock();
  for (uint64_t i = 0; i < 60; ++i)
    ASSERT_EQ(pair.reader->next(), (Recorder::Came{{}, randomBytes(i, kMaxFrame)}));
  EXPECT_EQ(pair.reader->whyClosed(), "");
}

TEST(Streams, MayBeDestroyedAsSoonAsTheyAreClosed) {
  for (int round = 0; round < 50; ++round) {
    Pair pair;
    pair.stream->close();
    EXPECT_EQ(pair.other.recorder->whyClosed(), "");
    pair.other.stream.reset();
    EXPECT_EQ(pair.reader->whyClosed(), "");
  }
}

TEST(Streams, TellBothEndsOfACancel) {
  for (bool byServer : {false, true}) {
    Pair pair;
    pair.stream->send(frameOf(bytesOf("first")));
    ASSERT_TRUE(pair.other.recorder->next());
    Stream &from = byServer ? *pair.other.stream : *pair.stream;
    for (uint64_t i = 0; i < 100; ++i)
      from.send(frameOf({}, Bytes(kMaxFrame)));
    from.cancel();
    EXPECT_LT(from.queuedBytes(), 2 * kMaxFrame);
    Recorder &here = byServer ? *pair.other.recorder : *pair.reader;
    Recorder &there = byServer ? *pair.reader : *pair.other.recorder;
    EXPECT_THAT(here.whyClosed().value(), HasSubstr(from.peer() + " was cancelled here"));
    EXPECT_THAT(there.whyClosed().value(), HasSubstr("cancel"));
  }
}

TEST(Streams, ReleaseOwnersWhenTheBytesHaveLeft) {
  Pair pair;
  auto bytes = std::make_shared<const Bytes>(randomBytes(1, kMaxFrame));
  std::weak_ptr<const Bytes> watched = bytes;
  pair.stream->send({{}, *bytes, bytes});
  bytes.reset();
  EXPECT_EQ(pair.other.recorder->next(), (Recorder::Came{{}, randomBytes(1, kMaxFrame)}));
  EXPECT_TRUE(eventually([&] { return watched.expired(); }));
  EXPECT_TRUE(eventually([&] { return pair.stream->queuedBytes() == 0; }));
}

TEST(Streams, CountWhatAReaderThatWaitsHoldsUp) {
  Pair pair;
  std::mutex held;
  held.lock();
  pair.other.recorder->during = [&] { std::lock_guard wait(held); };
  for (uint64_t i = 0; i < 100; ++i)
    pair.stream->send(frameOf({}, Bytes(kMaxFrame)));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_GT(pair.stream->queuedBytes(), 50 * kMaxFrame);
  held.unlock();
  for (uint64_t i = 0; i < 100; ++i)
    ASSERT_TRUE(pair.other.recorder->next());
  EXPECT_TRUE(eventually([&] { return pair.stream->queuedBytes() == 0; }));
}

TEST(Streams, CallNobodyOnceTheyAreDestroyed) {
  for (int round = 0; round < 30; ++round) {
    Pair pair;
    std::atomic<bool> isGone = false, isLate = false;
    pair.other.recorder->during = [&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      isLate = isLate || isGone;
    };
    for (uint64_t i = 0; i < 20; ++i)
      pair.stream->send(frameOf({}, Bytes(1000)));
    ASSERT_TRUE(pair.other.recorder->next());
    pair.other.stream.reset();
    isGone = true;
    size_t calls = pair.other.recorder->numCalls();
    ASSERT_NE(pair.reader->whyClosed(), std::nullopt);
    EXPECT_EQ(pair.other.recorder->numCalls(), calls);
    EXPECT_FALSE(isLate);
    EXPECT_FALSE(pair.other.recorder->whyClosed(0));
  }
}

TEST(Streams, MayBeDestroyedByTheirReader) {
  Pair pair;
  pair.other.recorder->during = [&] { pair.other.stream.reset(); };
  pair.stream->send(frameOf(bytesOf("end")));
  EXPECT_THAT(pair.reader->whyClosed().value(), HasSubstr("cancelled"));
  EXPECT_TRUE(eventually([&] { return pair.other.recorder->numCalls() == 1; }));
  EXPECT_FALSE(pair.other.recorder->whyClosed(0.05));
}

TEST(Streams, EndWithWhatAReaderThrows) {
  for (bool byServer : {false, true}) {
    Pair pair;
    Recorder &here = byServer ? *pair.other.recorder : *pair.reader;
    Recorder &there = byServer ? *pair.reader : *pair.other.recorder;
    here.during = [] { throw Error("block \"w\": expected 4 bytes, found 3"); };
    (byServer ? pair.stream : pair.other.stream)->send(frameOf(bytesOf("w")));
    EXPECT_THAT(here.whyClosed().value(),
                HasSubstr("was ended here: block \"w\": expected 4 bytes, found 3"));
    EXPECT_THAT(
        there.whyClosed().value(),
        HasSubstr(byServer ? "ended the stream: block \"w\": expected 4 bytes" : "the peer cancelled it"));
  }
}

TEST(Streams, RefuseFramesThatAreTooLarge) {
  Pair pair;
  EXPECT_THAT([&] { pair.stream->send(frameOf(Bytes(1), Bytes(kMaxFrame))); },
              ThrowsMessage<Error>(HasSubstr("a frame of 1048577 bytes to 127.0.0.1:")));
  pair.stream->send(frameOf(Bytes(1), Bytes(kMaxFrame - 1)));
  EXPECT_TRUE(pair.other.recorder->next());
}

TEST(Listeners, EndTheirStreamsAndAcceptNoMore) {
  Pair pair;
  std::string address = pair.acceptor.address();
  pair.acceptor.listener->stop();
  EXPECT_EQ(pair.other.recorder->whyClosed(0), "the listener at " + address + " was stopped");
  EXPECT_THAT(pair.reader->whyClosed().value(), HasSubstr(address));
  StreamOptions options;
  options.connectDeadline = std::chrono::milliseconds(300);
  EXPECT_THAT(whyNotConnected(address, options).value(),
              HasSubstr("no server answered at " + address + " within 300 ms"));
}

TEST(Listeners, MayHaveNames) {
  std::shared_ptr<StreamTransport> transport = openStreamTransport();
  Acceptor acceptor(*transport, "localhost:0");
  EXPECT_THAT(acceptor.address(), testing::MatchesRegex("localhost:[1-9][0-9]*"));
  auto reader = std::make_shared<Recorder>();
  std::unique_ptr<Stream> stream = transport->connect(acceptor.address(), reader, {});
  Acceptor::Accepted other = acceptor.next();
  ASSERT_TRUE(other.stream);
  other.stream->send(frameOf(bytesOf("named")));
  EXPECT_TRUE(reader->next());
}

TEST(Listeners, RefuseAStreamThatNobodyReads) {
  std::shared_ptr<StreamTransport> transport = openStreamTransport();
  auto nobody = transport->listen("127.0.0.1:0", [](auto) { return nullptr; }, {});
  EXPECT_THAT(whyNotConnected(nobody->address(), {}).value(),
              HasSubstr("refused the stream: nobody reads it"));
  auto fails = transport->listen(
      "127.0.0.1:0", [](auto) -> std::shared_ptr<StreamReader> { throw Error("worker 7 of 2"); }, {});
  EXPECT_THAT(whyNotConnected(fails->address(), {}).value(), HasSubstr("refused the stream: worker 7 of 2"));
}

TEST(Listeners, MayBeStoppedByAReader) {
  Pair pair;
  pair.other.recorder->during = [&] { pair.acceptor.listener.reset(); };
  pair.stream->send(frameOf(bytesOf("end")));
  EXPECT_THAT(pair.reader->whyClosed().value(), HasSubstr("cancelled the stream"));
}

TEST(Transports, EndTheirStreams) {
  Pair pair;
  pair.transport.reset();
  EXPECT_EQ(pair.reader->whyClosed(0), "the transport was closed");
  EXPECT_THAT(pair.other.recorder->whyClosed().value(), HasSubstr("broke"));
  pair.stream->send(frameOf(bytesOf("late")));
  EXPECT_EQ(pair.stream->queuedBytes(), 0u);
}

TEST(Transports, ManyStreamsAtOnceReachTheirEnds) {
  std::shared_ptr<StreamTransport> transport = openStreamTransport();
  Acceptor acceptor(*transport);
  std::vector<std::shared_ptr<Recorder>> readers;
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<Acceptor::Accepted> others;
  for (uint64_t i = 0; i < 50; ++i) {
    readers.push_back(std::make_shared<Recorder>());
    streams.push_back(transport->connect(acceptor.address(), readers.back(), {}));
    streams.back()->send(frameOf(randomBytes(i, 100), randomBytes(i, 100'000)));
    streams.back()->close();
  }
  for (uint64_t i = 0; i < 50; ++i) {
    others.push_back(acceptor.next());
    ASSERT_TRUE(others.back().recorder);
    EXPECT_EQ(others.back().recorder->next()->payload.size(), 100'000u);
    EXPECT_EQ(others.back().recorder->whyClosed(), "");
  }
  for (std::shared_ptr<Recorder> &reader : readers)
    EXPECT_EQ(reader->whyClosed(), "");
}
