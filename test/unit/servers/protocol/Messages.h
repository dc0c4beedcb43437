// A message of each kind, for tests and as seeds of the fuzz target.

#ifndef EPL_TEST_UNIT_SERVERS_PROTOCOL_MESSAGES_H
#define EPL_TEST_UNIT_SERVERS_PROTOCOL_MESSAGES_H

#include "runtime/servers/protocol/Frames.h"

#include <vector>

namespace epl::runtime::servers::test {

/// A message with the payload that it comes with.
struct Example {
  Message message;
  size_t payloadBytes = 0;
};

inline std::vector<Example> exampleMessages() {
  using namespace frames;
  HelloT hello;
  hello.protocol = protocolVersion, hello.job_low = 1, hello.job_high = UINT64_MAX;
  hello.worker = 2, hello.workers = 3, hello.server = 1, hello.life = 77, hello.stream = 5;
  WelcomeT welcome;
  welcome.server = 1, welcome.set_up = 3, welcome.step = 9;
  BeginT begin;
  begin.step = 10;
  SetupT setup;
  setup.kind = SetupKind::state, setup.index = 3, setup.state = 1, setup.offset = 8, setup.total = 24;
  PushT push;
  push.step = 4, push.block = 3, push.offset = 16, push.total = 24;
  AcknowledgeT acknowledge;
  acknowledge.step = 4, acknowledge.block = 3;
  PullRequestT request;
  request.blocks = {{5, 3}, {4, 1}};
  FetchT fetch;
  fetch.block = 3, fetch.state = 0, fetch.least = 5;
  ValueT value;
  value.block = 3, value.version = 5, value.total = 0;
  HeartbeatT heartbeat;
  heartbeat.block = 3, heartbeat.step = 4, heartbeat.awaited = {0, 2};
  GoodbyeT goodbye;
  goodbye.step = 11;
  FailureT failure;
  failure.text = "worker 2: out of memory";
  PullRowsT rows;
  rows.block = 5, rows.least = 4, rows.create = true, rows.offset = 8, rows.total = 24;
  RunTaskT run;
  run.block = 5, run.task = TableTask::evict, run.number = 3, run.least = 4, run.unseen = 7,
  run.folder = "saved";
  TaskDoneT done;
  done.block = 5, done.number = 3, done.rows = 1000, done.error = "no space left";
  JoinT join;
  join.protocol = protocolVersion, join.worker = 1, join.workers = 2, join.life = 77, join.stream = 1;
  JoinedT joined;
  joined.first = 6;
  ShareT share;
  share.number = 6, share.what = "a sum", share.from = 1, share.offset = 8, share.total = 24;
  SharedT shared;
  shared.number = 6, shared.worker = 1, shared.offset = 16, shared.total = 24;
  ShareFailedT failed;
  failed.number = 6, failed.text = "worker 1 has ended";
  return {{hello},   {welcome}, {begin}, {setup, 16}, {ReadyT()}, {push, 8},   {acknowledge},
          {request}, {fetch},   {value}, {heartbeat}, {goodbye},  {failure},   {rows, 16},
          {run},     {done},    {join},  {joined},    {share, 8}, {shared, 8}, {failed}};
}

} // namespace epl::runtime::servers::test

#endif // EPL_TEST_UNIT_SERVERS_PROTOCOL_MESSAGES_H
