// Processes of a plan whose kernels mix bytes, for tests.
#ifndef EPL_TEST_UNIT_COLLECTIVE_MESSAGES_PROCESSES_H
#define EPL_TEST_UNIT_COLLECTIVE_MESSAGES_PROCESSES_H

#include "test/unit/executor/TestStep.h"

#include <map>

namespace epl::runtime::test {

/// Some devices of a plan, with the memory of their slots: those of a process, or all of them. Their kernels
/// write bytes that depend on all bytes that they read, on the rank, and on where they are. A single byte may
/// be a predicate, which is equal on all ranks: it depends on the step alone.
class Process {
public:
  Process(const std::shared_ptr<const plan::PlanT> &plan, std::shared_ptr<Collectives> collectives,
          const std::vector<uint32_t> &devices, uint32_t numWorkers);

  /// Begins a step.
  void submit();
  void stop(const std::string &reason);
  /// Waits for its end; what went wrong.
  std::string wait();

  /// All bytes of a rank: of the arena, and of its slots.
  std::vector<std::byte> bytesOf(uint32_t part, uint32_t rank) const;
  const LoadedPlan &plan() const { return loaded; }

private:
  void fillSlots(uint32_t part, uint32_t rank);

  Executor executor;
  LoadedPlan loaded;
  Frame frame;
  std::map<std::tuple<uint32_t, uint32_t, int32_t>, Memory> slots; // by part, rank and slot
  std::shared_ptr<TestStep> step;
};

/// So many devices from the first on.
std::vector<uint32_t> devicesFrom(uint32_t first, uint32_t count);

} // namespace epl::runtime::test

#endif // EPL_TEST_UNIT_COLLECTIVE_MESSAGES_PROCESSES_H
