// The memory in which the steps of a session run, one after another.
#ifndef EPL_RUNTIME_EXECUTOR_FRAME_H
#define EPL_RUNTIME_EXECUTOR_FRAME_H

#include "runtime/executor/Trace.h"

#include <deque>

namespace epl::runtime {

/// Everything that a step changes besides arguments and results; made once, so that steps allocate nothing.
class Frame {
public:
  using Clock = std::chrono::steady_clock;

  /// How far one lane of one rank has come: its head, and how many of the head's waits for others, and of the
  /// members of the next one, have been seen to be over. A head that is pending has been started.
  struct Lane {
    std::span<const uint32_t> commands;
    uint32_t head = 0, wait = 0, member = 0;
    bool isPending = false;

    void rewind() { head = wait = member = 0, isPending = false; }
    void advance() { ++head, wait = member = 0; }
    bool isDone() const { return head == commands.size(); }
  };

  /// The memory of the ranks of one program that are here.
  class Mesh {
  public:
    Mesh(const LoadedPlan &plan, uint32_t part);

    /// Tells other ranks that the commands of a lane up to `place` have run.
    void publish(uint32_t rank, Program::Place place) {
      rows[rank][place.lane].count.store(epoch + place.position + 1, std::memory_order_seq_cst);
    }
    /// Whether a rank has published that the command at `place`, or a later one, has run.
    bool isPublished(uint32_t rank, Program::Place place) const {
      uint64_t count = rows[rank][place.lane].count.load(std::memory_order_seq_cst);
      return int64_t(count - epoch) > int64_t(place.position);
    }
    void beginStep() { epoch += uint64_t(1) << 32; }

    /// Takes the memory that a step works in, if it is not there.
    void allocate(const LoadedPlan &plan, uint32_t part);
    void release() { arenas.clear(); }

    AddressTable addresses; // those of slots are set by each step

  private:
    /// How many commands of one lane of one rank have run, as far as others may wait for them: written by the
    /// rank's worker alone. The upper half counts steps, so that nothing has to be zeroed between them.
    struct alignas(64) Progress {
      std::atomic<uint64_t> count = 0;
    };

    uint64_t epoch = 0;
    std::unique_ptr<Progress[]> progress;
    std::vector<Progress *> rows; // of each rank: of its lanes; null for those elsewhere
    std::vector<std::unique_ptr<Allocation>> arenas;
  };

  /// How far one rank has come: its lanes, and the first command in program order that may not have run.
  struct Cursor {
    const Program &program;
    Mesh &mesh;
    uint32_t rank;
    std::vector<Lane> lanes;
    uint32_t next = 0;

    bool hasRun(Program::Place place) const { return lanes[place.lane].head > place.position; }
  };
  /// A command that has been started and is not complete: the head of a lane.
  struct Pending {
    Cursor *cursor;
    Lane *lane;
    Clock::time_point begin; // if traced
  };
  /// What one slice of a step uses: its ranks, room for pointers, and how far it has come, for the thread
  /// that goes on with it.
  struct alignas(64) Worker {
    std::vector<Cursor> cursors;
    std::vector<void *> pointers;
    std::vector<Pending> pending;
    uint64_t numMoved = 0; // messages, as it has seen

    /// Whether more have moved since it was asked last.
    bool seesMoved(uint64_t moved) { return std::exchange(numMoved, moved) != moved; }
    bool isPrepared = false, isCollected = false;
    size_t left = 0; // commands
    // Of devices that run a step as a whole:
    bool isBegun = false;
    Clock::time_point begin{};
  };

  Frame(const LoadedPlan &plan, uint32_t numWorkers);

  uint32_t numWorkers() const { return uint32_t(workers.size()); }
  /// The worker of a rank of a part; none of them for a rank that is elsewhere.
  uint32_t workerOf(uint32_t part, uint32_t rank) const { return owners[part][rank]; }

  /// Takes the memory that a step works in, if it was released. Throws Error if there is not so much.
  void allocate(const LoadedPlan &plan);
  /// Gives that memory back, between steps.
  void release();

  /// Begins a step: nothing has been prepared or published in it.
  void beginStep();

  /// Of each program.
  std::deque<Mesh> meshes;
  std::vector<const AddressTable *> tables;
  std::vector<Worker> workers;
  Clock::duration lastDuration = Clock::duration::max(); // of the step that ended last
  Trace trace;

private:
  void deal(const LoadedPlan &plan, uint32_t part);

  std::vector<std::vector<uint32_t>> owners; // of each part's ranks
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_EXECUTOR_FRAME_H
