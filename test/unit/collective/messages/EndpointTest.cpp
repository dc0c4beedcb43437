// Messages that a thread moves on, that are given up, and that somebody asks for.

#include "Network.h"
#include "Processes.h"
#include "test/unit/plan/Plans.h"

#include "runtime/collective/messages/Endpoint.h"
#include "runtime/collective/messages/MessageCollectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <thread>

namespace epl::runtime::test {
namespace {

using namespace std::chrono_literals;

/// Two ends of one transport, and a message between them.
class Endpoints : public testing::Test {
protected:
  void send() {
    ++left;
    sender.send({.holder = 0, .process = 1, .number = 0, .runs = {}}, bytes, left);
  }
  void receive() {
    ++left;
    receiver.receive({.holder = 0, .process = 0, .number = 0, .runs = {}}, bytes, left);
  }
  void awaitAll() {
    while (left != 0)
      std::this_thread::sleep_for(1ms);
  }

  Network network{2, 1};
  Endpoint sender{network.join(0)->open(), /*isAlone=*/false},
      receiver{network.join(1)->open(), /*isAlone=*/false};
  std::vector<std::byte> bytes = std::vector<std::byte>(8);
  std::atomic<uint32_t> left = 0;
};

/// Nobody asks for progress here but the thread.
TEST_F(Endpoints, MoveWhileAllCompute) {
  for (int message = 0; message < 3; ++message) {
    send();
    receive();
    awaitAll();
  }
  EXPECT_EQ(sender.state().numMoved(), 3u);
}

TEST_F(Endpoints, AreLeftAloneWhileNothingIsOpen) {
  send();
  receive();
  awaitAll();
  uint64_t before = network.numLooks();
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(network.numLooks(), before);
}

/// A message to nobody: the thread looks seldom, however long it is open.
TEST_F(Endpoints, AreLookedAtSeldomWhileNothingMoves) {
  send();
  std::this_thread::sleep_for(300ms);
  EXPECT_GT(network.numLooks(), 10u);
  EXPECT_LT(network.numLooks(), 3000u);
  sender.cancel(left);
  EXPECT_EQ(left, 0u);
}

TEST_F(Endpoints, TakeNothingOnceAStepWasBrokenOff) {
  sender.breakOff();
  EXPECT_THROW(send(), std::exception);
  EXPECT_EQ(network.numOpen(), 0u);
}

/// A sum on two devices, of which each combines a half.
std::shared_ptr<const plan::PlanT> sumPlan() {
  PlanMaker maker;
  maker.axis("data", 2);
  uint32_t all = maker.addCommunicator({"data"});
  uint32_t x = maker.argument("x", plan::SlotRole::batch, 8192, {"data"}), sum = maker.buffer("sum", 4096);
  maker.sum("gradients", all, x, sum);
  maker.setResult(maker.slot("sum", plan::SlotRole::result, 4096), sum);
  return std::make_shared<const plan::PlanT>(maker.finish());
}

/// A process whose other one does not come.
class Lonely {
public:
  explicit Lonely(Network &network)
      : process(sumPlan(), std::make_shared<MessageCollectives>(network.join(0), 1), {0}, 1) {
    process.submit();
    while (network.numOpen() < 2)
      std::this_thread::yield();
  }

  Process process;
};

double cpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

TEST(Waiting, NeedsNoCore) {
  Network network(2, 1);
  Lonely lonely(network);
  double before = cpuSeconds();
  std::this_thread::sleep_for(1s);
  EXPECT_LT(cpuSeconds() - before, 0.5);
  lonely.process.stop("as asked");
  lonely.process.wait();
}

TEST(Waiting, IsKnown) {
  Network network(2, 1);
  Lonely lonely(network);
  const BoundCollectives &collectives = lonely.process.plan().collectives();
  std::vector<Waiting> waiting = collectives.waiting();
  auto missing = std::ranges::find(waiting, false, &Waiting::isSend);
  ASSERT_NE(missing, waiting.end());
  EXPECT_EQ(missing->command, "gradients");
  EXPECT_FALSE(missing->isGuarded);
  EXPECT_EQ(missing->device, 0u);
  EXPECT_EQ(missing->holder, 1u);
  EXPECT_EQ(missing->process, 1u);
  EXPECT_EQ(missing->bytes, 2048u);
  EXPECT_EQ(std::ranges::count(waiting, true, &Waiting::isSend), 1);
  EXPECT_EQ(collectives.numMoved(), 0u);
  lonely.process.stop("as asked");
  lonely.process.wait();
  EXPECT_THAT(collectives.waiting(), testing::IsEmpty());
}

/// What other processes have had of a step that was stopped they would take for the next one's.
TEST(Stopping, BreaksOffForGood) {
  Network network(2, 1);
  Lonely lonely(network);
  lonely.process.stop("as asked");
  EXPECT_EQ(lonely.process.wait(), "as asked");
  lonely.process.submit();
  EXPECT_THAT(lonely.process.wait(), testing::HasSubstr("a step before was broken off"));
}

/// Who was given the address of a message may read and write it even when all of the plan is gone.
TEST(Stopping, KeepsMemoryThatMayBeTouched) {
  Network network(2, 1);
  network.keepGivenUp();
  {
    Lonely lonely(network);
    lonely.process.stop("as asked");
    lonely.process.wait();
  }
  Process other(sumPlan(), std::make_shared<MessageCollectives>(network.join(1), 1), {1}, 1);
  other.submit();
  const BoundCollectives &collectives = other.plan().collectives();
  while (collectives.numMoved() < 2) // one each way
    std::this_thread::yield();
  other.stop("as asked");
  other.wait();
}

} // namespace
} // namespace epl::runtime::test
