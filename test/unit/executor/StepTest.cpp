// Steps of commands that complete later, and of some of a plan's ranks.

#include "FakeBackend.h"
#include "TestPlan.h"
#include "TestStep.h"

#include "runtime/Error.h"
#include "runtime/plan/build/JoinParts.h"
#include "runtime/plan/model/Origins.h"

#include <gmock/gmock.h>

#include <random>
#include <set>
#include <thread>

namespace epl::runtime::test {
namespace {

using testing::Each;
using testing::Field;

/// A loaded plan with its memory, on devices that are fakes.
struct Loaded {
  Loaded(std::shared_ptr<const plan::PlanT> plan, FakeBackend &fake, uint32_t numWorkers)
      : Loaded(plan, fake, numWorkers, LocalRanks::all(*plan)) {}
  Loaded(const std::shared_ptr<const plan::PlanT> &plan, FakeBackend &fake, uint32_t numWorkers,
         LocalRanks ranks)
      : executor(numWorkers), loaded(plan, fake.backend(), std::move(ranks)),
        frame(loaded, std::min(numWorkers, loaded.ranks().numDevices())) {}

  std::shared_ptr<TestStep> submit(bool joins = false) {
    auto step = std::make_shared<TestStep>(loaded, frame, executor);
    executor.submit(step, joins);
    return step;
  }
  std::shared_ptr<TestStep> run() {
    std::shared_ptr<TestStep> step = submit();
    step->ended.wait(false);
    return step;
  }

  Executor executor;
  LoadedPlan loaded;
  Frame frame;
};

/// Commands that do nothing, with waits at random, on two axes and two lanes that compute; all-reduces among
/// them.
std::shared_ptr<const plan::PlanT> randomPlan(uint32_t seed) {
  TestPlan plan({{"data", 2}, {"model", 2}});
  std::mt19937 random(seed);
  uint32_t second = plan.lane(plan::LaneKind::compute);
  for (uint32_t command = 0; command < 40; ++command) {
    std::vector<plan::Wait> waits;
    for (uint32_t wait = 0; command != 0 && wait < random() % 3; ++wait) {
      uint32_t earlier = random() % uint32_t(plan.plan.commands.size());
      waits.push_back(random() % 2 == 0 ? after(earlier) : afterMembers(earlier, random() % 2));
    }
    uint32_t lane = random() % 2 == 0 ? 0 : second, communicator = random() % 2;
    if (random() % 4 != 0) {
      plan.launch("nothing", 1, {}, waits, lane);
      continue;
    }
    uint32_t source = plan.buffer(8);
    uint32_t made = plan.launch("coordinate", 1, {source}, waits, lane);
    plan.allReduce(plan::ReductionKind::sum, plan::ElementType::i64, source, plan.buffer(8), 1,
                   {afterMembers(made, communicator)}, communicator);
  }
  return plan.finish();
}

/// What must be done before a command starts on a rank.
std::vector<Event> conditionsOf(const plan::PlanT &plan, const Event &start) {
  Topology topology(plan);
  std::vector<Event> conditions;
  auto need = [&](uint32_t rank, uint32_t command) {
    conditions.push_back({Event::done, &plan, rank, command});
  };
  const plan::CommandT &command = *plan.commands[start.command];
  for (uint32_t other : plan.lanes[command.lane]->commands)
    if (other < start.command)
      need(start.rank, other);
  for (const plan::Wait &wait : command.waits)
    if (wait.scope() == plan::WaitScope::self)
      need(start.rank, wait.command());
    else
      for (uint32_t member : topology.members(wait.communicator(), start.rank))
        need(member, wait.command());
  return conditions;
}

/// Each command ran once on each rank, after all that it waits for.
void expectOrder(const plan::PlanT &plan, const std::vector<Event> &events) {
  std::set<std::pair<uint32_t, uint32_t>> done; // rank and command
  for (const Event &event : events) {
    if (event.kind == Event::started)
      for (const Event &condition : conditionsOf(plan, event))
        EXPECT_TRUE(done.contains({condition.rank, condition.command}))
            << "#" << event.command << " on rank " << event.rank << " before #" << condition.command << " on "
            << condition.rank;
    if (event.kind == Event::done)
      EXPECT_TRUE(done.emplace(event.rank, event.command).second) << "#" << event.command << " ran twice";
  }
  EXPECT_EQ(done.size(), plan.devices * plan.commands.size());
}

TEST(Step, KeepsTheOrderOfCommandsThatCompleteLater) {
  for (uint32_t seed = 0; seed < 12; ++seed)
    for (uint32_t workers : {1, 2, 4}) {
      FakeBackend fake([&](uint32_t rank, uint32_t command) { return (seed + rank * 7 + command * 5) % 4; });
      auto plan = randomPlan(seed);
      Loaded loaded(plan, fake, workers);
      std::shared_ptr<TestStep> step = loaded.run();
      EXPECT_EQ(step->error, "");
      EXPECT_EQ(step->prepared, 4u);
      EXPECT_EQ(step->collected, 4u);
      expectOrder(*plan, fake.log.all());
    }
}

/// Each lane's command is complete when that of the other lane has been started on all ranks.
TEST(Step, GoesOnWithOtherLanesAndRanks) {
  TestPlan plan(2);
  plan.launch("nothing", 1, {});
  plan.launch("nothing", 1, {}, {}, plan.lane(plan::LaneKind::compute));
  auto finished = plan.finish();
  FakeBackend fake([](uint32_t, uint32_t) { return 1000; });
  Loaded loaded(finished, fake, 1);
  loaded.run();
  std::vector<Event> events = fake.log.all();
  auto firstDone = std::ranges::find(events, Event::done, &Event::kind);
  EXPECT_EQ(std::count_if(events.begin(), firstDone, [](const Event &e) { return e.kind == Event::started; }),
            4);
}

TEST(Step, StopEndsWhatIsPending) {
  for (uint32_t workers : {1, 2}) {
    TestPlan plan(2);
    uint32_t first = plan.launch("nothing", 1, {});
    plan.launch("nothing", 1, {}, {afterMembers(first)});
    auto finished = plan.finish();
    FakeBackend fake([](uint32_t rank, uint32_t) { return rank == 0 ? 0 : kNever; });
    Loaded loaded(finished, fake, workers);
    std::shared_ptr<TestStep> step = loaded.submit();
    while (!fake.log.has({Event::asked, finished.get(), 1, 0}) ||
           !fake.log.has({Event::done, finished.get(), 0, 0})) // the other worker may begin later
      std::this_thread::yield();
    EXPECT_FALSE(step->ended);
    step->stop("enough");
    step->ended.wait(false);
    EXPECT_EQ(fake.log.count(Event::canceled), 1u);
    EXPECT_TRUE(fake.log.has({Event::canceled, finished.get(), 1, 0}));
    EXPECT_FALSE(fake.log.has({Event::started, finished.get(), 0, 1}));
    EXPECT_EQ(step->collected, 0u);
    EXPECT_EQ(fake.log.all().back().kind, Event::canceled);
  }
}

TEST(Step, AFailureEndsWhatIsPendingElsewhere) {
  TestPlan plan(2);
  plan.launch("nothing", 1, {});
  plan.launch("nothing", 1, {});
  auto finished = plan.finish();
  const EventLog *log = nullptr;
  FakeBackend fake([&](uint32_t rank, uint32_t command) -> uint32_t {
    if (rank == 1)
      return kNever;
    while (command == 1 && !log->has({Event::asked, finished.get(), 1, 0}))
      std::this_thread::yield();
    if (command == 1)
      throw Error("as asked");
    return 3;
  });
  log = &fake.log;
  Loaded loaded(finished, fake, 2);
  EXPECT_EQ(loaded.run()->error, "command \"nothing\" of model.py:2 on rank 0: as asked");
  EXPECT_TRUE(fake.log.has({Event::canceled, finished.get(), 1, 0}));
  EXPECT_FALSE(fake.log.has({Event::canceled, finished.get(), 0, 1})); // it has ended
}

TEST(Step, ArgumentsThatCannotBeBroughtEndIt) {
  TestPlan plan(1);
  plan.launch("nothing", 1, {});
  FakeBackend fake([](uint32_t, uint32_t) { return 0; });
  Loaded loaded(plan.finish(), fake, 1);
  auto step = std::make_shared<TestStep>(loaded.loaded, loaded.frame, loaded.executor);
  step->lacksArguments = true;
  loaded.executor.submit(step);
  step->ended.wait(false);
  EXPECT_EQ(step->error, "arguments of rank 0: out of memory");
  EXPECT_THAT(fake.log.all(), testing::IsEmpty());
}

TEST(Step, TheNextStepBeginsAnew) {
  TestPlan plan(1);
  plan.launch("nothing", 1, {});
  auto finished = plan.finish();
  std::atomic<uint32_t> delay = kNever;
  FakeBackend fake([&](uint32_t, uint32_t) { return delay.load(); });
  Loaded loaded(finished, fake, 1);
  std::shared_ptr<TestStep> step = loaded.submit();
  while (fake.log.count(Event::asked) == 0)
    std::this_thread::yield();
  step->stop("enough");
  step->ended.wait(false);
  delay = 2;
  EXPECT_EQ(loaded.run()->error, "");
  EXPECT_EQ(fake.log.count(Event::done), 1u);
}

/// A thread that helps leaves the slice to its worker, with what is pending.
TEST(Step, AHelperThreadLeavesWhatIsPending) {
  TestPlan plan(1);
  plan.launch("nothing", 1, {});
  plan.launch("nothing", 1, {});
  auto finished = plan.finish();
  FakeBackend fake([](uint32_t, uint32_t) { return 2000; });
  Loaded loaded(finished, fake, 1);
  loaded.run(); // a first step, after which it is known to be short
  std::shared_ptr<TestStep> step = loaded.submit(/*joins=*/true);
  loaded.executor.help();
  step->ended.wait(false);
  EXPECT_EQ(fake.log.count(Event::done), 4u);
  EXPECT_EQ(fake.log.count(Event::canceled), 0u);
}

TEST(Step, ATraceSpansACommandThatCompletesLater) {
  TestPlan plan(1);
  plan.launch("nothing", 1, {});
  FakeBackend fake([](uint32_t, uint32_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2)); // within its start
    return 1;
  });
  Loaded loaded(plan.finish(), fake, 1);
  loaded.frame.trace.enable(true);
  loaded.run();
  std::string json = loaded.frame.trace.json(loaded.loaded);
  size_t at = json.find("\"dur\":", json.find("\"name\":\"nothing\""));
  ASSERT_NE(at, std::string::npos);
  EXPECT_GE(std::stod(json.substr(at + 6)), 2000.0);
}

TEST(Step, RunsTheRanksThatAreHere) {
  auto plan = randomPlan(3);
  FakeBackend fake([](uint32_t, uint32_t command) { return command % 2; });
  Loaded loaded(plan, fake, 2, LocalRanks(*plan, {1, 3}));
  std::shared_ptr<TestStep> step = loaded.run();
  EXPECT_EQ(step->prepared, 2u);
  EXPECT_EQ(fake.log.count(Event::done), 2 * plan->commands.size());
  for (const Event &event : fake.log.all())
    EXPECT_EQ(event.rank % 2, 1u);
  EXPECT_THAT(fake.allocated,
              testing::ElementsAre(testing::Pair(1, plan->arena_size), testing::Pair(3, plan->arena_size)));
}

/// Two meshes, of one and of two devices, that send each other nothing.
std::shared_ptr<const plan::PlanT> independentMeshes() {
  std::vector<plan::PartT> parts;
  for (uint32_t devices : {1, 2}) {
    TestPlan mesh(devices);
    uint32_t made = mesh.launch("coordinate", 1, {mesh.buffer(8)});
    mesh.launch("nothing", 1, {}, {afterMembers(made)});
    recordOrigins(mesh.plan);
    plan::PartT &part = parts.emplace_back();
    part.plan = std::make_unique<plan::PlanT>(std::move(mesh.plan));
    part.first = devices - 1;
    part.strides = {1};
  }
  plan::PlanT common;
  common.device_kind = "cpu";
  return std::make_shared<plan::PlanT>(joinParts(std::move(common), {}, std::move(parts)));
}

TEST(Step, RunsTheMeshThatIsHere) {
  auto plan = independentMeshes();
  for (uint32_t index : {0, 1}) {
    FakeBackend fake([](uint32_t, uint32_t) { return 1; });
    std::vector<uint32_t> devices = index == 0 ? std::vector<uint32_t>{0} : std::vector<uint32_t>{1, 2};
    Loaded loaded(plan, fake, 3, LocalRanks(*plan, devices));
    EXPECT_EQ(loaded.run()->error, "");
    EXPECT_THAT(fake.log.all(), Each(Field(&Event::plan, plan->parts[index]->plan.get())));
    EXPECT_EQ(fake.log.count(Event::done), 2 * devices.size());
    EXPECT_EQ(fake.allocated.size(), devices.size());
  }
}

} // namespace
} // namespace epl::runtime::test
