// What a server's and a worker's logic do with tables.

#include "runtime/Error.h"
#include "test/unit/servers/logic/ServerHarness.h"
#include "test/unit/servers/logic/WorkerHarness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace epl::runtime::servers::test {
namespace {

using manifest::Mode;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

/// The part of the table of a job with one block.
constexpr uint32_t kPart = 1;

manifest::ManifestT makeTableJob(Mode mode, uint32_t workers = 2) {
  manifest::ManifestT manifest = makeScalar(mode, workers);
  addTable(manifest, "user", 1);
  return manifest;
}

void pullRows(ServerHarness &server, uint32_t worker, uint64_t least, const std::vector<int64_t> &ids,
              bool create = true) {
  frames::PullRowsT rows;
  rows.block = kPart, rows.least = least, rows.create = create;
  rows.total = ids.size() * sizeof(int64_t);
  server.receive(server.streams[worker], rows, std::as_bytes(std::span(ids)));
}

void pushRows(ServerHarness &server, uint32_t worker, uint64_t step, uint64_t bytes) {
  frames::PushT push;
  push.step = step, push.block = kPart, push.total = bytes;
  server.receive(server.streams[worker], push, std::vector<std::byte>(bytes));
}

void runTask(ServerHarness &server, uint32_t worker, uint64_t number, uint64_t least) {
  frames::RunTaskT task;
  task.block = kPart, task.number = number, task.least = least;
  server.receive(server.streams[worker], task);
}

frames::TaskDoneT doneOf(uint64_t number, uint64_t rows) {
  frames::TaskDoneT done;
  done.block = kPart, done.number = number, done.rows = rows;
  return done;
}

TEST(TableLogic, AnswersForRowsOnceAllHavePushed) {
  ServerHarness server(makeTableJob(Mode::sync));
  server.setUp();
  pullRows(server, 0, 0, {1, 2}, /*create=*/false);
  ASSERT_THAT(server.rows, SizeIs(1));
  EXPECT_FALSE(server.rows[0].create);
  EXPECT_EQ(server.ids, (std::vector<int64_t>{1, 2}));
  pushRows(server, 0, 0, RowsPush::of(2, 4).bytes);
  pullRows(server, 0, 1, {});
  EXPECT_THAT(server.updates, SizeIs(0));
  pushRows(server, 1, 0, 0);
  ASSERT_THAT(server.updates, SizeIs(1));
  EXPECT_EQ(server.updates[0].block, kPart);
  EXPECT_EQ(server.updates[0].factor, 0.5);
  EXPECT_THAT(server.rows, SizeIs(1));
  server.act(server.logic.updateEnded(kPart, server.now));
  ASSERT_THAT(server.rows, SizeIs(2));
  EXPECT_EQ(server.rows[1].version, 1u);
}

TEST(TableLogic, RefusesFramesThatDoNotFit) {
  auto failure = [](const std::function<void(ServerHarness &)> &act) {
    ServerHarness server(makeTableJob(Mode::sync));
    server.setUp();
    act(server);
    return server.end.value_or("no end");
  };
  EXPECT_THAT(
      failure([](ServerHarness &server) { pushRows(server, 0, 0, 71); }),
      HasSubstr("pushes a gradient of table \"user\", which has 71 bytes, which no number of rows has"));
  EXPECT_THAT(failure([](ServerHarness &server) { server.pull(0, {{0, kPart}}); }),
              HasSubstr("asks for table \"user\" without ids"));
  EXPECT_THAT(failure([](ServerHarness &server) {
                frames::PullRowsT rows;
                server.receive(server.streams[0], rows);
              }),
              HasSubstr("asks for rows of block 0, which is no part of a table that this server has"));
  EXPECT_THAT(failure([](ServerHarness &server) {
                pullRows(server, 0, 1, {1});
                pullRows(server, 0, 1, {1});
              }),
              HasSubstr("asks twice for table \"user\""));
  EXPECT_THAT(failure([](ServerHarness &server) { runTask(server, 1, 1, 0); }),
              HasSubstr("wants something done with a table, which is worker 0's to ask for"));
  EXPECT_THAT(
      failure([](ServerHarness &server) {
        frames::RunTaskT task;
        task.number = 1;
        server.receive(server.streams[0], task);
      }),
      HasSubstr("wants something done with block 0, which is no part of a table that this server has"));
}

TEST(TableLogic, DoesATaskOnce) {
  ServerHarness server(makeTableJob(Mode::sync, /*workers=*/1));
  server.setUp();
  runTask(server, 0, 1, 1);
  EXPECT_THAT(server.tasks, SizeIs(0)) << "the step before it is not there";
  pushRows(server, 0, 0, 0);
  server.act(server.logic.updateEnded(kPart, server.now));
  ASSERT_THAT(server.tasks, SizeIs(1));
  StreamId again = server.greet(0, 1, 2);
  server.begin(0, 0);
  runTask(server, 0, 1, 1);
  EXPECT_THAT(server.tasks, SizeIs(1));
  EXPECT_THAT(server.sent<frames::TaskDoneT>(again), SizeIs(0)) << "it runs";
  server.act(server.logic.taskEnded(0, 1, doneOf(1, 7), server.now));
  ASSERT_THAT(server.sent<frames::TaskDoneT>(again), SizeIs(1));
  runTask(server, 0, 1, 1);
  ASSERT_THAT(server.sent<frames::TaskDoneT>(again), SizeIs(2));
  EXPECT_EQ(server.sent<frames::TaskDoneT>(again)[1].rows, 7u);
  runTask(server, 0, 2, 1);
  EXPECT_THAT(server.tasks, SizeIs(2));
}

TEST(TableLogic, TellsAllOfATask) {
  ServerHarness server(makeTableJob(Mode::sync));
  server.setUp();
  auto lastBeat = [&](uint32_t worker) {
    server.pass(1000, {1});
    return server.sent<frames::HeartbeatT>(server.streams[worker]).back();
  };
  auto beat = [&](int64_t part) {
    frames::HeartbeatT heartbeat;
    heartbeat.block = part;
    server.receive(server.streams[0], heartbeat);
  };
  server.push(1, 0, 0, 2);
  server.pull(1, {{1, 0}});
  beat(-1);
  EXPECT_THAT(lastBeat(1).awaited, ElementsAre(0));
  beat(kPart); // of a task that another server does
  EXPECT_EQ(lastBeat(1).block, kPart);
  EXPECT_THAT(lastBeat(1).awaited, SizeIs(0));
  beat(-1);
  EXPECT_THAT(lastBeat(1).awaited, ElementsAre(0));
  runTask(server, 0, 1, 0);
  ASSERT_THAT(server.tasks, SizeIs(1));
  for (uint32_t worker : {0, 1}) {
    beat(-1);
    EXPECT_EQ(lastBeat(worker).block, kPart) << worker;
    EXPECT_THAT(lastBeat(worker).awaited, SizeIs(0));
  }
  server.act(server.logic.taskEnded(0, 1, doneOf(1, 7), server.now));
  EXPECT_EQ(lastBeat(0).block, -1);
  EXPECT_EQ(server.end, std::nullopt);
  beat(0);
  EXPECT_THAT(server.end.value_or("no end"), HasSubstr("waits for a task with block 0, which is no part"));
}

manifest::ManifestT makeWorkersJob(Mode mode) {
  manifest::ManifestT manifest = makeManifest({{"a", {1}}}, {.servers = 2}, mode, /*workers=*/3);
  addTable(manifest, "user", 1);
  return manifest;
}

TEST(TableLogic, AsksAgainOnAnotherStream) {
  WorkerHarness worker(makeWorkersJob(Mode::sync), 0, {});
  worker.begin();
  std::vector<RowsRequest> rows = {{2, 7, 3, true}};
  worker.act(worker.logic->pullRows(0, rows));
  frames::RunTaskT task;
  task.block = 2, task.task = frames::TableTask::evict;
  worker.act(worker.logic->runTask(0, task));
  auto asked = worker.done<worker_actions::SendIds>();
  ASSERT_THAT(asked, SizeIs(1));
  EXPECT_EQ(asked[0].link.server, 1u);
  EXPECT_EQ(asked[0].rows.ids, 7u);
  ASSERT_THAT(worker.sent<frames::RunTaskT>(1), SizeIs(1));
  EXPECT_EQ(worker.sent<frames::RunTaskT>(1)[0].number, 1u);
  worker.breakStream(1);
  worker.pass(1000, {0});
  worker.welcome(1);
  EXPECT_THAT(worker.done<worker_actions::SendIds>(), SizeIs(2));
  ASSERT_THAT(worker.sent<frames::RunTaskT>(1), SizeIs(2));
  worker.answer(1, 2, 0, 12);
  EXPECT_THAT(worker.done<worker_actions::HaveValue>(), SizeIs(1));
  frames::TaskDoneT done;
  done.block = 2, done.number = 1, done.rows = 4, done.error = "";
  for (int i = 0; i < 2; ++i)
    worker.receive(1, done);
  ASSERT_THAT(worker.done<worker_actions::HaveTask>(), SizeIs(1)) << "that it was done may be said twice";
  EXPECT_EQ(worker.done<worker_actions::HaveTask>()[0].rows, 4u);
}

TEST(TableLogic, TasksHaveNoDeadline) {
  for (bool isToldOf : {true, false}) {
    WorkerHarness worker(makeWorkersJob(Mode::sync), 0, {});
    worker.begin();
    frames::RunTaskT task;
    task.block = 2, task.task = frames::TableTask::save;
    worker.act(worker.logic->runTask(0, task));
    uint32_t streams = 1;
    for (int i = 0; i < 1000 && !worker.end; ++i) {
      worker.pass(100);
      if (worker.streams[1] > streams) {
        streams = worker.streams[1];
        worker.welcome(1);
      }
      frames::HeartbeatT heartbeat;
      heartbeat.block = isToldOf ? 2 : -1;
      if (i % 10 == 0)
        worker.receive(1, heartbeat);
    }
    EXPECT_EQ(worker.sent<frames::HeartbeatT>(0).back().block, 2) << "others hear of it";
    if (isToldOf)
      EXPECT_EQ(worker.end, std::nullopt);
    else
      EXPECT_THAT(worker.end.value_or("no end"), HasSubstr("has not answered within 10 s, 4 times in a row"));
  }
}

TEST(TableLogic, MergesNoGradientsOfRows) {
  WorkerHarness worker(makeWorkersJob(Mode::async), 1, {});
  worker.begin();
  for (uint64_t step = 0; step < 4; ++step)
    for (uint32_t block : {0, 1})
      worker.push(step, block, 10 * step + block);
  EXPECT_THAT(worker.done<worker_actions::MergeGradient>(), SizeIs(2)) << "of the block alone";
  EXPECT_EQ(worker.logic->waiting(1), 3u);
}

TEST(TableLogic, NamesTheTableThatIsWaitedFor) {
  WorkerHarness worker(makeWorkersJob(Mode::sync), 0, {});
  worker.begin();
  std::vector<RowsRequest> rows = {{2, 7, 3, true}};
  worker.act(worker.logic->pullRows(0, rows));
  EXPECT_THROW(worker.logic->pullRows(0, rows), Error);
  worker.pass(4000, {0});
  ASSERT_TRUE(worker.end);
  EXPECT_THAT(*worker.end, HasSubstr("it has not answered for table \"user\" of step 0"));
}

} // namespace
} // namespace epl::runtime::servers::test
