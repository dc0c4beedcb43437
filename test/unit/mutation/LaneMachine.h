// Runs a plan as freely as it allows: each lane of each rank is a thread, and nothing orders two threads but
// the plan's waits. The executor has fewer threads and so fewer interleavings; what holds here holds there.
// Built for TSan, the machine shows it every byte that a command touches, also those of compiled kernels and
// library calls, so that a missing order is a report however the threads happened to run.

#ifndef EPL_TEST_UNIT_MUTATION_LANEMACHINE_H
#define EPL_TEST_UNIT_MUTATION_LANEMACHINE_H

#include "runtime/host/Memory.h"
#include "runtime/session/OpenDevices.h"
#include "runtime/session/Slots.h"

#include <random>

namespace epl::runtime::test {

/// The bytes of all arguments of a plan, global, made up from the types of its slots.
std::vector<std::vector<std::byte>> makeArguments(const plan::PlanT &plan);

class LaneMachine {
public:
  /// Throws Error as LoadedPlan does. `arguments` in slot order; they outlive the machine.
  LaneMachine(std::shared_ptr<const plan::PlanT> plan, const std::vector<std::vector<std::byte>> &arguments);

  /// The bytes of every slot of every rank after a step, all commands one after another in program order,
  /// those of a part as far as others have sent what it receives. Of what several parts have, batches,
  /// nothing.
  std::vector<std::byte> runInProgramOrder();

  /// The same on threads, with random pauses. What nothing has written differs from seed to seed.
  std::vector<std::byte> runFreely(uint64_t seed);

private:
  class Run;

  /// The ranks of one mesh.
  struct Part {
    const plan::PlanT *plan;
    const Program *program;
    AddressTable addresses;
    std::vector<Memory> arenas, slots; // of each rank; of each slot and rank

    std::byte *slot(uint32_t index, uint32_t rank) { return slots[index * plan->devices + rank].data(); }
    std::span<std::byte> bytesOf(uint32_t rank, uint32_t buffer, uint64_t size) const;
    void touch(uint32_t rank, const plan::CommandT &command, uint8_t garbage);
    void touchLaunch(uint32_t rank, const plan::LaunchT &launch, uint8_t garbage);
    void touchContract(uint32_t rank, const plan::ContractT &contract, uint8_t garbage);
    void run(uint32_t rank, uint32_t command, uint8_t garbage);
    void fill(uint32_t rank, const plan::PullT &pull) const;
  };

  /// What a command waits for on ranks of another part: a command that sends or receives by a channel.
  struct Awaited {
    uint32_t channel;
    PartCommand command;
  };

  void addPart(uint32_t index);
  std::optional<Awaited> awaitedBy(uint32_t part, uint32_t command) const;
  void reset(uint64_t seed);
  std::vector<std::byte> slotBytes();

  std::shared_ptr<const plan::PlanT> plan;
  const std::vector<std::vector<std::byte>> &arguments;
  LoadedPlan loaded;
  Slots slots;
  std::vector<Part> parts;
};

} // namespace epl::runtime::test

#endif // EPL_TEST_UNIT_MUTATION_LANEMACHINE_H
