// What a plan of a worker exchanges with servers that hold a parameter and a table.

#include "runtime/servers/drive/WorkerOutside.h"

#include "runtime/Error.h"
#include "test/unit/servers/Descent.h"
#include "test/unit/servers/RowDescent.h"
#include "test/unit/servers/drive/Cluster.h"
#include "test/unit/session/Tensors.h"

#include <condition_variable>
#include <gmock/gmock.h>

namespace epl::runtime::servers::test {
namespace {

using manifest::Mode;
using runtime::test::elements;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::ThrowsMessage;

constexpr int64_t kSize = 5, kDim = 4;
constexpr uint32_t kPulled = 0, kPushed = 1; // slots

/// The kinds of pulls that a worker has sent, in their order.
class NotedPulls {
public:
  void note(const Frame &frame) {
    Decoded decoded = decode(frame.head, frame.payload.size());
    std::string name = messageName(std::get<Message>(decoded));
    std::scoped_lock lock(mutex);
    if (name.starts_with("Pull"))
      names.push_back(name);
  }
  std::vector<std::string> take() {
    std::scoped_lock lock(mutex);
    return std::exchange(names, {});
  }

private:
  std::mutex mutex;
  std::vector<std::string> names;
};

class NotedStream final : public Stream {
public:
  NotedStream(NotedPulls &pulls, std::unique_ptr<Stream> stream) : pulls(pulls), stream(std::move(stream)) {}

  void send(Frame frame) override {
    pulls.note(frame);
    stream->send(std::move(frame));
  }
  size_t queuedBytes() const override { return stream->queuedBytes(); }
  void close() override { stream->close(); }
  void cancel() noexcept override { stream->cancel(); }
  std::string peer() const override { return stream->peer(); }

private:
  NotedPulls &pulls;
  std::unique_ptr<Stream> stream;
};

class NotedTransport final : public StreamTransport {
public:
  NotedTransport(NotedPulls &pulls, std::shared_ptr<StreamTransport> transport)
      : pulls(pulls), transport(std::move(transport)) {}

  std::unique_ptr<Stream> connect(const std::string &address, std::shared_ptr<StreamReader> reader,
                                  const StreamOptions &options) override {
    return std::make_unique<NotedStream>(pulls, transport->connect(address, std::move(reader), options));
  }
  std::unique_ptr<Listener> listen(const std::string &, AcceptStream, const StreamOptions &) override {
    throw Error("a worker does not listen");
  }

private:
  NotedPulls &pulls;
  std::shared_ptr<StreamTransport> transport;
};

/// A job of two servers, which have a parameter "w", and a table.
std::shared_ptr<manifest::ManifestT> manifestOf(Mode mode, uint32_t workers) {
  auto made = descentManifest({kSize, kSize, 2, workers, mode});
  auto rows = rowDescentManifest({kDim, 2, workers, mode});
  rows->tables[0]->plan = uint32_t(made->plans.size());
  made->tables = std::move(rows->tables);
  made->plans.push_back(std::move(rows->plans[0]));
  return made;
}

struct Fixture {
  explicit Fixture(Mode mode, uint32_t workers = 1)
      : cluster(
            *manifestOf(mode, workers),
            [](uint32_t plan) { return plan == 0 ? descentPlan(kSize) : rowDescentPlan(kDim); },
            [](uint32_t, int32_t state) {
              return state < 0 ? floats(std::vector<float>(kSize, 100)) : runtime::test::integers({0});
            }) {
    worker = cluster.worker(0, std::make_shared<NotedTransport>(pulls, cluster.transport));
    for (auto role : {plan::SlotRole::pulled, plan::SlotRole::pushed}) {
      auto slot = std::make_unique<plan::SlotT>();
      slot->name = "w", slot->role = role, slot->type = plan::ElementType::f32, slot->shape = {kSize};
      plan.slots.push_back(std::move(slot));
    }
  }

  std::unique_ptr<WorkerOutside> outside(uint64_t step) {
    worker->awaitRoom();
    return std::make_unique<WorkerOutside>(*worker, cluster.job, plan, step,
                                           WorkerOutside::Pulled{{kPulled, {0, -1}}},
                                           WorkerOutside::Pushed{{kPushed, {{0, 0}}}});
  }
  std::vector<Outside::Wanted> wanted() const { return {{kPulled, target}}; }
  /// Hands over what the step pushes, for an update by -1.
  void push(WorkerOutside &outside, uint64_t step) {
    outside.push(kPushed, floats(std::vector<float>(kSize, 2)));
    outside.end();
    HostTensor gradients = HostTensor::allocate({plan::ElementType::f32, {int64_t(ids.size()), kDim}});
    std::fill_n(reinterpret_cast<float *>(gradients.data), ids.size() * kDim, 2.0F);
    worker->pushRows(step, std::vector<RowGradients>{{0, {ids}, {gradients}}});
  }

  NotedPulls pulls;
  JobCluster cluster;
  std::unique_ptr<Worker> worker;
  plan::PlanT plan;
  std::vector<int64_t> ids = {0, 1, 7};
  HostTensor target = HostTensor::allocate({plan::ElementType::f32, {kSize}});
};

/// The step: waits for all that it has asked for.
class Waiting final : public Outside::Listener {
public:
  void arrived(uint32_t slot) override {
    std::scoped_lock lock(mutex);
    EXPECT_EQ(slot, kPulled);
    ++count;
    changed.notify_all();
  }
  void failed(const std::string &reason) override { ADD_FAILURE() << reason; }
  void wait() {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return count > 0; }));
    EXPECT_EQ(count, 1);
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  int count = 0;
};

TEST(WorkerOutside, AsksForBlocksBeforeRowsHaveCome) {
  for (Mode mode : {Mode::sync, Mode::half_async, Mode::async}) {
    Fixture fixture(mode);
    uint64_t step = fixture.worker->begin();
    for (int round = 0; round < 4; ++round, ++step) {
      auto outside = fixture.outside(step);
      fixture.pulls.take();
      auto pulls = fixture.worker->requestRows(step, std::vector<Lookup>{{0, fixture.ids}});
      outside->expect(fixture.wanted());
      EXPECT_THAT(fixture.pulls.take(), ElementsAre("PullRows", "PullRows", "PullRequest"));
      std::vector<float> rows = elements<float>(fixture.worker->awaitRows(*pulls).front());
      Waiting waiting;
      outside->pull(fixture.wanted(), waiting);
      waiting.wait();
      EXPECT_THAT(fixture.pulls.take(), IsEmpty()); // once is enough
      for (const std::vector<float> &found : {rows, elements<float>(fixture.target)})
        EXPECT_THAT(found, Each(AllOf(Ge(100 - round), Le(mode == Mode::async ? 100 : 100 - round))));
      fixture.push(*outside, step);
    }
    fixture.worker->finish(step);
    fixture.cluster.wait();
  }
}

TEST(WorkerOutside, WhatIsExpectedInVainIsDropped) {
  Fixture fixture(Mode::sync);
  uint64_t step = fixture.worker->begin();
  HostTensor other = HostTensor::allocate(fixture.target.type);
  {
    auto outside = fixture.outside(step);
    fixture.worker->pullRows(step, std::vector<Lookup>{{0, fixture.ids}});
    outside->expect(std::vector<Outside::Wanted>{{kPulled, other}});
    outside->end();
  }
  auto outside = fixture.outside(step);
  std::ranges::fill(std::span(reinterpret_cast<float *>(other.data), kSize), 3.0F);
  Waiting waiting;
  outside->pull(fixture.wanted(), waiting);
  waiting.wait();
  EXPECT_THAT(elements<float>(fixture.target), Each(100));
  EXPECT_THAT(elements<float>(other), Each(3));
  fixture.push(*outside, step);
  fixture.worker->finish(step + 1);
  fixture.cluster.wait();
}

TEST(WorkerOutside, AStepIsToldWhatHasFailedBeforeIt) {
  Fixture fixture(Mode::sync, /*workers=*/2);
  std::unique_ptr<Worker> other = fixture.cluster.worker(1); // whom the second step waits for
  uint64_t step = fixture.worker->begin();
  auto first = fixture.outside(step);
  fixture.worker->pullRows(step, std::vector<Lookup>{{0, fixture.ids}});
  fixture.push(*first, step++);
  auto outside = fixture.outside(step);
  outside->expect(fixture.wanted());
  fixture.worker->fail("the data are bad");
  Waiting waiting;
  EXPECT_THAT([&] { outside->pull(fixture.wanted(), waiting); },
              ThrowsMessage<Error>(HasSubstr("the data are bad")));
}

} // namespace
} // namespace epl::runtime::servers::test
