//===- ThreadPlan.cpp - How threads of a GPU share a plan's loops ----------------===//
//
// Problem: the loops of a plan must keep all of a GPU busy, and its memory above all: enough threads, each
// with several accesses on their way, and no byte read twice.
//
// Method: a thread takes 16 bytes at once. A row stays in the registers of as few threads as can hold it.
// Blocks add up strips of rows that are so long that the strips' sums are little beside what the rows are;
// another launch adds those up, always in the same order. Each nest of a plan needs what the one before has
// stored: another launch.
//
// In: a plan with its init stages, "in parts" (planFusion). Out: launches that compute it.
//
// Reference: docs/design.md, section 6, "Code for GPUs".
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/nest/ThreadPlan.h"

#include "dialect/Bytes.h"
#include "passes/kernel/nest/StageEmitter.h"

using namespace mlir;
using namespace mlir::epl;

// Elements of a run at most.
static constexpr int64_t kMostRun = 8;
// Elements of a thread in one step: at most so many, and so many times the ops on each.
static constexpr int64_t kMostLanes = 32, kMostOpsOfStep = 512;
// Ops on an element, such as the rounds of a random number, that take longer than memory does.
static constexpr int64_t kManyOps = 100;
// Accesses of a chunk that are on their way together, for each operand.
static constexpr int64_t kAccessesOfChunk = 2;
// Threads of a block that share a row at most, and that share a strip.
static constexpr int64_t kMostThreads = 512, kThreadsOfStrip = 256;
// Groups that a large GPU runs at a time, and rows that each of them takes where rows have operands in
// common.
static constexpr int64_t kGroupsAtOnce = 2048, kMostRowsOfGroup = 16;
// Strips at most; and elements of rows that a strip reads and writes for each element of its sums, which is
// stored and loaded once more: 2 %.
static constexpr int64_t kMostStrips = 512, kElementsOfSum = 100;
// Bytes of shared memory of a block for sums, of 48 KiB that any GPU has.
static constexpr int64_t kSharedOfSums = 32 << 10;

//===----------------------------------------------------------------------===//
// What stages are like
//===----------------------------------------------------------------------===//

SmallVector<RowSum> mlir::epl::getRowSums(Nest &nest) {
  SmallVector<RowSum> sums;
  for (Stage &stage : nest.stages)
    for (Root &root : stage.roots)
      for (unsigned result = 0; stage.rowRank > 0 && root.isAccumulating() && result < root.values.size();
           ++result)
        sums.push_back({&stage, &root, result});
  return sums;
}

static int64_t getInnermostSize(const Stage &stage) {
  return stage.domain.size() > stage.rowRank ? stage.domain.back() : 1;
}

template <typename Visit> static void forEachLoad(Stage &stage, Visit visit) {
  for (Element &node : stage.expressions->getNodes())
    if (node.kind == Element::Kind::load)
      visit(node);
}

static int64_t countMostOps(ArrayRef<Stage *> stages) {
  int64_t ops = 1;
  for (Stage *stage : stages)
    ops = std::max(ops, countOps(*stage));
  return ops;
}

// Elements of a run: 16 bytes of the widest type. One where arithmetic, not memory, is what takes the time.
static int64_t chooseRun(ArrayRef<Stage *> stages) {
  int64_t bits = kAccessBits / kMostRun;
  auto widen = [&](Value tensor) {
    Type stored = getStorageType(getElementTypeOrSelf(tensor));
    bits = std::max<int64_t>(bits, stored.getIntOrFloatBitWidth());
  };
  for (Stage *stage : stages) {
    for (Root &root : stage->roots)
      llvm::for_each(root.values, widen);
    forEachLoad(*stage, [&](Element &node) { widen(node.tensor); });
  }
  return countMostOps(stages) > kManyOps ? 1 : kAccessBits / bits;
}

// Elements of a step, of which the code has a copy for each.
static int64_t chooseLanes(ArrayRef<Stage *> stages, int64_t run) {
  int64_t ops = countMostOps(stages);
  int64_t most = llvm::bit_floor(uint64_t(std::max(kMostOpsOfStep / ops, run)));
  return ops > kManyOps ? 1 : std::min(most, kMostLanes);
}

static SmallVector<Stage *> getStages(Nest &nest) {
  return llvm::map_to_vector(nest.stages, [](Stage &stage) { return &stage; });
}

// Whether a sum over rows has elements of its own for each lane of a thread, or one, whatever the row.
static bool isRowSum(const Stage &stage, const Root &root) {
  int64_t elements = 1;
  for (auto [dim, size] : llvm::enumerate(stage.domain))
    elements *= root.reduced[dim] ? 1 : size;
  auto reducesRows = [&] {
    return llvm::all_of(ArrayRef(root.reduced).take_front(stage.rowRank),
                        [](bool reduced) { return reduced; });
  };
  auto isWhole = [&](Value value) {
    return cast<RankedTensorType>(value.getType()).getNumElements() == elements;
  };
  auto isCombined = [&](unsigned result) { return matchCombiner(root.reduction, result) != nullptr; };
  return stage.domain.size() <= stage.rowRank + 1 && reducesRows() && llvm::all_of(root.values, isWhole) &&
         llvm::all_of(llvm::seq<unsigned>(0, root.values.size()), isCombined);
}

// Whether threads can share the innermost loop of a stage: what it adds up stays in registers.
static bool canShare(Stage &stage, bool inPlace) {
  auto isShared = [&](Root &root) {
    if (root.reduction)
      return root.isAccumulating() && stage.rowRank > 0 ? isRowSum(stage, root)
                                                        : isReducedInRegisters(stage, root);
    return !inPlace || getInnermostSize(stage) == 1 || root.stores[0].strides.back() == 1;
  };
  return llvm::all_of(stage.roots, isShared);
}

//===----------------------------------------------------------------------===//
// Chunks and rows
//===----------------------------------------------------------------------===//

static ThreadPhase planChunks(FusionPlan &plan) {
  SmallVector<Stage *> stages = llvm::map_to_vector(plan.nests, [](Nest &nest) { return &nest.stages[0]; });
  ThreadPhase phase{ThreadPhase::Kind::chunks};
  phase.group = kBlockThreads;
  phase.run = chooseRun(stages);
  phase.mostLanes = std::min(chooseLanes(stages, phase.run), kAccessesOfChunk * phase.run);
  int64_t chunk = phase.group * phase.mostLanes;
  if (stages.size() == 1) { // the size is in the grid alone: tensors of other sizes have the same code
    phase.extent = stages[0]->getVolume();
    phase.slice = chunk;
    return phase;
  }
  int64_t chunks = 0;
  for (Stage *stage : stages)
    chunks += llvm::divideCeil(stage->getVolume(), chunk);
  phase.extent = std::max<int64_t>(chunks, 1); // of scalars alone
  return phase;
}

// Whether all rows read the same elements of an operand, different ones along the row.
static bool sharesOperands(Stage *stage) {
  bool shares = false;
  forEachLoad(*stage, [&](Element &node) {
    RowElements elements(node.tensor, node.access, *stage);
    shares |= !stage->stored.contains(node.tensor) && elements.isOfAllRows() && !elements.inner.empty();
  });
  return shares;
}

// Elements that a row reads and writes, at least.
static int64_t countRowElements(ArrayRef<Stage *> stages) {
  DenseSet<Value> tensors;
  int64_t elements = 1;
  auto add = [&](Value tensor, const StridedAccess &access, Stage &stage) {
    RowElements row(tensor, access, stage);
    if (!row.isOfAllRows() && tensors.insert(tensor).second)
      elements += row.inner.empty() ? 1 : getInnermostSize(stage);
  };
  for (Stage *stage : stages) {
    forEachLoad(*stage, [&](Element &node) { add(node.tensor, node.access, *stage); });
    for (Root &root : stage->roots)
      add(root.values[0], root.stores[0], *stage);
  }
  return elements;
}

// Groups that share a strip, and its rows.
static void planStrips(ThreadPhase &phase, ArrayRef<RowSum> sums) {
  int64_t elements = 0, bytes = 0;
  DenseSet<Type> types; // each has shared memory of its own
  for (const RowSum &sum : sums) {
    Type element = sum.getType().getElementType();
    elements += sum.getType().getNumElements();
    bytes += types.insert(element).second ? getElementBytes(getStorageType(element)) : 0;
  }
  int64_t threads = llvm::bit_floor(uint64_t(kSharedOfSums / (bytes * phase.mostLanes)));
  threads = std::min(threads, kThreadsOfStrip);
  // Groups of several warps have no barrier of their own.
  if (phase.group <= kWarp)
    phase.groups = std::clamp<int64_t>(threads / phase.group, 1, llvm::bit_ceil(uint64_t(phase.extent)));
  int64_t least = llvm::divideCeil(kElementsOfSum * elements, countRowElements(getStages(*phase.nest)));
  int64_t fewest = llvm::divideCeil(phase.extent, kMostStrips);
  phase.slice = std::max({least, fewest, phase.groups});
}

// Whether all stages of a nest are over the same columns, and no value crosses them.
static bool isOfColumns(ArrayRef<Stage *> stages, int64_t columns) {
  return llvm::all_of(stages, [&](Stage *stage) {
    return stage->domain.size() == stage->rowRank + 1 && stage->domain.back() == columns &&
           llvm::none_of(stage->roots, [](Root &root) { return root.reduced.back(); });
  });
}

// The threads that have a row of `size` elements, in registers if they can.
static void planGroup(ThreadPhase &phase, ArrayRef<Stage *> stages, int64_t size) {
  phase.run = getRunOf(size, chooseRun(stages));
  phase.mostLanes = chooseLanes(stages, phase.run);
  bool fitsWarp = size <= kWarp * phase.mostLanes;
  int64_t perThread =
      fitsWarp ? std::max<int64_t>(phase.run, llvm::divideCeil(size, kWarp)) : phase.mostLanes;
  phase.group = std::min<int64_t>(llvm::bit_ceil(uint64_t(llvm::divideCeil(size, perThread))), kMostThreads);
}

// The launch that adds up what strips have.
static ThreadPhase planSums(Nest &nest, ArrayRef<RowSum> sums) {
  ThreadPhase phase{ThreadPhase::Kind::strips, &nest};
  phase.group = kStripThreads;
  phase.extent = 0;
  for (const RowSum &sum : sums) {
    int64_t elements = sum.getType().getNumElements();
    phase.extent += llvm::divideCeil(elements, getStripElements(elements));
  }
  return phase;
}

// Adds the launches of a nest. False if threads cannot share its rows.
static bool planRows(Nest &nest, bool inPlace, SmallVector<ThreadPhase> &phases) {
  if (nest.stages.empty())
    return true; // all that it had to do are scalars
  SmallVector<Stage *> stages = getStages(nest);
  if (!llvm::all_of(stages, [&](Stage *stage) { return canShare(*stage, inPlace); }))
    return false;
  int64_t size = 1;
  for (Stage *stage : stages)
    size = std::max(size, getInnermostSize(*stage));
  ThreadPhase phase{ThreadPhase::Kind::rows, &nest};
  phase.extent = nest.rows;
  planGroup(phase, stages, size);
  SmallVector<RowSum> sums = getRowSums(nest);
  if (sums.empty()) {
    phase.isBlock = phase.group > kWarp;
    if (llvm::any_of(stages, sharesOperands))
      phase.slice = std::clamp<int64_t>(nest.rows / kGroupsAtOnce, 1, kMostRowsOfGroup);
    phases.push_back(phase);
    return true;
  }
  if (phase.group > kWarp && isOfColumns(stages, size)) {
    phase.group = kWarp;
    phase.columns = kWarp * phase.mostLanes;
  } else if (size > phase.group * phase.mostLanes) {
    return false; // sums of rows that are longer than registers are in none
  }
  planStrips(phase, sums);
  if (phase.columns > 0)
    phase.extent = llvm::divideCeil(size, phase.columns) * llvm::alignTo(nest.rows, phase.slice);
  phases.push_back(phase);
  if (!phase.isWhole())
    phases.push_back(planSums(nest, sums));
  return true;
}

int64_t mlir::epl::getStripElements(int64_t elements) {
  return std::min<int64_t>(kWarp, llvm::bit_ceil(uint64_t(elements)));
}

// Groups that share no slice have some operands in common: the cache of a block loads these once.
int64_t ThreadPhase::getBlockThreads() const {
  int64_t most = getThreads() > 1 ? kGroupsThreads : kBlockThreads;
  return isBlock ? getThreads() : std::min<int64_t>(llvm::alignTo(getSlices() * getThreads(), kWarp), most);
}

SmallVector<ThreadPhase> mlir::epl::planThreads(FusionPlan &plan, ArrayRef<int32_t> inPlace) {
  bool shares = llvm::any_of(inPlace, [](int32_t input) { return input != -1; });
  SmallVector<ThreadPhase> phases;
  if (plan.form == Form::flat)
    phases.push_back(planChunks(plan));
  else if (!llvm::all_of(plan.nests, [&](Nest &nest) { return planRows(nest, shares, phases); }))
    return {};
  // A block with barriers runs one slice: it need not wait before it shares something again.
  bool fits = llvm::all_of(
      phases, [](ThreadPhase &phase) { return !phase.isBlock || phase.getBlocks() <= kMostBlocks; });
  return fits ? phases : SmallVector<ThreadPhase>();
}
