// What a worker does between its step and the servers: a state machine without sockets, threads, clock and
// tensors. Each call says what has happened and when, and returns what is to be done, in order.

#ifndef EPL_RUNTIME_SERVERS_LOGIC_WORKERLOGIC_H
#define EPL_RUNTIME_SERVERS_LOGIC_WORKERLOGIC_H

#include "runtime/servers/logic/Gradients.h"
#include "runtime/servers/logic/Requests.h"
#include "runtime/servers/logic/ServerLink.h"
#include "runtime/servers/logic/Timing.h"
#include "runtime/servers/logic/WorkerActions.h"

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace epl::runtime::servers {

/// How gradients that wait are merged, in the modes without sync.
enum class Merge { sum, mean };

struct WorkerOptions {
  uint32_t worker = 0;
  uint64_t life = 1;                  ///< larger each time that the worker is started
  Hash128 job{};                      ///< hash of the manifest's bytes
  std::vector<std::string> addresses; ///< of the servers, for messages
  uint64_t seed = 0;                  ///< of the times between retries
  Merge merge = Merge::sum;
  uint32_t maxMerge =
      20; ///< how many gradients of a block become one at most; one, if values beside are pushed
  Timing timing = {};
};

/// One worker of a job, whose calls are made one at a time. It greets all servers, pulls and pushes blocks
/// step after step, and says goodbye.
class WorkerLogic {
public:
  using Actions = std::vector<WorkerAction>;

  /// Throws Error if there is not an address for each server, or if there is no such worker.
  WorkerLogic(std::shared_ptr<const Job> job, WorkerOptions options, Milliseconds now);

  /// The server has taken a stream; a frame has come on it; it has ended, for a reason that is for people.
  void accepted(LinkId link, Milliseconds now);
  Actions received(LinkId link, std::span<const std::byte> head, const Payload &payload, Milliseconds now);
  Actions broke(LinkId link, const std::string &why, Milliseconds now);
  /// The server takes no stream of this worker, nor will it: that ends the worker.
  Actions refused(LinkId link, const std::string &why);
  /// To be called at once, and some times within each Timing::heartbeat.
  Actions tick(Milliseconds now);

  /// Wants the parameters' blocks for a step, in the order in which it uses them. Each comes as HaveValue: of
  /// sync with all steps before it, of half_async and geo with the worker's own pushes, else as it is.
  Actions pull(uint64_t step, std::span<const uint32_t> blocks);
  /// Wants a state of a block, or the parameter (-1), as pull would have it for the step.
  Actions fetch(uint64_t step, uint32_t block, int32_t state);
  /// Wants rows of parts of tables, as pull would have blocks. Of each part one request is open at a time. Of
  /// sync each part is asked in each step, if for no rows.
  Actions pullRows(uint64_t step, std::span<const RowsRequest> rows);
  /// Wants something done with a part of a table, once it is as pull would have it for the step. Of worker 0;
  /// of each part one task is open at a time. HaveTask says what came of it.
  Actions runTask(uint64_t step, frames::RunTaskT task);
  /// Has the gradient of a block, or of rows of a part of a table, in a step (of geo: the difference). Of
  /// sync each block and part, in each step.
  Actions push(uint64_t step, uint32_t block, GradientHandle gradient);
  /// Whether blocks are pushed at the end of the step: always, of geo each manifest.geo_steps steps.
  bool isPushed(uint64_t step) const;
  /// How many gradients of a block wait behind the one that is sent: who makes them should wait, too.
  size_t waiting(uint32_t block) const;

  /// Takes no part in steps from this one on. EndWorker comes when the servers know and have all gradients.
  Actions finish(uint64_t step);
  /// Cannot go on: the servers are told.
  Actions fail(const std::string &error);

  bool hasEnded() const { return ended; }

private:
  struct Server {
    ServerLink link;
    std::vector<uint32_t> blocks;
    Requests requests = {};
    std::map<uint32_t, frames::RunTaskT> tasks = {}; ///< that have not been done, by part
    std::vector<uint32_t> sent = {};                 ///< blocks whose gradient is on its way, in order
    std::optional<uint64_t> firstStep = {};          ///< as its last welcome had it
    uint32_t items = 0;                              ///< of the set-up, which it has had at its last welcome
    bool setUp = false;                              ///< it has loaded the job
    bool left = false;                               ///< it has said goodbye
    std::string delay = {};                          ///< what keeps it from answering, as it has said last
    std::string absence = {}; ///< why the last stream to it broke; empty once a frame has come
  };

  Actions take() { return std::move(actions); }
  bool isSync() const { return job->manifest.mode == manifest::Mode::sync; }
  LinkId linkOf(uint32_t server) const { return {server, servers[server].link.stream()}; }
  void send(uint32_t server, const Message &message);

  void notice(Milliseconds now);
  void open(uint32_t server, Milliseconds now);
  void reopen(uint32_t server, Milliseconds now);
  std::string take(uint32_t server, const Message &message, const Payload &payload, Milliseconds now);
  std::string takeWelcome(uint32_t server, const frames::WelcomeT &welcome);
  std::string takeReady(uint32_t server);
  std::string takeAcknowledge(uint32_t server, const frames::AcknowledgeT &acknowledge);
  std::string takeValue(uint32_t server, const frames::ValueT &value, const Payload &payload);
  std::string takeTaskDone(uint32_t server, const frames::TaskDoneT &done);
  std::string takeGoodbye(uint32_t server);
  void takeHeartbeat(Server &server, const frames::HeartbeatT &heartbeat, Milliseconds now);
  frames::HeartbeatT heartbeat() const;

  void beginIfReady();
  void resume(uint32_t server);
  uint64_t leastOf(uint64_t step, uint32_t block) const;
  void request(uint64_t step, Request request);
  void requestAll(uint64_t step, std::span<const Request> requests);
  void sendRequests(uint32_t server, uint64_t from);
  uint32_t maxMerge(uint32_t block) const;
  void sendNext(uint32_t block);
  void sendGradient(uint32_t block, const Gradients::Entry &entry);
  void leaveIfDone();
  bool isOpen(const Server &server) const;
  bool isCurrent(LinkId link) const;
  bool waits(const Server &server) const;
  std::string waitsFor(const Server &server) const;
  void requireRunning(const char *what) const;
  void lose(uint32_t server, const std::string &why);
  void end(const std::string &error);

  std::shared_ptr<const Job> job;
  WorkerOptions options;
  std::mt19937_64 random;
  Milliseconds noticed; ///< when something has happened last
  std::vector<Server> servers;
  std::vector<Gradients> gradients; ///< by block
  uint64_t tasks = 0;               ///< how many there were
  std::optional<uint64_t> begun;    ///< the first step
  std::optional<uint64_t> leaving;  ///< the first step without this worker
  bool goodbyes = false;            ///< have been sent
  std::vector<WorkerAction> actions;
  bool ended = false;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_LOGIC_WORKERLOGIC_H
