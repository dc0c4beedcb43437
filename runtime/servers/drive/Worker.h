// A worker as a process runs it: the logic, its streams, and the tensors that come and go.
#ifndef EPL_RUNTIME_SERVERS_DRIVE_WORKER_H
#define EPL_RUNTIME_SERVERS_DRIVE_WORKER_H

#include "runtime/servers/Stream.h"
#include "runtime/servers/drive/BlockParts.h"
#include "runtime/servers/drive/RowPulls.h"
#include "runtime/servers/logic/WorkerLogic.h"

#include <functional>
#include <memory>
#include <span>

namespace epl::runtime::servers {

/// What worker 0 gives the servers: the bytes of the manifest and of the plans, and the first value of each
/// parameter (-1) and state as a whole. Asked in any thread, once for each server and block.
struct JobSource {
  std::vector<uint8_t> manifest;
  std::function<std::vector<uint8_t>(uint32_t plan)> plan;
  std::function<HostTensor(uint32_t parameter, int32_t state)> value;
};

/// What can be done with a table: as frames.fbs says of a part.
struct TaskOfTable {
  frames::TableTask task;
  std::string folder = {}; ///< of all but evict; as servers see it
  uint64_t unseen = 0;     ///< of evict
};

/// One worker of a job, between its steps and all servers. For one thread at a time, but `fail`. What waits
/// throws Error if the job has failed, with the peer, the block, the step and who is awaited.
class Worker {
public:
  /// Connects; returns at once. `source`: of worker 0 alone. `whileWaiting` is called again and again by who
  /// waits; what it throws ends the wait, and nothing else.
  Worker(
      std::shared_ptr<StreamTransport> transport, std::shared_ptr<const Job> job,
      const WorkerOptions &options, const StreamOptions &streams, std::optional<JobSource> source,
      std::function<void()> whileWaiting = [] {});
  /// Leaves at once, without a goodbye.
  ~Worker();

  /// Waits until all servers are ready; the first step that this worker takes part in. `check` is called as
  /// `whileWaiting` is: what else knows that there will be none throws.
  uint64_t begin(const std::function<void()> &check = [] {});

  /// The parameters for a step, all of them, each as a whole; waits. They stay as they are until the next
  /// pull.
  const std::vector<HostTensor> &pull(uint64_t step);
  /// Hands over what updates of all parameters read in a step: of each parameter its pushes, each as a whole
  /// (a gradient, of geo the difference, and values beside it). Returns once few enough wait to be sent. They
  /// must not change any more. Of a job with tables `pushRows` is called as well.
  void push(uint64_t step, const std::vector<std::vector<HostTensor>> &pushes);
  /// Hands over the gradients of tables that a step has looked up, which may change afterwards. Throws Error
  /// as RowPushes does.
  void pushRows(uint64_t step, std::span<const RowGradients> rows);
  /// Asks for the rows of lookups for a step, once those before have come. Of sync also parts without such
  /// ids are asked, so that no worker is more than a step ahead. Throws Error as RowPulls does.
  std::shared_ptr<const RowPulls> requestRows(uint64_t step, std::span<const Lookup> lookups);
  /// Waits for all that was asked for so; of each lookup one tensor [ids, dim].
  std::vector<HostTensor> awaitRows(const RowPulls &pulls);
  /// Both.
  std::vector<HostTensor> pullRows(uint64_t step, std::span<const Lookup> lookups) {
    return awaitRows(*requestRows(step, lookups));
  }
  /// Has all servers do something with their parts of a table, as it is for a step, and waits; how many rows
  /// that was done with. Of worker 0. Throws Error for what a server cannot do; then others may have done it.
  uint64_t runTask(uint64_t step, uint32_t table, const TaskOfTable &task);
  /// Whether a step pushes: always, of geo each so many steps.
  bool isPushed(uint64_t step) const;
  /// Parameters and states as they are for a step, none twice, each as a whole; waits for all at once. Of a
  /// state that each block has for itself it is the first block's.
  std::vector<HostTensor> fetch(uint64_t step, const std::vector<ValueId> &values);

  // What a plan exchanges while it runs (WorkerOutside.h), from any thread and without waiting.

  /// A value that is on its way, as a whole, to where it goes.
  struct Wanted {
    ValueId value;
    HostTensor tensor;
  };
  /// Who waits for such values: called with a lock that the worker's functions take.
  class Listener {
  public:
    virtual ~Listener() = default;
    virtual void arrived(ValueId value) = 0;
    virtual void failed(const std::string &reason) = 0;
  };
  /// Asks for values as they are for a step, none twice, in the order in which they are used. Throws Error if
  /// the job has failed.
  void request(uint64_t step, std::span<const Wanted> values, Listener &listener);
  /// Nothing that was asked for is written any more, and its listener not called.
  void drop();
  /// Hands over what the update of one parameter reads in a step, as `push` does for all. Throws Error if the
  /// job has failed.
  void push(uint64_t step, uint32_t parameter, const std::vector<HostTensor> &pushes);
  /// Returns once few enough pushes wait to be sent, and what was dropped has come.
  void awaitRoom();
  /// Throws Error if the job has failed.
  void check();

  /// Takes no part from this step on; waits until the servers have all that was pushed.
  void finish(uint64_t step);
  /// Tells the servers that this worker cannot go on. From any thread.
  void fail(const std::string &error);

private:
  class Driver;
  std::unique_ptr<Driver> driver;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_DRIVE_WORKER_H
