//===- StageEmitter.h - The loops of one stage ---------------------*- C++ -*-===//
#pragma once

#include "passes/kernel/nest/KernelValues.h"
#include "passes/kernel/nest/RowValues.h"
#include "passes/kernel/nest/ThreadGroup.h"

namespace mlir::epl {

/// What the loops of a nest run on: the registers of a CPU, or threads of a GPU.
struct NestTarget {
  unsigned vectorBits = 0;         // of a register; 0: elements one by one
  ThreadGroup *threads = nullptr;  // that share innermost loops
  int64_t mostLanes = 1;           // elements of a step of a thread
  RowValues *row = nullptr;        // what a thread has of a row
  int64_t columns = 0;             // of all rows that a slice has; 0: all
  Value firstColumn{};             // of them
  Operation *rowsLoop = nullptr;   // before it stands what all rows have in common
  DenseSet<Value> sharedBuffers{}; // results that share storage with inputs
};

/// Ops of one step of the innermost loop of a stage.
int64_t countOps(Stage &stage);

/// What the binary op of a reduction makes of two values.
Value applyCombiner(ImplicitLocOpBuilder &b, Operation *combiner, Value lhs, Value rhs);

/// Rows that one pass adds to sums in memory.
constexpr int64_t kRowsPerPass = 4;

/// Rows that sums in memory are over, and what stands round each block of them.
struct SummedRows {
  int64_t size;
  BlockStages &blocks;
  /// Emits one of the stages of `blocks`.
  function_ref<void(Stage &)> emitStage;
};

/// Emits code for all rows, a block at a time if there are stages for blocks. `emit` gets the bounds of a
/// block and the loop if it is inside.
void emitInBlocks(KernelFunction &function, const SummedRows &rows,
                  function_ref<void(Value low, Value high, Operation *loop)> emit);

/// Emits code for all rows: a loop that takes `perPass` at a time, then those that are left. `emit` gets the
/// rows, and the outermost loop if it is inside.
void emitInPasses(KernelFunction &function, const SummedRows &rows, int64_t perPass,
                  function_ref<void(ArrayRef<Value> rows, Operation *loop)> emit);

/// Emits the loops of a stage at the function's insertion point.
///
/// The innermost loop works on vectors of `lanes` elements. What does not depend on it is computed before it,
/// what depends on no loop before `kernelPoint`. On a CPU the elements of a step follow one another; a thread
/// of a GPU has several runs of them (ThreadGroup.h).
class StageEmitter {
public:
  StageEmitter(Stage &stage, KernelFunction &function, KernelValues &values, const NestTarget &target);

  /// All of the stage's part of row `row` (null if the stage has no rows). Values that depend on no loop go
  /// before `kernelPoint`, if there is one.
  void emitRow(Value row, Operation *kernelPoint);
  /// Whether `emitRows` gains: the rows are added to sums in memory.
  bool addsRows() const;
  /// The same as `emitRow` for each of `rows`, with sums over them loaded and stored once.
  void emitRows(ArrayRef<Value> rows, Operation *kernelPoint);
  /// The part of the innermost dimension in [low, high), over all other dimensions.
  void emitRange(Value low, Value high);

  /// On threads: what its sums over rows begin with, which `emitRow` takes and hands on in `sums`, one for
  /// each result of each root that is one. A sum has elements for all lanes of a thread.
  SmallVector<Value> beginSums();
  SmallVector<Value> sums;
  /// Of such a sum behind all rows: its part that the threads of all groups of a slice have, and what stores
  /// that in `buffer`, combined with what is there if `adds`.
  void finishSum(Root &root, unsigned result, Value sum, Value shared, Value buffer, bool adds);

private:
  /// How often a value changes.
  enum class Varies { never, row, lane };
  /// A reduction's result while the innermost loop runs.
  struct Accumulator {
    Root *root;
    unsigned result;
    Operation *combiner;
    bool isNan; // not the result itself but whether it is NaN, as 0 or NaN
  };

  /// Whether rows add to the root in registers.
  bool isRowSum(const Root &root) const;
  size_t getSumIndex(const Root &root) const;

  /// Reductions in memory, between their load and their store.
  using Sums = DenseMap<Root *, SmallVector<Value>>;

  // Loops.
  void openLoops(Value row);
  void emitPasses(function_ref<void(StageEmitter &)> emitStage, function_ref<void()> innermost);
  bool loopsPasses() const { return inPasses || !stage.blocks.add.empty(); }
  void emitInnermost();
  void emitInnermost(Value low, Value high);
  SmallVector<Value> emitBody(ArrayRef<Value> accumulated);
  SmallVector<Value> emitStep(ArrayRef<Value> accumulated, Sums &inMemory);
  void addToSums(Root &root, ArrayRef<Value> terms);
  bool addsInPasses(const Root &root) const;
  bool fitsPass() const;
  bool hasShortRows() const;
  void choosePasses();
  SmallVector<Value> emitLoop(Value low, Value high, ArrayRef<Value> accumulated);
  SmallVector<Value> getIdentities();
  void chooseLanes(unsigned vectorBits);

  // Threads.
  /// Elements of a step that follow one another in memory, and where they are: all lanes unless there are
  /// threads.
  struct Run {
    Value start, present; // of the innermost loop; whether they are there, null: always
  };
  int64_t getRunLanes() const { return lanes / std::max<int64_t>(int64_t(runs.size()), 1); }
  void takeRow();
  void takeRuns(Value base, int64_t run, int64_t count, int64_t least, Value left = Value());
  void emitInThreads();
  void emitInThreads(Value low, Value high);
  Value concatenate(Type element, function_ref<Value(size_t run)> emitRun);
  void ifPresent(Value present, function_ref<void()> emit);
  Value loadIfPresent(Type type, size_t run, function_ref<Value()> emit);
  void updateLanes(ArrayRef<Value> values, Value buffer, const StridedAccess &access, Operation *combiner);
  void storeRuns(Value value, Value buffer, const StridedAccess &access, int64_t alignment);
  int64_t getAlignment(Value buffer, ArrayRef<int64_t> offsets) const;
  int64_t getAlignmentAt(Value buffer, const StridedAccess &access) const;
  /// Whether a thread has the elements in registers behind the stage.
  bool keeps(const StridedAccess &access) const;

  // Values.
  Varies getVariation(Element &node);
  Varies computeVariation(Element &node);
  Varies getVariation(const StridedAccess &access) const;
  Value evaluate(ElementRef ref);
  void evaluatePayload(Element &node, SmallVector<Value> &results);
  Value evaluateOp(Operation *op, IRMapping &mapping, ArrayRef<StridedAccess> loops);
  Value cloneElementwise(Operation *op, IRMapping &mapping);
  Value gather(tensor::ExtractOp op, IRMapping &mapping, ArrayRef<StridedAccess> loops);
  Value gatherRun(tensor::ExtractOp op, IRMapping &mapping, ArrayRef<StridedAccess> loops);
  Value getFirstLane(Value index, size_t run, IRMapping &mapping, ArrayRef<StridedAccess> loops);
  Value getConstant(TypedAttr attr);
  Value getScalar(Element &node);

  // Memory.
  Value getSource(Value tensor);
  Value getBase(const StridedAccess &access);
  Value getIndex(const StridedAccess &access, size_t run = 0);
  Value getPosition(const StridedAccess &access, Type type);
  Value getLaneOffsets(int64_t stride, Type type);
  /// The lanes of a gather that are there.
  Value getLaneMask();
  Value load(Value tensor, const StridedAccess &access, bool varies);
  Value loadFromMemory(Value tensor, const StridedAccess &access, bool varies);
  Value loadRuns(Value tensor, function_ref<Value(size_t run)> getIndex, int64_t alignment);
  void store(Value value, Value tensor, const StridedAccess &access);
  Value fromStorage(Value stored, Type element);

  // Reductions.
  void collectAccumulators();
  bool isSplit(Operation *combiner) const;
  Value combine(Operation *combiner, Value lhs, Value rhs);
  Value combineLanes(const Accumulator &accumulator, Value value);
  Value combineThreads(Operation *combiner, Value value);
  Value getIdentity(const Accumulator &accumulator);
  Value accumulate(const Accumulator &accumulator, Value old, Value term);
  Value narrow(const Accumulator &accumulator, Value wide, int64_t lanes);
  void finishReductions(ArrayRef<Value> accumulated);
  void evaluateTerms(Root &root, SmallVector<Value> &terms, ArrayRef<Value> old);

  VectorType getVectorType(Type element) { return VectorType::get({lanes}, element); }
  Value broadcast(Value value);
  bool hasLanes() const { return stage.domain.size() > stage.rowRank; }

  Stage &stage;
  KernelFunction &function;
  ImplicitLocOpBuilder &b;
  KernelValues &values;
  const NestTarget &target;
  SmallVector<Accumulator> accumulators;
  int64_t fullLanes = 1, tailLanes = 1; // of the loop and of what is left of a row
  int64_t lanes = 1;                    // of the code being emitted
  Value mask;
  SmallVector<Value> ivs;
  SmallVector<Run> runs;         // of the code being emitted; none on a CPU
  bool isLooping = false;        // whether threads take several steps of the innermost loop
  bool inPasses = false;         // whether a step takes several points of a dimension
  std::optional<size_t> passDim; // this dimension: the last but one, or the nest's rows
  SmallVector<Value> passRows;   // the points of a step
  size_t rowOfPass = 0;          // the one being emitted
  Operation *kernelPoint = nullptr, *rowPoint = nullptr;
  DenseMap<Element *, Varies> variations; // paths to a shared value are exponentially many
  DenseMap<std::pair<Element *, size_t>, SmallVector<Value>> known[3]; // by variation; row of the pass
};

} // namespace mlir::epl
