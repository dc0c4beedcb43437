// Transports that lose a message, or bring it twice: what processes and the comparison with one process see
// of it. (Messages that are late and in another order they all bear: Network.h.)

#include "Network.h"
#include "Processes.h"
#include "test/unit/plan/Plans.h"

#include "runtime/collective/inproc/Inproc.h"
#include "runtime/collective/messages/MessageCollectives.h"

#include <gtest/gtest.h>

#include <thread>

namespace epl::runtime::test {
namespace {

using namespace std::chrono_literals;

/// A plan over two processes, and in one.
struct Both {
  explicit Both(plan::PlanT made)
      : plan(std::make_shared<const plan::PlanT>(std::move(made))), network(2, 1),
        whole(plan, std::make_shared<InprocCollectives>(), devicesFrom(0, plan->devices), 1) {
    for (uint32_t process : {0u, 1u})
      parts.push_back(std::make_unique<Process>(
          plan, std::make_shared<MessageCollectives>(network.join(process), plan->devices / 2),
          devicesFrom(process * plan->devices / 2, plan->devices / 2), 1));
  }

  void submit() {
    whole.submit();
    for (auto &part : parts)
      part->submit();
  }
  /// Stops the parts; whether a step of one has not ended by itself.
  bool stop() {
    for (auto &part : parts)
      part->stop("as asked");
    bool isStopped = false;
    for (auto &part : parts)
      isStopped |= part->wait() == "as asked";
    return isStopped;
  }
  /// Whether all bytes are those of one process, after the end of the step.
  bool areSame() const {
    for (const auto &part : parts)
      for (uint32_t mesh = 0; mesh < part->plan().numPrograms(); ++mesh)
        for (uint32_t rank : part->plan().program(mesh).ranks())
          if (part->bytesOf(mesh, rank) != whole.bytesOf(mesh, rank))
            return false;
    return true;
  }

  std::shared_ptr<const plan::PlanT> plan;
  Network network;
  Process whole;
  std::vector<std::unique_ptr<Process>> parts;
};

/// How many messages a step has.
uint64_t messagesOf(const plan::PlanT &plan) {
  Both both{plan::PlanT(plan)};
  both.submit();
  EXPECT_EQ(both.whole.wait(), "");
  for (auto &part : both.parts)
    EXPECT_EQ(part->wait(), "");
  EXPECT_TRUE(both.areSame());
  return both.network.numMoved();
}

/// Until nothing moves.
void awaitRest(const Network &network) {
  for (uint64_t moved = ~uint64_t(0); moved != network.numMoved();) {
    moved = network.numMoved();
    std::this_thread::sleep_for(50ms);
  }
}

/// Nothing is computed of what has not come: a process waits for it, and says for what.
TEST(MutantTransport, LosesAMessageThatIsMissed) {
  plan::PlanT plan = trainingPlan(2);
  for (uint64_t message = 0, count = messagesOf(plan); message < count; ++message) {
    Both both{plan::PlanT(plan)};
    both.network.misbehave(Network::Fault::lose, message);
    both.submit();
    EXPECT_EQ(both.whole.wait(), "");
    auto isMissed = [](const std::unique_ptr<Process> &part) {
      std::vector<Waiting> waiting = part->plan().collectives().waiting();
      return std::ranges::count(waiting, false, &Waiting::isSend) != 0;
    };
    awaitRest(both.network);
    EXPECT_TRUE(std::ranges::any_of(both.parts, isMissed)) << "message " << message;
    EXPECT_TRUE(both.stop()) << "message " << message;
  }
}

/// The one that comes again is taken for that of the next step: bytes differ, or who has sent that one waits.
TEST(MutantTransport, BringsAMessageTwiceWhichIsSeen) {
  plan::PlanT plan = trainingPlan(2);
  for (uint64_t message = 0, count = messagesOf(plan); message < count; ++message) {
    Both both{plan::PlanT(plan)};
    both.network.misbehave(Network::Fault::repeat, message);
    both.submit();
    EXPECT_EQ(both.whole.wait(), "");
    for (auto &part : both.parts)
      EXPECT_EQ(part->wait(), "");
    bool isSeen = !both.areSame();
    both.submit();
    EXPECT_EQ(both.whole.wait(), "");
    awaitRest(both.network);
    isSeen |= both.stop();
    EXPECT_TRUE(isSeen || !both.areSame()) << "message " << message;
  }
}

} // namespace
} // namespace epl::runtime::test
