#include "test/unit/plan/Simulator.h"

#include "runtime/plan/model/Access.h"
#include "runtime/plan/model/Mesh.h"

#include <algorithm>
#include <random>
#include <set>

namespace epl::runtime::test {
namespace {

uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9e3779b97f4a7c15u ^ (b + 0x7f4a7c159e3779b9u);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// A byte of a rank's memory and the value it gets.
struct Write {
  uint64_t address;
  uint64_t value;
};

class Machine {
public:
  Machine(const plan::PlanT &plan, uint64_t seed) : plan(plan), mesh(plan) {
    uint64_t size = plan.arena_size;
    for (const auto &buffer : plan.buffers) {
      base.push_back(buffer->slot < 0 ? buffer->offset : size);
      size += buffer->slot < 0 ? 0 : buffer->size;
    }
    for (uint32_t buffer = 0; buffer < base.size(); ++buffer)
      if (uint32_t root = rootOf(plan, buffer); root != buffer)
        base[buffer] += base[root];
    memory.resize(mesh.devices());
    skipped.resize(mesh.devices(), std::vector<bool>(plan.commands.size()));
    for (uint32_t rank = 0; rank < mesh.devices(); ++rank)
      for (uint64_t address = 0; address < size; ++address)
        memory[rank].push_back(mix(mix(rank, address), seed));
    for (size_t buffer = 0; buffer < base.size(); ++buffer)
      if (plan.buffers[buffer]->slot >= 0 && isGiven(role(buffer)))
        fillArgument(buffer);
  }

  /// What the command writes on the rank, from what memory holds now.
  std::vector<Write> compute(uint32_t rank, uint32_t command) {
    const plan::ActionUnion &action = plan.commands[command]->action;
    self = rank;
    reads.clear();
    writes.clear();
    if (!isOwner(rank, plan.commands[command]->owner.get()))
      return {};
    skipped[rank][command] = !isTaken(rank, *plan.commands[command]);
    if (skipped[rank][command])
      return {};
    if (const plan::LaunchT *launch = action.AsLaunch())
      runLaunch(rank, command, *launch);
    else if (const plan::ContractT *contract = action.AsContract())
      runContract(rank, *contract);
    else if (const plan::ReducePartT *reduce = action.AsReducePart())
      runReducePart(rank, *reduce);
    else if (const plan::GatherPartsT *gather = action.AsGatherParts())
      runGatherParts(rank, *gather);
    else if (const plan::GatherBlocksT *blocks = action.AsGatherBlocks())
      runGatherBlocks(rank, *blocks);
    else if (const plan::ReduceBlocksT *reduce = action.AsReduceBlocks())
      runReduceBlocks(rank, *reduce);
    else if (const plan::ReduceToRootT *toRoot = action.AsReduceToRoot())
      runReduceToRoot(rank, *toRoot);
    else if (const plan::CopyFromRootT *fromRoot = action.AsCopyFromRoot())
      runCopyFromRoot(rank, *fromRoot);
    else if (const plan::ExchangeBlocksT *exchange = action.AsExchangeBlocks())
      runExchange(rank, *exchange);
    else if (const plan::CopyT *copy = action.AsCopy())
      for (uint64_t i = 0; i < copy->size; ++i)
        put(copy->target, copy->to + i, read(rank, copy->source, copy->from + i));
    else if (const plan::PullT *pull = action.AsPull())
      for (uint64_t i = 0; i < plan.buffers[pull->target]->size; ++i)
        put(pull->target, i, mix(uint64_t(plan.buffers[pull->target]->slot), i));
    return writes;
  }

  void store(uint32_t rank, const std::vector<Write> &values) {
    for (Write write : values)
      memory[rank][write.address] = write.value;
  }

  /// Spoils what a running command is about to write, but for what it reads itself.
  void spoil(uint32_t rank, std::vector<Write> values, uint64_t seed) {
    std::erase_if(values, [&](Write write) { return reads.contains(write.address); });
    for (Write &write : values)
      write.value = mix(write.value, seed);
    store(rank, values);
  }

  Outcome outcome() const {
    Outcome values;
    for (const std::vector<uint64_t> &bytes : memory)
      values.insert(values.end(), bytes.begin() + int64_t(plan.arena_size), bytes.end());
    return values;
  }

  const Mesh &ranks() const { return mesh; }

private:
  static bool isGiven(plan::SlotRole role) {
    return role != plan::SlotRole::result && role != plan::SlotRole::pulled && role != plan::SlotRole::pushed;
  }
  plan::SlotRole role(size_t buffer) const { return plan.slots[size_t(plan.buffers[buffer]->slot)]->role; }

  void fillArgument(size_t buffer) {
    for (uint32_t rank = 0; rank < mesh.devices(); ++rank)
      for (uint64_t i = 0; i < plan.buffers[buffer]->size; ++i)
        memory[rank][base[buffer] + i] = mix(mix(rank, buffer), i);
  }

  uint64_t read(uint32_t rank, uint32_t buffer, uint64_t offset) {
    if (rank == self)
      reads.insert(base[buffer] + offset);
    return memory[rank][base[buffer] + offset];
  }

  void put(uint32_t buffer, uint64_t offset, uint64_t value) {
    writes.push_back({base[buffer] + offset, value});
  }

  bool isOwner(uint32_t rank, const plan::Owner *owner) const {
    return !owner || mesh.memberIndex(owner->communicator(), rank) == owner->member();
  }

  /// A predicate is true where the digest is odd.
  bool isTaken(uint32_t rank, const plan::CommandT &command) {
    return std::ranges::all_of(command.guards, [&](const plan::Guard &guard) {
      return (read(rank, guard.buffer(), 0) % 2 == 1) == guard.expected();
    });
  }

  /// Whether a command that was skipped should have written an operand. A kernel that selects does not read
  /// it.
  bool isMissing(uint32_t rank, uint32_t command, uint32_t operand) const {
    return std::ranges::any_of(plan.commands[command]->origins, [&](const plan::Origin &origin) {
      return origin.operand() == operand && origin.command() >= 0 && skipped[rank][size_t(origin.command())];
    });
  }

  /// Every output byte depends on every input byte, or, where the kernel works in place, on its own input
  /// byte.
  void runLaunch(uint32_t rank, uint32_t command, const plan::LaunchT &launch) {
    const plan::KernelT &kernel = *plan.kernels[launch.kernel];
    uint64_t digest = launch.kernel;
    std::vector<bool> elementwise(kernel.num_inputs);
    for (uint32_t i = 0; i < kernel.num_inputs; ++i)
      elementwise[i] = isMissing(rank, command, i);
    for (int32_t input : kernel.in_place)
      if (input >= 0)
        elementwise[size_t(input)] = true;
    for (uint32_t i = 0; i < kernel.num_inputs; ++i)
      for (uint64_t byte = 0; byte < kernel.operand_sizes[i] && !elementwise[i]; ++byte)
        digest = mix(digest, read(rank, launch.buffers[i], byte));
    for (size_t i = kernel.num_inputs; i < launch.buffers.size(); ++i) {
      size_t output = i - kernel.num_inputs;
      int32_t input = output < kernel.num_outputs ? kernel.in_place[output] : -1;
      uint64_t size = output < kernel.num_outputs ? kernel.operand_sizes[i] : kernel.workspace;
      for (uint64_t byte = 0; byte < size; ++byte)
        put(launch.buffers[i], byte,
            mix(mix(digest, i * 1000 + byte), input < 0 || isMissing(rank, command, uint32_t(input))
                                                  ? 0
                                                  : read(rank, launch.buffers[size_t(input)], byte)));
    }
  }

  void runContract(uint32_t rank, const plan::ContractT &contract) {
    uint64_t bytes = elementBytes(contract.type), digest = 0;
    auto operand = [&](uint32_t buffer, bool transposed, int64_t rows, int64_t columns, int64_t leading) {
      for (int64_t i = 0; i < (transposed ? columns : rows); ++i)
        for (int64_t j = 0; j < (transposed ? rows : columns); ++j)
          for (uint64_t byte = 0; byte < bytes; ++byte)
            digest = mix(digest, read(rank, buffer, uint64_t(i * leading + j) * bytes + byte));
    };
    operand(contract.a, contract.transpose_a, contract.m, contract.k, contract.lda);
    operand(contract.b, contract.transpose_b, contract.k, contract.n, contract.ldb);
    bytes = elementBytes(typeOf(contract, ContractOperand::c));
    for (int64_t i = 0; i < contract.m; ++i)
      for (uint64_t byte = 0; byte < uint64_t(contract.n) * bytes; ++byte) {
        uint64_t at = uint64_t(i * contract.ldc) * bytes + byte;
        put(contract.c, at, mix(mix(digest, at), contract.accumulate ? read(rank, contract.c, at) : 0));
      }
  }

  void runReducePart(uint32_t rank, const plan::ReducePartT &reduce) {
    std::vector<uint32_t> members = mesh.members(reduce.communicator, rank);
    for (const plan::ReducedTensorT &tensor : reduce.tensors) {
      uint64_t bytes = elementBytes(tensor.type);
      ElementRange part =
          partOf(tensor.count, mesh.memberIndex(reduce.communicator, rank), uint32_t(members.size()));
      for (uint64_t i = uint64_t(part.begin) * bytes; i < uint64_t(part.end) * bytes; ++i) {
        uint64_t value = uint64_t(reduce.reduction);
        for (uint32_t member : members)
          value = mix(value, read(member, tensor.source, i));
        put(tensor.target, i, value);
      }
    }
  }

  void runGatherParts(uint32_t rank, const plan::GatherPartsT &gather) {
    std::vector<uint32_t> members = mesh.members(gather.communicator, rank);
    for (const plan::GatheredTensorT &tensor : gather.tensors) {
      uint64_t bytes = elementBytes(tensor.type);
      for (uint32_t index = 0; index < members.size(); ++index) {
        ElementRange part = partOf(tensor.count, index, uint32_t(members.size()));
        for (uint64_t i = uint64_t(part.begin) * bytes; i < uint64_t(part.end) * bytes; ++i)
          if (members[index] != rank)
            put(tensor.buffer, i, read(members[index], tensor.buffer, i));
      }
    }
  }

  /// The whole tensor, as a part that the root owns.
  void runReduceToRoot(uint32_t rank, const plan::ReduceToRootT &reduce) {
    if (mesh.memberIndex(reduce.communicator, rank) != reduce.root)
      return;
    for (const plan::ReducedTensorT &tensor : reduce.tensors)
      for (uint64_t i = 0; i < uint64_t(tensor.count) * elementBytes(tensor.type); ++i) {
        uint64_t value = uint64_t(reduce.reduction);
        for (uint32_t member : mesh.members(reduce.communicator, rank))
          value = mix(value, read(member, tensor.source, i));
        put(tensor.target, i, value);
      }
  }

  void runCopyFromRoot(uint32_t rank, const plan::CopyFromRootT &copy) {
    if (mesh.memberIndex(copy.communicator, rank) == copy.root)
      return;
    uint32_t root = mesh.members(copy.communicator, rank)[copy.root];
    for (const plan::GatheredTensorT &tensor : copy.tensors)
      for (uint64_t i = 0; i < uint64_t(tensor.count) * elementBytes(tensor.type); ++i)
        put(tensor.buffer, i, read(root, tensor.buffer, i));
  }

  void runGatherBlocks(uint32_t rank, const plan::GatherBlocksT &gather) {
    std::vector<uint32_t> members = mesh.members(gather.communicator, rank);
    for (const plan::GatheredBlocksT &tensor : gather.tensors) {
      uint64_t inner = uint64_t(tensor.inner) * elementBytes(tensor.type);
      for (uint64_t outer = 0; outer < uint64_t(tensor.outer); ++outer)
        for (uint64_t index = 0; index < members.size(); ++index)
          for (uint64_t i = 0; i < inner; ++i)
            put(tensor.target, (outer * members.size() + index) * inner + i,
                read(members[index], tensor.source, outer * inner + i));
    }
  }

  using Index = std::vector<int64_t>;
  using Shardings = std::vector<std::unique_ptr<plan::DimShardingT>>;

  /// Where the part of a rank begins, and its extents.
  std::pair<Index, Index> partAt(const Index &shape, const Shardings &sharding, uint32_t rank) const {
    Index begin, extents = shape;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      int64_t part = 0;
      for (const std::string &name : sharding[dim]->axes)
        for (size_t axis = 0; axis < plan.axes.size(); ++axis)
          if (plan.axes[axis]->name == name) {
            extents[dim] /= plan.axes[axis]->size;
            part = part * plan.axes[axis]->size + mesh.coordinates(rank)[axis];
          }
      begin.push_back(part * extents[dim]);
    }
    return {begin, extents};
  }

  /// Calls `visit` with each index of a tensor and its place in row-major order.
  template <typename Visit> static void forEachIndex(const Index &extents, const Visit &visit) {
    int64_t count = 1;
    for (int64_t extent : extents)
      count *= extent;
    for (int64_t place = 0; place < count; ++place) {
      Index index(extents.size());
      int64_t rest = place;
      for (size_t dim = extents.size(); dim-- > 0; rest /= extents[dim])
        index[dim] = rest % extents[dim];
      visit(index, place);
    }
  }

  /// The place of a global index in a part that begins at `begin`; -1 if it is not there.
  static int64_t placeIn(const Index &global, const Index &begin, const Index &extents) {
    int64_t place = 0;
    for (size_t dim = 0; dim < global.size(); ++dim) {
      int64_t local = global[dim] - begin[dim];
      if (local < 0 || local >= extents[dim])
        return -1;
      place = place * extents[dim] + local;
    }
    return place;
  }

  static Index sum(const Index &a, Index b) {
    for (size_t dim = 0; dim < a.size(); ++dim)
      b[dim] += a[dim];
    return b;
  }

  void runReduceBlocks(uint32_t rank, const plan::ReduceBlocksT &reduce) {
    for (const plan::ReducedBlocksT &tensor : reduce.tensors) {
      auto [begin, extents] = partAt(tensor.shape, tensor.sharding, rank);
      uint64_t bytes = elementBytes(tensor.type);
      forEachIndex(extents, [&, &begin = begin](const Index &index, int64_t place) {
        int64_t source = placeIn(sum(begin, index), Index(index.size()), tensor.shape);
        for (uint64_t byte = 0; byte < bytes; ++byte) {
          uint64_t value = uint64_t(reduce.reduction);
          for (uint32_t member : mesh.members(reduce.communicator, rank))
            value = mix(value, read(member, tensor.source, uint64_t(source) * bytes + byte));
          put(tensor.target, uint64_t(place) * bytes + byte, value);
        }
      });
    }
  }

  /// Among the members that hold an element, itself first, then the one with the fewest other coordinates.
  void runExchange(uint32_t rank, const plan::ExchangeBlocksT &exchange) {
    auto [begin, extents] = partAt(exchange.shape, exchange.to, rank);
    std::vector<uint32_t> members = mesh.members(exchange.communicator, rank);
    std::ranges::sort(members, {}, [&](uint32_t member) { return distance(member, rank); });
    uint64_t bytes = elementBytes(exchange.type);
    forEachIndex(extents, [&, &begin = begin](const Index &index, int64_t place) {
      for (uint32_t member : members) {
        auto [from, held] = partAt(exchange.shape, exchange.from, member);
        int64_t source = placeIn(sum(begin, index), from, held);
        if (source < 0)
          continue;
        for (uint64_t byte = 0; byte < bytes; ++byte)
          put(exchange.target, uint64_t(place) * bytes + byte,
              read(member, exchange.source, uint64_t(source) * bytes + byte));
        return;
      }
    });
  }

  /// On how many axes two ranks differ.
  int64_t distance(uint32_t a, uint32_t b) const {
    Index left = mesh.coordinates(a), right = mesh.coordinates(b);
    int64_t count = 0;
    for (size_t axis = 0; axis < left.size(); ++axis)
      count += left[axis] != right[axis];
    return count;
  }

  const plan::PlanT &plan;
  Mesh mesh;
  std::vector<uint64_t> base;                // address of each buffer
  std::vector<std::vector<uint64_t>> memory; // of each rank: arena, then slots
  std::vector<std::vector<bool>> skipped;    // of each rank: the commands whose guards did not hold
  uint32_t self = 0;                         // the rank of the last computed command
  std::set<uint64_t> reads;                  // addresses that it read in its own memory
  std::vector<Write> writes;                 // of it
};

/// The instances of all commands on all ranks, with the instances that each still waits for.
class Schedule {
public:
  Schedule(const plan::PlanT &plan, const Mesh &mesh) : commands(plan.commands.size()) {
    waiting.resize(size_t(mesh.devices()) * commands);
    followers.resize(waiting.size());
    for (uint32_t rank = 0; rank < mesh.devices(); ++rank) {
      for (const auto &lane : plan.lanes)
        for (size_t i = 1; i < lane->commands.size(); ++i)
          add(instance(rank, lane->commands[i - 1]), instance(rank, lane->commands[i]));
      for (uint32_t command = 0; command < commands; ++command)
        for (const plan::Wait &wait : plan.commands[command]->waits)
          for (uint32_t other : wait.scope() == plan::WaitScope::self
                                    ? std::vector<uint32_t>{rank}
                                    : mesh.members(wait.communicator(), rank))
            add(instance(other, wait.command()), instance(rank, command));
    }
  }

  size_t instance(uint32_t rank, uint32_t command) const { return rank * commands + command; }
  uint32_t rankOf(size_t instance) const { return uint32_t(instance / commands); }
  uint32_t commandOf(size_t instance) const { return uint32_t(instance % commands); }

  std::vector<size_t> initial() const {
    std::vector<size_t> ready;
    for (size_t i = 0; i < waiting.size(); ++i)
      if (waiting[i] == 0)
        ready.push_back(i);
    return ready;
  }

  void end(size_t instance, std::vector<size_t> &ready) {
    for (size_t follower : followers[instance])
      if (--waiting[follower] == 0)
        ready.push_back(follower);
  }

private:
  void add(size_t from, size_t to) {
    followers[from].push_back(to);
    ++waiting[to];
  }

  size_t commands;
  std::vector<uint32_t> waiting;
  std::vector<std::vector<size_t>> followers;
};

bool sameWrites(const std::vector<Write> &a, const std::vector<Write> &b) {
  return std::ranges::equal(a, b,
                            [](Write x, Write y) { return x.address == y.address && x.value == y.value; });
}

} // namespace

Outcome runInProgramOrder(const plan::PlanT &plan) {
  Machine machine(plan, 0);
  for (uint32_t command = 0; command < plan.commands.size(); ++command) {
    // The members of a collective run together: all read, then all write.
    std::vector<std::vector<Write>> writes;
    for (uint32_t rank = 0; rank < machine.ranks().devices(); ++rank)
      writes.push_back(machine.compute(rank, command));
    for (uint32_t rank = 0; rank < machine.ranks().devices(); ++rank)
      machine.store(rank, writes[rank]);
  }
  return machine.outcome();
}

Outcome runInRandomOrder(const plan::PlanT &plan, uint64_t seed) {
  Machine machine(plan, seed);
  Schedule schedule(plan, machine.ranks());
  std::mt19937_64 random(seed);
  struct Running {
    size_t instance;
    std::vector<Write> writes;
  };
  std::vector<size_t> ready = schedule.initial();
  std::vector<Running> running;
  while (!ready.empty() || !running.empty()) {
    size_t choice = random() % (ready.size() + running.size());
    if (choice < ready.size()) {
      size_t instance = std::exchange(ready[choice], ready.back());
      ready.pop_back();
      uint32_t rank = schedule.rankOf(instance);
      running.push_back({instance, machine.compute(rank, schedule.commandOf(instance))});
      machine.spoil(rank, running.back().writes, seed);
      continue;
    }
    Running done = std::exchange(running[choice - ready.size()], running.back());
    running.pop_back();
    uint32_t rank = schedule.rankOf(done.instance);
    std::vector<Write> again = machine.compute(rank, schedule.commandOf(done.instance));
    if (!sameWrites(done.writes, again))
      for (Write &write : again)
        write.value = mix(write.value, random()); // inputs changed while the command ran
    machine.store(rank, again);
    schedule.end(done.instance, ready);
  }
  return machine.outcome();
}

plan::PlanT withoutReuse(const plan::PlanT &plan) {
  plan::PlanT result = plan;
  result.arena_size = 0;
  for (const auto &buffer : result.buffers)
    if (buffer->slot < 0 && buffer->view_of < 0) {
      buffer->offset = result.arena_size;
      result.arena_size += (buffer->size + 63) / 64 * 64;
    }
  for (const auto &part : result.parts)
    *part->plan = withoutReuse(*part->plan);
  return result;
}

} // namespace epl::runtime::test
