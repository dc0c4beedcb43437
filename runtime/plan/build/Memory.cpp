#include "runtime/plan/build/Memory.h"

#include "runtime/plan/build/Frontier.h"
#include "runtime/plan/build/Gaps.h"
#include "runtime/plan/model/Access.h"
#include "runtime/plan/model/Lifetime.h"
#include "runtime/plan/model/Order.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace epl::runtime {
namespace {

/// Up to which number of blocks all orders of placing them are tried, whatever pairs that takes.
constexpr size_t manyBlocks = 4096;

/// Of more blocks one order is tried, if so few pairs are alive together, or each block with so many others.
constexpr uint64_t manyMeetings = uint64_t(1) << 24;
constexpr uint64_t manyNeighbours = 512;

/// Buffers at one place: one buffer, or a chain of outputs written over dying inputs.
struct Block {
  uint64_t size = 0;
  Frontier touches{true};
  Frontier writes{false};
  uint32_t first = UINT32_MAX, last = 0; // command that touches it
  uint32_t begin = 0, end = 0;           // from the first write to where all lanes are behind the last touch
  uint64_t offset = 0;
  bool placed = false;
};

/// Which of a fixed set of intervals of commands meet a given one. A segment tree: each interval is a member
/// of at most two nodes a level.
class LifeTree {
public:
  explicit LifeTree(uint32_t commands) : leaves(std::bit_ceil(commands + 1)), nodes(size_t(2) * leaves) {}

  void insert(uint32_t block, uint32_t begin, uint32_t end) {
    begins.emplace_back(begin, block);
    for (size_t low = begin + leaves, high = end + leaves; low < high; low /= 2, high /= 2) {
      if (low % 2 == 1)
        nodes[low++].push_back(block);
      if (high % 2 == 1)
        nodes[--high].push_back(block);
    }
  }

  /// After the last insertion.
  void sort() { std::ranges::sort(begins); }

  /// The blocks by where they begin.
  std::vector<uint32_t> inOrder() const {
    std::vector<uint32_t> blocks;
    blocks.reserve(begins.size());
    for (auto [begin, block] : begins)
      blocks.push_back(block);
    return blocks;
  }

  /// Visits each block that is alive at `begin`, and each that begins after it and before `end`.
  template <typename Visit> void visit(uint32_t begin, uint32_t end, const Visit &visit) const {
    for (size_t node = begin + leaves; node > 0; node /= 2)
      std::ranges::for_each(nodes[node], visit);
    auto next = std::ranges::upper_bound(begins, std::pair(begin, UINT32_MAX));
    for (; next != begins.end() && next->first < end; ++next)
      visit(next->second);
  }

private:
  size_t leaves;
  std::vector<std::vector<uint32_t>> nodes;
  std::vector<std::pair<uint32_t, uint32_t>> begins; // and blocks
};

uint64_t align(uint64_t size) { return (size + arenaAlignment - 1) / arenaAlignment * arenaAlignment; }

class Planner {
public:
  explicit Planner(plan::PlanT &plan)
      : plan(plan), order(Order::of(plan)), blocks(plan.buffers.size()), blockOf(plan.buffers.size()),
        lives(uint32_t(plan.commands.size())) {
    std::iota(blockOf.begin(), blockOf.end(), 0);
  }

  uint64_t run() {
    collectTouches();
    for (uint32_t command = 0; command < plan.commands.size(); ++command) {
      const plan::ActionUnion &action = plan.commands[command]->action;
      if (const plan::LaunchT *launch = action.AsLaunch())
        shareInPlace(command, *launch);
      else if (const plan::ReducePartT *part = action.AsReducePart())
        shareSources(command, *part);
      else if (const plan::ReduceToRootT *reduce = action.AsReduceToRoot())
        shareSources(command, *reduce);
    }
    collectLives();
    plan.arena_size = UINT64_MAX;
    bool areFew = blocks.size() <= manyBlocks;
    if (areFew || countMeetings() <= std::max(manyMeetings, manyNeighbours * blocks.size()))
      placeAll(sorted(&Planner::sizeOf, /*latestFirst=*/false));
    if (areFew) {
      placeAll(sorted(&Planner::sizeOf, /*latestFirst=*/true));
      placeAll(sorted(&Planner::areaOf, /*latestFirst=*/false));
      placeAll(sorted(&Planner::areaOf, /*latestFirst=*/true));
    }
    sweep();
    return compared;
  }

private:
  bool inArena(uint32_t buffer) const {
    return plan.buffers[buffer]->slot < 0 && plan.buffers[buffer]->view_of < 0;
  }

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
        Block &block = blocks[access.root];
        uint32_t lane = plan.commands[command]->lane;
        block.touches.add(lane, {command, access.remote ? order.scopeOf(access.communicator) : 0});
        block.first = std::min(block.first, command);
        block.last = command;
        if (access.write)
          block.writes.add(lane, {command, 0});
      }
  }

  /// Whether everything that touches `first` ends before anything writes `second`. What reads `second` comes
  /// after a write of it, so it needs no look.
  bool precedes(const Block &first, const Block &second) const {
    return second.writes.allOf([&](Touch write) {
      return first.touches.allOf(
          [&](Touch touch) { return order.before(touch.command, write.command, touch.scope); });
    });
  }

  /// Nothing is in a block that no command writes: it meets no other.
  void collectLives() {
    for (uint32_t index = 0; index < blocks.size(); ++index) {
      Block &block = blocks[index];
      if (!isPlaced(index) || block.writes.empty())
        continue;
      block.begin = block.writes.extreme();
      block.end = endOf(block);
      lives.insert(index, block.begin, block.end);
    }
    lives.sort();
  }

  /// The command from which on all commands, of every lane, begin after the last touch of a block.
  uint32_t endOf(const Block &block) const {
    uint32_t end = block.begin + 1;
    for (const auto &lane : plan.lanes)
      end = std::max(end, endIn(*lane, block));
    return end;
  }

  /// The same of one lane.
  uint32_t endIn(const plan::LaneT &lane, const Block &block) const {
    auto after = lane.commands.begin();
    for (const Extreme &touch : block.touches.each())
      after = std::partition_point(after, lane.commands.end(), [&](uint32_t command) {
        return !order.before(touch.outermost, command, touch.scope);
      });
    return after == lane.commands.end() ? uint32_t(plan.commands.size()) : *after;
  }

  /// Lets each output of a launch that may be written over an input take the input's place.
  void shareInPlace(uint32_t command, const plan::LaunchT &launch) {
    const plan::KernelT &kernel = *plan.kernels[launch.kernel];
    auto root = [&](uint32_t buffer) { return rootOf(plan, buffer); };
    for (uint32_t output = 0; output < kernel.num_outputs; ++output) {
      if (kernel.in_place[output] < 0)
        continue;
      uint32_t from = launch.buffers[size_t(kernel.in_place[output])];
      uint32_t to = launch.buffers[kernel.num_inputs + output];
      if (std::ranges::count(launch.buffers, from, root) == 1)
        share(command, from, to, 0);
    }
  }

  /// Lets each target of a reduction take the place of its source.
  template <typename ReduceT> void shareSources(uint32_t command, const ReduceT &reduce) {
    auto source = [&](const plan::ReducedTensorT &tensor) { return rootOf(plan, tensor.source); };
    for (const plan::ReducedTensorT &tensor : reduce.tensors)
      if (std::ranges::count(reduce.tensors, tensor.source, source) == 1)
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
    return output.writes.allOthers(command, [&](Touch write) {
      return order.before(command, write.command, scope);
    }) && block.touches.allOthers(command, [&](Touch touch) {
      return order.before(touch.command, command, touch.scope);
    });
  }

  void merge(uint32_t from, uint32_t to) {
    Block &block = blocks[blockOf[from]], &output = blocks[to];
    block.touches.add(output.touches);
    block.writes.add(output.writes);
    block.first = std::min(block.first, output.first);
    block.last = std::max(block.last, output.last);
    output = {};
    blockOf[to] = blockOf[from];
  }

  uint64_t sizeOf(const Block &block) const { return block.size; }

  /// Size times life, as commands count it.
  uint64_t areaOf(const Block &block) const {
    if (block.touches.empty())
      return block.size;
    return block.size * (block.last - block.first + 1);
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

  /// The lane of the first write of a block, if all others come behind it; else the one behind all lanes.
  uint32_t laneOf(const Block &block) const {
    bool isFirst = block.writes.allOf([&](Touch write) {
      return write.command == block.begin || order.before(block.begin, write.command, 0);
    });
    return isFirst ? plan.commands[block.begin]->lane : uint32_t(plan.lanes.size());
  }

  /// For each lane the blocks, by the command of it from which on their bytes are free; for the one behind
  /// all lanes, those that are free for each.
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>>
  endsByLane(const std::vector<uint32_t> &sorted) const {
    std::vector<std::vector<std::pair<uint32_t, uint32_t>>> ends(plan.lanes.size() + 1);
    for (uint32_t block : sorted) {
      for (uint32_t lane = 0; lane < plan.lanes.size(); ++lane)
        ends[lane].emplace_back(endIn(*plan.lanes[lane], blocks[block]), block);
      ends.back().emplace_back(blocks[block].end, block);
    }
    for (auto &each : ends)
      std::ranges::sort(each);
    return ends;
  }

  /// How many pairs of blocks are alive together.
  uint64_t countMeetings() const {
    std::vector<uint32_t> begun = lives.inOrder(), ends;
    ends.reserve(begun.size());
    for (uint32_t block : begun)
      ends.push_back(blocks[block].end);
    std::ranges::sort(ends);
    uint64_t meetings = 0, ended = 0;
    for (size_t i = 0; i < begun.size(); ++i) {
      while (ends[ended] <= blocks[begun[i]].begin)
        ++ended;
      meetings += i - ended;
    }
    return meetings;
  }

  /// Places the blocks in program order, each into the tightest gap that is free for the lane that writes it.
  void sweep() {
    std::vector<uint32_t> sorted = lives.inOrder();
    auto ends = endsByLane(sorted);
    std::vector<Gaps> gaps(ends.size());
    std::vector<size_t> freed(ends.size());
    uint64_t size = sizeOfUnwritten();
    for (uint32_t index : sorted) {
      Block &block = blocks[index];
      for (size_t lane = 0; lane < ends.size(); ++lane)
        for (; ends[lane][freed[lane]].first <= block.begin; ++freed[lane]) {
          const Block &dead = blocks[ends[lane][freed[lane]].second];
          gaps[lane].release(dead.offset, dead.size);
        }
      block.offset = gaps[laneOf(block)].find(block.size);
      for (Gaps &each : gaps)
        each.occupy(block.offset, block.size);
      size = std::max(size, block.offset + block.size);
    }
    take(size);
  }

  /// Nothing is in these: they lie where the arena begins.
  uint64_t sizeOfUnwritten() {
    uint64_t size = 0;
    for (uint32_t index = 0; index < blocks.size(); ++index)
      if (isPlaced(index) && blocks[index].writes.empty()) {
        blocks[index].offset = 0;
        size = std::max(size, blocks[index].size);
      }
    return size;
  }

  /// Places the blocks in an order; the plan takes their places if these need less memory than those it has.
  void placeAll(const std::vector<uint32_t> &sorted) {
    for (Block &block : blocks)
      block.placed = false;
    uint64_t size = 0;
    for (uint32_t block : sorted)
      size = std::max(size, place(block));
    take(size);
  }

  /// Gives the plan the places of the blocks, if they need less memory than those that it has.
  void take(uint64_t size) {
    if (size >= plan.arena_size)
      return;
    plan.arena_size = size;
    for (uint32_t buffer = 0; buffer < blocks.size(); ++buffer)
      if (inArena(buffer))
        plan.buffers[buffer]->offset = blocks[blockOf[buffer]].offset;
  }

  /// The placed blocks that a block must not meet, by offset.
  std::vector<const Block *> obstaclesOf(const Block &block) {
    std::vector<const Block *> obstacles;
    lives.visit(block.begin, block.end, [&](uint32_t other) {
      ++compared;
      const Block &obstacle = blocks[other];
      if (obstacle.placed && !precedes(block, obstacle) && !precedes(obstacle, block))
        obstacles.push_back(&obstacle);
    });
    std::ranges::sort(obstacles, {}, &Block::offset);
    return obstacles;
  }

  /// Puts a block into the tightest gap between the placed blocks that it conflicts with, else behind them.
  /// Returns its end.
  uint64_t place(uint32_t index) {
    Block &block = blocks[index];
    uint64_t end = 0, best = 0, bestGap = UINT64_MAX;
    if (!block.writes.empty())
      for (const Block *obstacle : obstaclesOf(block)) {
        if (obstacle->offset >= end + block.size && obstacle->offset - end < bestGap) {
          best = end;
          bestGap = obstacle->offset - end;
        }
        end = std::max(end, obstacle->offset + obstacle->size);
      }
    block.offset = bestGap == UINT64_MAX ? end : best;
    block.placed = true;
    return block.offset + block.size;
  }

  plan::PlanT &plan;
  Order order;
  std::vector<Block> blocks;     // by buffer; blocks of slots and views stay unused
  std::vector<uint32_t> blockOf; // of each buffer
  LifeTree lives;                // of the blocks that are placed and written
  uint64_t compared = 0;         // pairs of blocks
};

} // namespace

uint64_t planMemory(plan::PlanT &plan) { return Planner(plan).run(); }

} // namespace epl::runtime
