#include "Processes.h"

#include "runtime/device/cpu/CpuDevices.h"
#include "runtime/device/cpu/Guarded.h"
#include "runtime/plan/model/Access.h"

#include <numeric>

namespace epl::runtime::test {
namespace {

/// Writes bytes that depend on all bytes that it reads, on the rank, and on where they are. A single byte may
/// be a predicate, which is equal on all ranks: it depends on the step alone.
class Mixing final : public Command {
public:
  Mixing(const plan::PlanT &plan, const plan::CommandT &command)
      : accesses(accessesOf(plan, Mesh(plan), command)), steps(plan.devices) {}

  CommandState start(const CommandContext &context) override {
    uint32_t mixed = context.rank + 1, step = steps[context.rank]++;
    for (const Access &access : accesses)
      if (!access.write)
        for (ByteRange range : access.ranges)
          for (uint64_t i = range.begin; i < range.end; ++i)
            mixed = mixed * 31 + bytesOf(context, access)[i];
    for (const Access &access : accesses)
      if (access.write)
        for (ByteRange range : access.ranges)
          for (uint64_t i = range.begin; i < range.end; ++i)
            bytesOf(context, access)[i] =
                isByte(access) ? (access.buffer + step) % 2 : uint8_t(mixed + 7 * i) % 3;
    return CommandState::done;
  }

private:
  static bool isByte(const Access &access) { return access.ranges == std::vector<ByteRange>{{0, 1}}; }
  static uint8_t *bytesOf(const CommandContext &context, const Access &access) {
    return static_cast<uint8_t *>(context.addresses.get(context.rank, access.buffer));
  }

  std::vector<Access> accesses;
  std::vector<uint32_t> steps; // of each rank
};

class MixingDevices final : public DeviceSet {
public:
  bool usesHostMemory() const override { return true; }
  std::unique_ptr<Allocation> allocate(uint32_t device, size_t size, Memory::Fill fill) override {
    return cpu.allocate(device, size, fill);
  }
  void copyIn(const std::byte *host, Allocation &to) override { cpu.copyIn(host, to); }
  void copyOut(const Allocation &from, std::byte *host) override { cpu.copyOut(from, host); }
  void copy(const Allocation &from, Allocation &to) override { cpu.copy(from, to); }
  std::unique_ptr<Code> load(const plan::PlanT &) override { return std::make_unique<Mixed>(); }

private:
  struct Mixed final : public Code {
    std::unique_ptr<Command> bind(const plan::PlanT &plan, uint32_t command) const override {
      const plan::CommandT &source = *plan.commands[command];
      return guarded(std::make_unique<Mixing>(plan, source), source.guards);
    }
  };
  CpuDevices cpu;
};

} // namespace

Process::Process(const std::shared_ptr<const plan::PlanT> &plan, std::shared_ptr<Collectives> collectives,
                 const std::vector<uint32_t> &devices, uint32_t numWorkers)
    : executor(numWorkers), loaded(plan, Backend{std::make_shared<MixingDevices>(), std::move(collectives)},
                                   LocalRanks(*plan, devices)),
      frame(loaded, std::min(numWorkers, uint32_t(devices.size()))) {
  for (uint32_t part = 0; part < loaded.numPrograms(); ++part)
    for (uint32_t rank : loaded.program(part).ranks())
      fillSlots(part, rank);
}

void Process::submit() {
  step = std::make_shared<TestStep>(loaded, frame, executor);
  executor.submit(step);
}

void Process::stop(const std::string &reason) { step->stop(reason); }

std::string Process::wait() {
  step->ended.wait(false);
  return step->error;
}

std::vector<std::byte> Process::bytesOf(uint32_t part, uint32_t rank) const {
  const plan::PlanT &plan = loaded.program(part).plan();
  std::vector<std::byte> all;
  for (uint32_t buffer = 0; buffer < plan.buffers.size(); ++buffer) {
    const auto *begin = static_cast<const std::byte *>(frame.meshes[part].addresses.get(rank, buffer));
    all.insert(all.end(), begin, begin + plan.buffers[buffer]->size);
  }
  return all;
}

void Process::fillSlots(uint32_t part, uint32_t rank) {
  const plan::PlanT &plan = loaded.program(part).plan();
  for (uint32_t buffer = 0; buffer < plan.buffers.size(); ++buffer)
    if (BufferPlace place = placeOf(plan, buffer); place.slot >= 0) {
      Memory &memory = slots[{part, rank, place.slot}];
      if (memory.size() == 0) {
        memory = Memory(localBytes(plan, *plan.slots[place.slot]));
        for (size_t i = 0; i < memory.size(); ++i)
          memory.data()[i] =
              std::byte(memory.size() == 1 ? 1 : (i + size_t(rank) * 5 + uint32_t(place.slot)) % 3);
      }
      frame.meshes[part].addresses.set(rank, buffer, memory.data() + place.offset);
    }
}

std::vector<uint32_t> devicesFrom(uint32_t first, uint32_t count) {
  std::vector<uint32_t> devices(count);
  std::iota(devices.begin(), devices.end(), first);
  return devices;
}

} // namespace epl::runtime::test
