// The memory in which the steps of a session run, one after another.
#ifndef EPL_RUNTIME_EXECUTOR_FRAME_H
#define EPL_RUNTIME_EXECUTOR_FRAME_H

#include "runtime/device/cpu/Memory.h"
#include "runtime/executor/Trace.h"

#include <deque>

namespace epl::runtime {

/// Everything that a step changes besides arguments and results; made once, so that steps allocate nothing.
class Frame {
public:
  using Clock = std::chrono::steady_clock;

  /// How far one lane of one rank has come: its head, and how many of the head's waits for others, and of the
  /// members of the next one, have been seen to be over.
  struct Lane {
    std::span<const uint32_t> commands;
    uint32_t head = 0, wait = 0, member = 0;

    void rewind() { head = wait = member = 0; }
    void advance() { ++head, wait = member = 0; }
    bool isDone() const { return head == commands.size(); }
  };

  /// The memory of the ranks of one program.
  class Mesh {
  public:
    explicit Mesh(const Program &program);

    /// Tells other ranks that the commands of a lane up to `place` have run.
    void publish(uint32_t rank, Program::Place place) {
      progress[size_t(rank) * numLanes + place.lane].count.store(epoch + place.position + 1,
                                                                 std::memory_order_seq_cst);
    }
    /// Whether a rank has published that the command at `place`, or a later one, has run.
    bool isPublished(uint32_t rank, Program::Place place) const {
      uint64_t count = progress[size_t(rank) * numLanes + place.lane].count.load(std::memory_order_seq_cst);
      return int64_t(count - epoch) > int64_t(place.position);
    }
    void beginStep() { epoch += uint64_t(1) << 32; }

    AddressTable addresses; // those of slots are set by each step

  private:
    /// How many commands of one lane of one rank have run, as far as others may wait for them: written by the
    /// rank's worker alone. The upper half counts steps, so that nothing has to be zeroed between them.
    struct alignas(64) Progress {
      std::atomic<uint64_t> count = 0;
    };

    uint32_t numRanks;
    size_t numLanes;
    uint64_t epoch = 0;
    std::unique_ptr<Progress[]> progress;
    std::vector<Memory> arenas;
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
  /// What one slice of a step uses: its ranks, room for pointers, and how far it has come, for the thread
  /// that goes on with it.
  struct alignas(64) Worker {
    std::vector<Cursor> cursors;
    std::vector<void *> pointers;
    bool isPrepared = false;
    size_t left = 0; // commands
  };

  Frame(const LoadedPlan &plan, uint32_t numWorkers);

  uint32_t numWorkers() const { return uint32_t(workers.size()); }
  uint32_t workerOf(uint32_t device) const {
    return uint32_t(uint64_t(device) * workers.size() / numDevices);
  }

  /// Begins a step: nothing has been prepared or published in it.
  void beginStep();

  /// Of each program.
  std::deque<Mesh> meshes;
  std::vector<Worker> workers;
  Clock::duration lastDuration = Clock::duration::max(); // of the step that ended last
  Trace trace;

private:
  void deal(const LoadedPlan &plan);

  uint32_t numDevices;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_EXECUTOR_FRAME_H
