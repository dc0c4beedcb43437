#include "runtime/plan/build/Memory.h"

#include "runtime/plan/model/Access.h"
#include "runtime/plan/model/Lifetime.h"
#include "runtime/plan/model/Order.h"

#include <algorithm>
#include <numeric>

namespace epl::runtime {
namespace {

/// From which number of buffers on one order of placing them is tried: each takes the square of their number.
constexpr size_t manyBlocks = 4096;

/// An access reduced to what order needs: the command, and the ranks whose memory it is in.
struct Touch {
  uint32_t command;
  Scope scope;
};

/// Buffers at one place: one buffer, or a chain of outputs written over dying inputs.
struct Block {
  uint64_t size = 0;
  std::vector<Touch> touches;
  std::vector<uint32_t> writes; // commands
  uint64_t offset = 0;
};

uint64_t align(uint64_t size) { return (size + arenaAlignment - 1) / arenaAlignment * arenaAlignment; }

class Planner {
public:
  explicit Planner(plan::PlanT &plan)
      : plan(plan), order(Order::of(plan)), blocks(plan.buffers.size()), blockOf(plan.buffers.size()) {
    std::iota(blockOf.begin(), blockOf.end(), 0);
  }

  void run() {
    collectTouches();
    for (uint32_t command = 0; command < plan.commands.size(); ++command) {
      const plan::ActionUnion &action = plan.commands[command]->action;
      if (const plan::LaunchT *launch = action.AsLaunch())
        shareInPlace(command, *launch);
      else if (const plan::ReducePartT *reduce = action.AsReducePart())
        shareSources(command, *reduce);
    }
    collectConflicts();
    plan.arena_size = UINT64_MAX;
    for (auto measure : {&Planner::sizeOf, &Planner::areaOf})
      for (bool latestFirst : {false, true})
        if (plan.arena_size == UINT64_MAX || blocks.size() <= manyBlocks)
          placeAll(sorted(measure, latestFirst));
  }

private:
  bool inArena(uint32_t buffer) const { return plan.buffers[buffer]->slot < 0; }

  /// Whether a buffer stands for a block of the arena.
  bool isPlaced(uint32_t buffer) const {
    return inArena(buffer) && blockOf[buffer] == buffer && blocks[buffer].size > 0;
  }

  void collectTouches() {
    Mesh mesh(plan);
    for (uint32_t buffer = 0; buffer < blocks.size(); ++buffer)
      blocks[buffer].size = align(plan.buffers[buffer]->size);
    for (uint32_t command = 0; command < plan.commands.size(); ++command)
      for (const Access &access : accessesOf(plan, mesh, *plan.commands[command])) {
        Block &block = blocks[access.buffer];
        block.touches.push_back({command, access.remote ? order.scopeOf(access.communicator) : 0});
        if (access.write && (block.writes.empty() || block.writes.back() != command))
          block.writes.push_back(command);
      }
  }

  /// Whether everything that touches `first` ends before anything writes `second`. What reads `second` comes
  /// after a write of it, so it needs no look.
  bool precedes(const Block &first, const Block &second) const {
    return std::ranges::all_of(second.writes, [&](uint32_t write) {
      return std::ranges::all_of(
          first.touches, [&](Touch touch) { return order.before(touch.command, write, touch.scope); });
    });
  }

  /// Which blocks of the arena must not meet, once for all orders in which they are placed. In the order of
  /// first writes, those behind the end of a block have no conflict with it.
  void collectConflicts() {
    conflicts.assign(blocks.size(), std::vector<bool>(blocks.size()));
    std::vector<uint32_t> written; // nothing is in a block that no command writes
    for (uint32_t block = 0; block < blocks.size(); ++block)
      if (isPlaced(block) && !blocks[block].writes.empty())
        written.push_back(block);
    auto begin = [&](uint32_t block) { return std::ranges::min(blocks[block].writes); };
    std::ranges::sort(written, {}, begin);
    for (auto a = written.begin(); a != written.end(); ++a) {
      uint32_t end = endOf(blocks[*a]);
      for (auto b = a + 1; b != written.end() && begin(*b) < end; ++b)
        if (!precedes(blocks[*a], blocks[*b]) && !precedes(blocks[*b], blocks[*a]))
          conflicts[*a][*b] = conflicts[*b][*a] = true;
    }
  }

  /// The command from which on all commands, of every lane, begin after the last touch of a block.
  uint32_t endOf(const Block &block) const {
    uint32_t end = 0;
    for (Touch touch : block.touches)
      for (const auto &lane : plan.lanes) {
        auto after = std::ranges::partition_point(lane->commands, [&](uint32_t command) {
          return !order.before(touch.command, command, touch.scope);
        });
        uint32_t next = after == lane->commands.end() ? uint32_t(plan.commands.size()) : *after;
        end = std::max(end, next);
      }
    return end;
  }

  /// Lets each output of a launch that may be written over an input take the input's place.
  void shareInPlace(uint32_t command, const plan::LaunchT &launch) {
    const plan::KernelT &kernel = *plan.kernels[launch.kernel];
    for (uint32_t output = 0; output < kernel.num_outputs; ++output) {
      if (kernel.in_place[output] < 0)
        continue;
      uint32_t from = launch.buffers[size_t(kernel.in_place[output])];
      uint32_t to = launch.buffers[kernel.num_inputs + output];
      if (std::count(launch.buffers.begin(), launch.buffers.end(), from) == 1)
        share(command, from, to, 0);
    }
  }

  /// Lets each target of an all-reduce take the place of its source.
  void shareSources(uint32_t command, const plan::ReducePartT &reduce) {
    for (const plan::ReducedTensorT &tensor : reduce.tensors)
      if (std::ranges::count(reduce.tensors, tensor.source, &plan::ReducedTensorT::source) == 1)
        share(command, tensor.source, tensor.target, order.scopeOf(reduce.communicator));
  }

  /// Lets the output `to` of a command take the place of the input `from`, if that dies there. The command
  /// reads `from` on the ranks within `scope`.
  void share(uint32_t command, uint32_t from, uint32_t to, Scope scope) {
    if (from != to && inArena(from) && inArena(to) && dies(from, to, command, scope))
      merge(from, to);
  }

  /// Whether `command` is the last to touch the place of `from`, and `to` is a fresh buffer of the same size
  /// that it is the first to write.
  bool dies(uint32_t from, uint32_t to, uint32_t command, Scope scope) const {
    const Block &block = blocks[blockOf[from]], &output = blocks[to];
    if (plan.buffers[from]->size != plan.buffers[to]->size || blockOf[to] != to || output.writes.empty())
      return false;
    bool fresh = std::ranges::all_of(output.writes, [&](uint32_t write) {
      return write == command || order.before(command, write, scope);
    });
    return fresh && std::ranges::all_of(block.touches, [&](Touch touch) {
             return touch.command == command || order.before(touch.command, command, touch.scope);
           });
  }

  void merge(uint32_t from, uint32_t to) {
    Block &block = blocks[blockOf[from]], &output = blocks[to];
    block.touches.insert(block.touches.end(), output.touches.begin(), output.touches.end());
    block.writes.insert(block.writes.end(), output.writes.begin(), output.writes.end());
    output = {};
    blockOf[to] = blockOf[from];
  }

  uint64_t sizeOf(const Block &block) const { return block.size; }

  /// Size times life, as commands count it.
  uint64_t areaOf(const Block &block) const {
    if (block.touches.empty())
      return block.size;
    auto [first, last] = std::ranges::minmax(block.touches, {}, &Touch::command);
    return block.size * (last.command - first.command + 1);
  }

  /// The blocks of the arena, the largest by a measure first; equal ones in the order of their buffers, or
  /// in the opposite one. None of these orders is best for every plan.
  std::vector<uint32_t> sorted(uint64_t (Planner::*measure)(const Block &) const, bool latestFirst) const {
    std::vector<uint32_t> result;
    for (uint32_t buffer = 0; buffer < blocks.size(); ++buffer)
      if (isPlaced(buffer))
        result.push_back(buffer);
    std::ranges::sort(result, [&](uint32_t a, uint32_t b) {
      uint64_t left = (this->*measure)(blocks[a]), right = (this->*measure)(blocks[b]);
      return left != right ? left > right : latestFirst ? a > b : a < b;
    });
    return result;
  }

  /// Places the blocks in an order; the plan takes their places if these need less memory than those it has.
  void placeAll(const std::vector<uint32_t> &sorted) {
    placed.clear();
    uint64_t size = 0;
    for (uint32_t block : sorted)
      size = std::max(size, place(block));
    if (size >= plan.arena_size)
      return;
    plan.arena_size = size;
    for (uint32_t buffer = 0; buffer < blocks.size(); ++buffer)
      if (inArena(buffer))
        plan.buffers[buffer]->offset = blocks[blockOf[buffer]].offset;
  }

  /// Puts a block into the tightest gap between the placed blocks that it conflicts with, else behind them.
  /// Returns its end.
  uint64_t place(uint32_t index) {
    Block &block = blocks[index];
    uint64_t end = 0, best = 0, bestGap = UINT64_MAX;
    for (uint32_t other : placed) {
      const Block &obstacle = blocks[other];
      if (!conflicts[index][other])
        continue;
      if (obstacle.offset >= end + block.size && obstacle.offset - end < bestGap) {
        best = end;
        bestGap = obstacle.offset - end;
      }
      end = std::max(end, obstacle.offset + obstacle.size);
    }
    block.offset = bestGap == UINT64_MAX ? end : best;
    placed.insert(std::ranges::upper_bound(placed, block.offset, {},
                                           [&](uint32_t other) { return blocks[other].offset; }),
                  index);
    return block.offset + block.size;
  }

  plan::PlanT &plan;
  Order order;
  std::vector<Block> blocks;                // by buffer; blocks of slots stay unused
  std::vector<uint32_t> blockOf;            // of each buffer
  std::vector<uint32_t> placed;             // by offset
  std::vector<std::vector<bool>> conflicts; // of pairs of blocks
};

} // namespace

void planMemory(plan::PlanT &plan) { Planner(plan).run(); }

} // namespace epl::runtime
