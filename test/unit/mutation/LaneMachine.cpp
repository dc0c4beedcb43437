#include "test/unit/mutation/LaneMachine.h"

#include "runtime/plan/model/Access.h"
#include "runtime/plan/model/Mesh.h"
#include "runtime/plan/model/Summary.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
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
    : plan(std::move(source)), arguments(arguments), loaded(plan, openDevices(*plan, devicesText(*plan))),
      slots(loaded) {
  for (uint32_t index = 0; index < loaded.numPrograms(); ++index)
    addPart(index);
}

void LaneMachine::addPart(uint32_t index) {
  const Program &program = loaded.program(index);
  const plan::PlanT &own = program.plan();
  Part &part =
      parts.emplace_back(&own, &program, AddressTable(program.ranks(), own.devices, own.buffers.size()));
  for (uint32_t rank = 0; rank < own.devices; ++rank)
    part.arenas.emplace_back(own.arena_size);
  for (uint32_t slot = 0; slot < own.slots.size(); ++slot)
    for (uint32_t rank = 0; rank < own.devices; ++rank)
      part.slots.emplace_back(slots.layout({index, slot}).localBytes());
  for (uint32_t buffer = 0; buffer < own.buffers.size(); ++buffer)
    for (uint32_t rank = 0; rank < own.devices; ++rank) {
      BufferPlace place = placeOf(own, buffer);
      part.addresses.set(rank, buffer,
                         (place.slot < 0 ? part.arenas[rank].data() : part.slot(uint32_t(place.slot), rank)) +
                             place.offset);
    }
}

void LaneMachine::reset(uint64_t seed) {
  for (uint32_t index = 0; index < parts.size(); ++index) {
    Part &part = parts[index];
    for (uint32_t rank = 0; rank < part.plan->devices; ++rank) {
      std::fill_n(part.arenas[rank].data(), part.plan->arena_size, std::byte(seed * 37 + rank));
      for (uint32_t slot = 0; slot < part.plan->slots.size(); ++slot) {
        const SlotLayout &layout = slots.layout({index, slot});
        size_t whole = slots.wholeSlot({index, slot});
        if (whole < slots.numArguments())
          layout.copyToLocal(rank, arguments[whole].data(), part.slot(slot, rank));
        else
          std::fill_n(part.slot(slot, rank), layout.localBytes(), std::byte(seed * 41 + rank));
      }
    }
  }
}

/// The storage of results that update a slot is that slot's: theirs is never written.
std::vector<std::byte> LaneMachine::slotBytes() {
  std::vector<std::byte> bytes;
  for (size_t whole = 0; whole < plan->slots.size(); ++whole) {
    if (plan->slots[whole]->updates >= 0 || !slots.isHeldOnce(whole))
      continue;
    std::map<int64_t, Slots::PartSlot> held; // by their first rows: parts have no order
    for (Slots::PartSlot own : slots.partsOf(whole)) {
      const auto &rows = parts[own.part].plan->slots[own.slot]->caller_rows;
      held.emplace(rows ? rows->first() : 0, own);
    }
    for (auto [first, own] : held)
      for (uint32_t rank = 0; rank < parts[own.part].plan->devices; ++rank) {
        const std::byte *place = parts[own.part].slot(own.slot, rank);
        bytes.insert(bytes.end(), place, place + slots.layout(own).localBytes());
      }
  }
  return bytes;
}

std::span<std::byte> LaneMachine::Part::bytesOf(uint32_t rank, uint32_t buffer, uint64_t size) const {
  return {static_cast<std::byte *>(addresses.get(rank, buffer)), size};
}

/// Reads and spoils what compiled code is going to read and write. Collectives and copies are code that the
/// sanitizer sees.
void LaneMachine::Part::touch(uint32_t rank, const plan::CommandT &command, uint8_t garbage) {
  if (const plan::LaunchT *launch = command.action.AsLaunch())
    touchLaunch(rank, *launch, garbage);
  if (const plan::ContractT *contract = command.action.AsContract())
    touchContract(rank, *contract, garbage);
}

void LaneMachine::Part::touchLaunch(uint32_t rank, const plan::LaunchT &launch, uint8_t garbage) {
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

void LaneMachine::Part::touchContract(uint32_t rank, const plan::ContractT &contract, uint8_t garbage) {
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

void LaneMachine::Part::run(uint32_t rank, uint32_t command, uint8_t garbage) {
  std::vector<void *> pointers(program->numPointers());
  touch(rank, *plan->commands[command], garbage);
  if (Command *bound = program->command(command))
    bound->start({program->topology(), addresses, rank, pointers.data()});
  else if (const plan::PullT *pull = plan->commands[command]->action.AsPull())
    fill(rank, *pull);
}

/// What comes from outside is the same in each run.
void LaneMachine::Part::fill(uint32_t rank, const plan::PullT &pull) const {
  std::span<std::byte> bytes = bytesOf(rank, pull.target, plan->buffers[pull.target]->size);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = std::byte(31 * size_t(plan->buffers[pull.target]->slot + 1) + i);
}

/// A receive waits for the send of its message, a send for the receive of that whose place it takes.
std::optional<LaneMachine::Awaited> LaneMachine::awaitedBy(uint32_t part, uint32_t command) const {
  const Channels &channels = loaded.channels();
  if (auto received = parts[part].program->received(command))
    return Awaited{received->channel, channels.messages(received->channel)[received->index].send};
  auto sent = parts[part].program->sent(command);
  if (!sent || sent->index < channels.depth(sent->channel))
    return std::nullopt;
  uint32_t before = sent->index - channels.depth(sent->channel);
  return Awaited{sent->channel, channels.messages(sent->channel)[before].receive};
}

std::vector<std::byte> LaneMachine::runInProgramOrder() {
  reset(0);
  std::vector<uint32_t> next(parts.size());
  auto isReady = [&](uint32_t part) {
    std::optional<Awaited> awaited = awaitedBy(part, next[part]);
    return !awaited || awaited->command.command < next[awaited->command.part];
  };
  for (bool ran = true; ran;) {
    ran = false;
    for (uint32_t part = 0; part < parts.size(); ++part)
      for (; next[part] < parts[part].plan->commands.size() && isReady(part); ++next[part], ran = true)
        for (uint32_t rank = 0; rank < parts[part].plan->devices; ++rank)
          parts[part].run(rank, next[part], 0);
  }
  return slotBytes();
}

/// One run on threads: which commands have ended on which ranks of which parts.
class LaneMachine::Run {
public:
  Run(LaneMachine &machine, uint64_t seed) : machine(machine), seed(seed) {
    for (const Part &part : machine.parts)
      ended.emplace_back(part.plan->devices * part.plan->commands.size());
  }

  void run() {
    std::vector<std::jthread> threads;
    for (uint32_t part = 0; part < machine.parts.size(); ++part)
      for (uint32_t rank = 0; rank < machine.parts[part].plan->devices; ++rank)
        for (size_t lane = 0; lane < machine.parts[part].plan->lanes.size(); ++lane)
          if (!machine.parts[part].plan->lanes[lane]->commands.empty())
            threads.emplace_back([this, part, rank, lane] { runLane(part, rank, lane); });
  }

private:
  std::atomic<bool> &flag(uint32_t part, uint32_t rank, uint32_t command) {
    return ended[part][rank * machine.parts[part].plan->commands.size() + command];
  }

  void runLane(uint32_t index, uint32_t rank, size_t lane) {
    Part &part = machine.parts[index];
    std::mt19937_64 random(seed * 1000 + index * 4096 + rank * 64 + lane);
    for (uint32_t command : part.plan->lanes[lane]->commands) {
      for (const plan::Wait &wait : part.plan->commands[command]->waits)
        await(index, rank, wait);
      awaitOthers(index, rank, command);
      if (random() % 4 == 0)
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 100));
      part.run(rank, command, uint8_t(random()));
      flag(index, rank, command).store(true, std::memory_order_release);
      flag(index, rank, command).notify_all();
    }
  }

  void await(uint32_t part, uint32_t rank, const plan::Wait &wait) {
    if (wait.scope() == plan::WaitScope::self)
      return flag(part, rank, wait.command()).wait(false, std::memory_order_acquire);
    for (uint32_t member : machine.parts[part].program->topology().members(wait.communicator(), rank))
      flag(part, member, wait.command()).wait(false, std::memory_order_acquire);
  }

  void awaitOthers(uint32_t part, uint32_t rank, uint32_t command) {
    std::optional<Awaited> awaited = machine.awaitedBy(part, command);
    if (!awaited)
      return;
    const Channels &channels = machine.loaded.channels();
    auto ranks = channels.sender(awaited->channel) == awaited->command.part
                     ? channels.sources(awaited->channel, rank)
                     : channels.listeners(awaited->channel, rank);
    for (uint32_t other : ranks)
      flag(awaited->command.part, other, awaited->command.command).wait(false, std::memory_order_acquire);
  }

  LaneMachine &machine;
  uint64_t seed;
  std::vector<std::vector<std::atomic<bool>>> ended;
};

std::vector<std::byte> LaneMachine::runFreely(uint64_t seed) {
  reset(seed);
  Run(*this, seed).run();
  return slotBytes();
}

} // namespace epl::runtime::test
