// Ends of streams over a call in memory, whose operations are completed by several threads in any order, as
// gRPC's are: where ThreadSanitizer sees all that happens.
#include "Messages.h"

#include "runtime/servers/grpc/Handle.h"

#include <array>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <thread>

using namespace epl::runtime::servers;
using grpc::ByteBuffer;
using testing::HasSubstr;

namespace {

/// Threads that complete operations.
class Loop {
public:
  Loop() {
    for (std::thread &thread : threads)
      thread = std::thread([this] { run(); });
  }
  ~Loop() {
    {
      std::lock_guard lock(mutex);
      isEnding = true;
    }
    changed.notify_all();
    for (std::thread &thread : threads)
      thread.join();
  }
  void post(void *tag, bool ok) {
    {
      std::lock_guard lock(mutex);
      tags.emplace_back(tag, ok);
    }
    changed.notify_one();
  }

private:
  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return isEnding || !tags.empty(); });
      if (tags.empty())
        return;
      auto [tag, ok] = tags.front();
      tags.pop_front();
      lock.unlock();
      complete(tag, ok);
      lock.lock();
    }
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::pair<void *, bool>> tags;
  bool isEnding = false;
  std::array<std::thread, 3> threads;
};

/// A call with room for two messages each way. It copies them: gRPC counts who has a slice out of
/// ThreadSanitizer's sight.
class Call {
public:
  explicit Call(Loop &loop) : loop(loop) {}

  void read(int side, ByteBuffer *to, void *tag) {
    std::lock_guard lock(mutex);
    sides[side].target = to;
    sides[side].reading = tag;
    go();
  }
  void write(int side, const ByteBuffer &message, void *tag) {
    std::lock_guard lock(mutex);
    sides[side].message = wholeOf(message);
    sides[side].writing = tag;
    go();
  }
  void finish(int side, bool isOk, void *tag) {
    std::lock_guard lock(mutex);
    isBroken |= !isOk;
    sides[side].finishing = tag;
    go();
  }
  void cancel() {
    std::lock_guard lock(mutex);
    isBroken = true;
    go();
  }

private:
  struct Side {
    std::deque<Bytes> came;
    Bytes message;
    ByteBuffer *target = nullptr;
    void *reading = nullptr, *writing = nullptr, *finishing = nullptr;
  };

  void end(void *&tag, bool ok) {
    if (tag)
      loop.post(std::exchange(tag, nullptr), ok);
  }
  void go() {
    for (int side : {0, 1}) {
      Side &here = sides[side], &there = sides[1 - side];
      if (here.writing && !isBroken && there.came.size() < 2) {
        there.came.push_back(std::move(here.message));
        end(here.writing, true);
      }
      if (there.reading && !there.came.empty() && !isBroken) {
        *there.target = cut(there.came.front(), 1000);
        there.came.pop_front();
        end(there.reading, true);
      }
    }
    bool isOver = isBroken || (sides[0].finishing && sides[1].finishing);
    for (Side &side : sides) {
      if (isBroken) {
        end(side.reading, false);
        end(side.writing, false);
      }
      if (isOver)
        end(side.finishing, !isBroken);
    }
  }

  Loop &loop;
  std::mutex mutex;
  std::array<Side, 2> sides;
  bool isBroken = false;
};

class TestEnd final : public End,
                      grpc::internal::AsyncReaderInterface<ByteBuffer>,
                      grpc::internal::AsyncWriterInterface<ByteBuffer> {
public:
  TestEnd(std::shared_ptr<Call> call, int side, std::shared_ptr<StreamReader> reader)
      : call(std::move(call)), side(side) {
    delivery.setReader(std::move(reader));
  }
  void begin() { open(*this, *this); }
  std::string peer() const override { return "side " + std::to_string(1 - side); }
  std::atomic<bool> hasLeft = false;

private:
  void Read(ByteBuffer *message, void *tag) override { call->read(side, message, tag); }
  void Write(const ByteBuffer &message, void *tag) override { call->write(side, message, tag); }
  void Write(const ByteBuffer &message, grpc::WriteOptions, void *tag) override { Write(message, tag); }
  void finishCall(const grpc::Status &status) override {
    call->finish(side, status.ok(),
                 tagOf([self = shared_from_this()](bool) { static_cast<TestEnd &>(*self).over(); }));
  }
  void cancelCall() noexcept override { call->cancel(); }
  void failCall() noexcept override {}
  Ending howBroken() const override { return {"the call broke"}; }
  void leave() override { hasLeft = true; }

  std::shared_ptr<Call> call;
  int side;
};

/// Both ends of a stream.
struct Ends {
  std::array<std::shared_ptr<Recorder>, 2> readers = {std::make_shared<Recorder>(),
                                                      std::make_shared<Recorder>()};
  std::array<std::shared_ptr<TestEnd>, 2> ends;
  std::array<std::unique_ptr<Stream>, 2> streams;

  explicit Ends(Loop &loop) {
    auto call = std::make_shared<Call>(loop);
    for (int side : {0, 1}) {
      ends[side] = std::make_shared<TestEnd>(call, side, readers[side]);
      streams[side] = std::make_unique<Handle>(ends[side]);
    }
    for (std::shared_ptr<TestEnd> &end : ends)
      end->begin();
  }
  /// No operation of either end is open any more.
  bool haveLeft() {
    return eventually([&] { return ends[0]->hasLeft && ends[1]->hasLeft; });
  }
};

Recorder::Came numbered(uint64_t i) { return {randomBytes(i, i % 50), randomBytes(~i, i % 300)}; }

void send(Stream &stream, uint64_t first, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    Recorder::Came frame = numbered(first + i);
    stream.send(frameOf(std::move(frame.head), std::move(frame.payload)));
  }
}

/// How many frames came, all in order from `first` on, and why no more.
std::pair<uint64_t, std::string> readAll(Recorder &reader, uint64_t first) {
  uint64_t count = 0;
  while (std::optional<Recorder::Came> came = reader.next())
    EXPECT_EQ(*came, numbered(first + count++));
  return {count, reader.whyClosed().value_or("never")};
}

constexpr uint64_t kFrames = 200;
constexpr int kRounds = 200;

} // namespace

TEST(Ends, DeliverEverythingWhoeverClosesFirst) {
  for (int round = 0; round < kRounds; ++round) {
    Loop loop;
    Ends both(loop);
    std::atomic<bool> hasSent = false;
    std::thread other([&] {
      send(*both.streams[1], 1000, kFrames);
      while (!hasSent) // what is sent to a stream that its peer has closed is dropped
        std::this_thread::yield();
      both.streams[1]->close();
    });
    send(*both.streams[0], 0, kFrames);
    if (round % 2)
      both.streams[0]->close();
    hasSent = true;
    EXPECT_EQ(readAll(*both.readers[1], 0), std::pair(kFrames, std::string()));
    auto [count, why] = readAll(*both.readers[0], 1000);
    EXPECT_EQ(why, "");
    if (round % 2 == 0)
      EXPECT_EQ(count, kFrames);
    other.join();
    EXPECT_TRUE(both.haveLeft());
    EXPECT_EQ(both.streams[0]->queuedBytes() + both.streams[1]->queuedBytes(), 0u);
  }
}

TEST(Ends, AreToldOnceOfACancelAtAnyTime) {
  std::mt19937_64 random(1);
  for (int round = 0; round < kRounds; ++round) {
    Loop loop;
    Ends both(loop);
    std::thread other([&] { send(*both.streams[1], 1000, kFrames); });
    std::thread canceller([&, wait = std::chrono::microseconds(random() % 2000)] {
      std::this_thread::sleep_for(wait);
      both.streams[round % 2]->cancel();
    });
    send(*both.streams[0], 0, kFrames);
    for (int side : {0, 1}) {
      auto [count, why] = readAll(*both.readers[side], side == 0 ? 1000 : 0);
      EXPECT_EQ(why, side == round % 2
                         ? "the stream with side " + std::to_string(1 - side) + " was cancelled here"
                         : "the call broke");
      EXPECT_LE(count, kFrames);
    }
    other.join();
    canceller.join();
    EXPECT_TRUE(both.haveLeft());
  }
}

TEST(Ends, CallNobodyOnceTheyAreDestroyedAtAnyTime) {
  std::mt19937_64 random(2);
  for (int round = 0; round < kRounds; ++round) {
    Loop loop;
    Ends both(loop);
    auto gone = std::make_shared<std::atomic<bool>>(false);
    auto isLate = std::make_shared<std::atomic<bool>>(false);
    both.readers[1]->during = [=] { *isLate = *isLate || *gone; };
    std::thread sender([&] {
      send(*both.streams[0], 0, kFrames);
      both.streams[0]->close();
    });
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
    both.streams[1].reset();
    *gone = true;
    size_t calls = both.readers[1]->numCalls();
    std::string why = both.readers[0]->whyClosed().value_or("never");
    EXPECT_THAT(why, testing::AnyOf("", "the call broke"));
    sender.join();
    EXPECT_TRUE(both.haveLeft());
    EXPECT_EQ(both.readers[1]->numCalls(), calls);
    EXPECT_FALSE(*isLate);
  }
}

TEST(Ends, FailWithWhatAReaderThrows) {
  for (int round = 0; round < kRounds; ++round) {
    Loop loop;
    Ends both(loop);
    both.readers[1]->during = [] { throw std::runtime_error("no such block"); };
    std::thread other([&] { send(*both.streams[1], 1000, kFrames); });
    send(*both.streams[0], 0, kFrames);
    EXPECT_EQ(readAll(*both.readers[1], 0),
              std::pair(uint64_t(0), std::string("the stream with side 0 was ended here: no such block")));
    EXPECT_EQ(readAll(*both.readers[0], 1000).second, "the call broke");
    other.join();
    EXPECT_TRUE(both.haveLeft());
  }
}
