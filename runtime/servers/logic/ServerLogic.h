// What a server does: a state machine without sockets, threads, clock and tensors. Each call says what has
// happened and when, and returns what is to be done, in order.

#ifndef EPL_RUNTIME_SERVERS_LOGIC_SERVERLOGIC_H
#define EPL_RUNTIME_SERVERS_LOGIC_SERVERLOGIC_H

#include "runtime/servers/logic/BlockUpdates.h"
#include "runtime/servers/logic/GatherServer.h"
#include "runtime/servers/logic/ServerActions.h"
#include "runtime/servers/logic/Timing.h"

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace epl::runtime::servers {

/// One server of a job, whose calls are made one at a time. Workers greet it on streams of theirs, worker 0
/// sets it up; then it takes gradients, updates blocks and answers pulls until all workers have said goodbye.
/// Until a worker begins, its streams of all-gathers count as well: who is seen there has come, and who is
/// lost there is lost.
class ServerLogic {
public:
  using Actions = std::vector<ServerAction>;

  /// Of server number `server`, which is there from `now` on. `gather` lives as long, and is told of events
  /// first.
  ServerLogic(uint32_t server, Timing timing, Milliseconds now, const GatherServer &gather);

  /// A frame has come. Streams have any numbers but 0, none twice.
  Actions received(StreamId stream, std::span<const std::byte> head, const Payload &payload,
                   Milliseconds now);
  /// A stream has ended, whoever has closed it.
  Actions broke(StreamId stream, Milliseconds now);
  /// To be called some times within each Timing::heartbeat.
  Actions tick(Milliseconds now);

  /// What LoadJob and UpdateBlock have asked for is done.
  Actions loaded(Milliseconds now);
  Actions updateEnded(uint32_t block, Milliseconds now);
  /// What RunTask has asked for is done, or cannot be: `done` has its block and number.
  Actions taskEnded(uint32_t worker, uint64_t life, const frames::TaskDoneT &done, Milliseconds now);
  /// Something cannot be done: the job ends with this.
  Actions failed(const std::string &error);

  /// The manifest and its blocks, once they have come.
  std::shared_ptr<const Job> job() const { return setup ? setup->received() : nullptr; }
  /// Whether EndServer has been said.
  bool hasEnded() const { return ended.has_value(); }

private:
  Actions take() { return std::move(out.actions); }
  bool isSync() const { return job() && job()->manifest.mode == manifest::Mode::sync; }
  bool goesOn() const;

  void greet(StreamId stream, const frames::HelloT &hello, Milliseconds now);
  std::string refusal(const frames::HelloT &hello) const;
  std::string refusalOfLife(const frames::HelloT &hello) const;
  bool beginLife(StreamId stream, const frames::HelloT &hello);
  void welcome(StreamId stream, const frames::HelloT &hello, Milliseconds now);
  void learnJob();
  void refuseStrangers();
  void refuse(StreamId stream, const std::string &text);

  std::string take(uint32_t worker, const Message &message, const Payload &payload);
  std::string takeSetup(uint32_t worker, const frames::SetupT &setup, const Payload &payload);
  std::string takePush(uint32_t worker, const frames::PushT &push, const Payload &payload);
  std::string takePulls(uint32_t worker, const frames::PullRequestT &request);
  std::string takePullRows(uint32_t worker, const frames::PullRowsT &rows, const Payload &payload);
  std::string takeTask(uint32_t worker, const frames::RunTaskT &task);
  std::string takeHeartbeat(uint32_t worker, const frames::HeartbeatT &heartbeat);
  std::string takeFetch(uint32_t worker, const frames::FetchT &fetch);
  std::string takeBegin(uint32_t worker, uint64_t step);
  std::string takeGoodbye(uint32_t worker, uint64_t step);

  void notice(Milliseconds now);
  void watchRefusals(Milliseconds now);
  void watchEarly();
  void watchEarly(uint32_t worker);
  void leaveEarly(uint32_t worker);
  void watch(uint32_t worker, Member &member, Milliseconds now);
  void tell(uint32_t worker, Member &member, Milliseconds now);
  void lose(uint32_t worker, const std::string &why, bool mayReturn = false);
  void end(const std::string &error);
  void endIfDone();

  uint32_t server;
  Timing timing;
  const GatherServer &gather;
  Milliseconds started, noticed;
  Members members;
  struct Refusal {
    std::string text;
    Milliseconds time;
  };
  std::map<uint32_t, Refusal> refusals; ///< of another job, by worker, if none of this one has come
  ServerOutbox out;
  std::optional<SetupReceiver> setup;   ///< once worker 0 has said which job it is
  bool known = false;                   ///< whether the manifest has been looked at
  std::unique_ptr<BlockUpdates> blocks; ///< once the job has been loaded
  std::optional<std::string> ended;     ///< the error; empty if all have left
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_LOGIC_SERVERLOGIC_H
