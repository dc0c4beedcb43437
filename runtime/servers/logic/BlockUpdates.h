// The blocks of a server and its parts of tables: which gradients have come, when a block is updated, who
// waits for its value.

#ifndef EPL_RUNTIME_SERVERS_LOGIC_BLOCKUPDATES_H
#define EPL_RUNTIME_SERVERS_LOGIC_BLOCKUPDATES_H

#include "runtime/servers/logic/ServerActions.h"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace epl::runtime::servers {

class BlockUpdates {
public:
  /// Keeps references to the members and to the outbox.
  BlockUpdates(std::shared_ptr<const Job> job, uint32_t server, const Members &members, ServerOutbox &out);

  /// A piece of a gradient. What these two return is wrong with the frame, as a part of a sentence; empty:
  /// nothing.
  std::string push(uint32_t worker, const frames::PushT &push, const Payload &bytes);
  /// Asks for a parameter (state -1) or a state, with `least` steps applied.
  std::string pull(uint32_t worker, uint32_t block, int32_t state, uint64_t least);

  /// A piece of the ids whose rows of a part are asked for.
  std::string pullRows(uint32_t worker, const frames::PullRowsT &rows, const Payload &bytes);

  /// Something is to be done with a part of a table.
  std::string runTask(uint32_t worker, const frames::RunTaskT &task);
  /// It has been done, for a life of a worker.
  void taskEnded(uint32_t worker, uint64_t life, const frames::TaskDoneT &done);

  void updateEnded(uint32_t block);

  /// The worker's stream is not there any more: nobody waits behind it.
  void dropStream(uint32_t worker);
  /// The worker's life is over: what has come of a gradient in part is dropped; of sync also what has come of
  /// it for `step` and later ones, in which another life takes part.
  void dropLife(uint32_t worker, uint64_t step);
  /// Who takes part has changed: steps may be complete now.
  void recheck();

  /// Of sync: the first step in which no block's update has begun.
  uint64_t firstOpenStep() const;
  /// Of sync: what a worker that leaves before `step` has not pushed yet, as a part of a sentence; empty if
  /// nothing.
  std::string missing(uint32_t worker, uint64_t step) const;
  /// Whether no update runs.
  bool isIdle() const;

  /// What keeps a worker waiting: a task, else what its oldest pull awaits.
  struct Delay {
    uint32_t block;
    uint64_t step;
    std::vector<uint32_t> awaited; ///< of sync: who has not pushed; empty: a task with the block is under way
  };
  std::optional<Delay> delayOf(uint32_t worker) const;
  /// The first block that waits for a push of the worker, for messages; empty if none does.
  std::string awaits(uint32_t worker) const;

private:
  /// What one worker has pushed of a block.
  struct Sender {
    uint64_t life = 0;
    uint64_t received = 0; ///< steps below it have come
    uint64_t applied = 0;  ///< steps below it are in the block
    std::optional<GradientKey> partial;
    PieceOrder order;
    uint64_t total = 0;    ///< of a part of a table: what the first piece of its push has said
    PieceOrder ids;        ///< that rows are asked for by
    uint64_t idsTotal = 0; ///< what the first piece of these has said
    uint64_t tasks = 0;    ///< of a part of a table: the number of the last task that has begun
    std::optional<frames::TaskDoneT> done; ///< and what came of it, once it has ended
  };
  struct Waiting {
    uint32_t worker;
    int32_t state;
    uint64_t least;
    bool create = false;                                 ///< of rows
    std::optional<frames::RunTaskT> task = std::nullopt; ///< in the place of a value
  };
  struct Block {
    uint64_t version = 0;
    std::vector<GradientKey> updating; ///< what the running update adds up
    std::deque<GradientKey> ready; ///< what has come; of sync all of step `version`, in the order of workers
    std::map<uint32_t, Sender> senders;
    std::deque<Waiting> waiting;
  };

  /// Of who waits for a task, in the place of a state.
  static constexpr int32_t kTask = -2;

  bool isSync() const { return job->manifest.mode == manifest::Mode::sync; }
  std::string blockText(uint32_t block) const { return job->blocks.text(block); }
  std::string acceptPush(const frames::PushT &push, uint64_t size, Sender &from) const;
  std::string await(uint32_t block, const Waiting &waiting);
  Sender &sender(Block &block, uint32_t worker);
  std::string faultOfStep(uint32_t worker, const frames::PushT &push, const Block &block) const;
  void repeated(uint32_t worker, const frames::PushT &push, const Sender &sender, uint64_t size);
  void completed(uint32_t worker, const GradientKey &key, Block &block, Sender &sender);
  bool isComplete(const Block &block) const;
  std::optional<uint32_t> task() const;
  std::vector<uint32_t> awaited(const Block &block) const;
  bool isReady(const Block &block, const Waiting &waiting) const;
  void advance(uint32_t number, Block &block);
  void answer(uint32_t number, Block &block);

  std::shared_ptr<const Job> job;
  const Members &members;
  ServerOutbox &out;
  std::map<uint32_t, Block> blocks;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_LOGIC_BLOCKUPDATES_H
