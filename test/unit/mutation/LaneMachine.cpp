#include "test/unit/mutation/LaneMachine.h"

#include "runtime/plan/Access.h"
#include "runtime/plan/Mesh.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>

namespace epl::runtime::test {
namespace {

template <typename T> void storeAs(std::byte *place, int64_t value) {
  T element = T(value);
  std::memcpy(place, &element, sizeof(T));
}

/// Small values: no sum of a few overflows, no float is a NaN.
void store(std::byte *place, plan::ElementType type, int64_t value) {
  switch (type) {
  case plan::ElementType::f32:
    return storeAs<float>(place, value);
  case plan::ElementType::f64:
    return storeAs<double>(place, value);
  case plan::ElementType::i1:
    return storeAs<int8_t>(place, value % 2);
  case plan::ElementType::i32:
    return storeAs<int32_t>(place, value);
  case plan::ElementType::i64:
    return storeAs<int64_t>(place, value);
  default: // bytes of i8; 16-bit types get small patterns, which are tiny floats
    storeAs<int8_t>(place, value);
  }
}

void read(std::span<std::byte> bytes) {
  for (const std::byte &byte : bytes)
    static_cast<void>(*static_cast<const volatile std::byte *>(&byte));
}

/// Garbage in what a command is about to write.
void spoil(std::span<std::byte> bytes, uint8_t garbage) {
  for (std::byte &byte : bytes)
    *static_cast<volatile std::byte *>(&byte) = std::byte(garbage);
}

/// A write that changes nothing, to what a command also reads.
void rewrite(std::span<std::byte> bytes) {
  for (std::byte &byte : bytes) {
    volatile std::byte &place = byte;
    std::byte value = place;
    place = value;
  }
}

/// Calls `visit` with the index of each element of a strided set.
void forEachElement(std::span<const StridedDim> dims, int64_t start,
                    const std::function<void(int64_t)> &visit) {
  if (dims.empty())
    return visit(start);
  for (int64_t i = 0; i < dims.back().extent; ++i)
    forEachElement(dims.first(dims.size() - 1), start + i * dims.back().stride, visit);
}

} // namespace

std::vector<std::vector<std::byte>> makeArguments(const plan::PlanT &plan) {
  std::vector<std::vector<std::byte>> arguments;
  std::mt19937 random(7);
  for (const auto &slot : plan.slots) {
    uint64_t width = elementBytes(slot->type), count = 1;
    for (int64_t extent : slot->shape)
      count *= uint64_t(extent);
    std::vector<std::byte> &bytes = arguments.emplace_back(count * width);
    for (uint64_t i = 0; i < count; ++i)
      store(&bytes[i * width], slot->type, int64_t(random() % 4));
  }
  return arguments;
}

LaneMachine::LaneMachine(std::shared_ptr<const plan::PlanT> source,
                         const std::vector<std::vector<std::byte>> &arguments)
    : plan(std::move(source)), arguments(arguments), loaded(plan, "cpu:" + std::to_string(plan->devices)),
      program(loaded.program(0)), addresses(plan->devices, plan->buffers.size()) {
  for (uint32_t rank = 0; rank < plan->devices; ++rank)
    arenas.emplace_back(plan->arena_size);
  for (size_t slot = 0; slot < plan->slots.size(); ++slot)
    for (uint32_t rank = 0; rank < plan->devices; ++rank)
      slots.emplace_back(program.layout(slot).localBytes());
  for (uint32_t buffer = 0; buffer < plan->buffers.size(); ++buffer)
    for (uint32_t rank = 0; rank < plan->devices; ++rank) {
      const plan::BufferT &place = *plan->buffers[buffer];
      addresses.set(rank, buffer,
                    place.slot < 0 ? arenas[rank].data() + place.offset
                                   : slots[size_t(place.slot) * plan->devices + rank].data());
    }
}

void LaneMachine::reset(uint64_t seed) {
  for (uint32_t rank = 0; rank < plan->devices; ++rank) {
    std::fill_n(arenas[rank].data(), plan->arena_size, std::byte(seed * 37 + rank));
    for (size_t slot = 0; slot < plan->slots.size(); ++slot) {
      const SlotLayout &layout = program.layout(slot);
      std::byte *place = slots[slot * plan->devices + rank].data();
      if (slot < loaded.numArguments())
        layout.copyToLocal(rank, arguments[slot].data(), place);
      else
        std::fill_n(place, layout.localBytes(), std::byte(seed * 41 + rank));
    }
  }
}

/// The storage of results that update a slot is that slot's: theirs is never written.
std::vector<std::byte> LaneMachine::slotBytes() const {
  std::vector<std::byte> bytes;
  for (size_t slot = 0; slot < plan->slots.size(); ++slot)
    for (uint32_t rank = 0; rank < plan->devices && plan->slots[slot]->updates < 0; ++rank) {
      const std::byte *place = slots[slot * plan->devices + rank].data();
      bytes.insert(bytes.end(), place, place + program.layout(slot).localBytes());
    }
  return bytes;
}

std::span<std::byte> LaneMachine::bytesOf(uint32_t rank, uint32_t buffer, uint64_t size) const {
  return {static_cast<std::byte *>(addresses.get(rank, buffer)), size};
}

/// Reads and spoils what compiled code is going to read and write. Collectives and copies are code that the
/// sanitizer sees.
void LaneMachine::touch(uint32_t rank, const plan::CommandT &command, uint8_t garbage) {
  if (const plan::LaunchT *launch = command.action.AsLaunch())
    touchLaunch(rank, *launch, garbage);
  if (const plan::ContractT *contract = command.action.AsContract())
    touchContract(rank, *contract, garbage);
}

void LaneMachine::touchLaunch(uint32_t rank, const plan::LaunchT &launch, uint8_t garbage) {
  const plan::KernelT &kernel = *plan->kernels[launch.kernel];
  for (uint32_t i = 0; i < kernel.num_inputs; ++i)
    read(bytesOf(rank, launch.buffers[i], kernel.operand_sizes[i]));
  for (uint32_t i = 0; i < kernel.num_outputs; ++i) {
    uint32_t buffer = launch.buffers[kernel.num_inputs + i];
    auto bytes = bytesOf(rank, buffer, kernel.operand_sizes[kernel.num_inputs + i]);
    int32_t input = kernel.in_place[i];
    bool inPlace = input >= 0 && addresses.get(rank, launch.buffers[size_t(input)]) == bytes.data();
    inPlace ? rewrite(bytes) : spoil(bytes, garbage);
  }
  if (kernel.workspace > 0)
    spoil(bytesOf(rank, launch.buffers.back(), kernel.workspace), garbage);
}

void LaneMachine::touchContract(uint32_t rank, const plan::ContractT &contract, uint8_t garbage) {
  auto each = [&](ContractOperand operand, uint32_t buffer, auto visit) {
    size_t width = elementBytes(typeOf(contract, operand));
    forEachElement(dimsOf(contract, operand), 0, [&](int64_t index) {
      visit(bytesOf(rank, buffer, size_t(index + 1) * width).subspan(size_t(index) * width));
    });
  };
  each(ContractOperand::a, contract.a, read);
  each(ContractOperand::b, contract.b, read);
  each(ContractOperand::c, contract.c,
       [&](std::span<std::byte> bytes) { contract.accumulate ? rewrite(bytes) : spoil(bytes, garbage); });
}

void LaneMachine::runCommand(uint32_t rank, uint32_t command, uint8_t garbage) {
  std::vector<void *> pointers(program.actions().numPointers());
  touch(rank, *plan->commands[command], garbage);
  program.actions().run(command, {program.topology(), addresses, rank, pointers.data()});
}

std::vector<std::byte> LaneMachine::runInProgramOrder() {
  reset(0);
  for (uint32_t command = 0; command < plan->commands.size(); ++command)
    for (uint32_t rank = 0; rank < plan->devices; ++rank)
      runCommand(rank, command, 0);
  return slotBytes();
}

/// One run on threads: which commands have ended on which ranks.
class LaneMachine::Run {
public:
  Run(LaneMachine &machine, uint64_t seed)
      : machine(machine), seed(seed), ended(machine.plan->devices * machine.plan->commands.size()) {}

  void run() {
    std::vector<std::jthread> threads;
    for (uint32_t rank = 0; rank < machine.plan->devices; ++rank)
      for (size_t lane = 0; lane < machine.plan->lanes.size(); ++lane)
        if (!machine.plan->lanes[lane]->commands.empty())
          threads.emplace_back([this, rank, lane] { runLane(rank, lane); });
  }

private:
  std::atomic<bool> &flag(uint32_t rank, uint32_t command) {
    return ended[rank * machine.plan->commands.size() + command];
  }

  void runLane(uint32_t rank, size_t lane) {
    std::mt19937_64 random(seed * 1000 + rank * 64 + lane);
    for (uint32_t command : machine.plan->lanes[lane]->commands) {
      for (const plan::Wait &wait : machine.plan->commands[command]->waits)
        await(rank, wait);
      if (random() % 4 == 0)
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 100));
      machine.runCommand(rank, command, uint8_t(random()));
      flag(rank, command).store(true, std::memory_order_release);
      flag(rank, command).notify_all();
    }
  }

  void await(uint32_t rank, const plan::Wait &wait) {
    if (wait.scope() == plan::WaitScope::self)
      return flag(rank, wait.command()).wait(false, std::memory_order_acquire);
    for (uint32_t member : machine.program.topology().members(wait.communicator(), rank))
      flag(member, wait.command()).wait(false, std::memory_order_acquire);
  }

  LaneMachine &machine;
  uint64_t seed;
  std::vector<std::atomic<bool>> ended;
};

std::vector<std::byte> LaneMachine::runFreely(uint64_t seed) {
  reset(seed);
  Run(*this, seed).run();
  return slotBytes();
}

} // namespace epl::runtime::test
