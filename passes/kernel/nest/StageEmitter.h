//===- StageEmitter.h - The loops of one stage ---------------------*- C++ -*-===//
#pragma once

#include "passes/kernel/cluster/FusionPlan.h"
#include "passes/kernel/nest/KernelFunction.h"

#include "mlir/IR/IRMapping.h"

namespace mlir::epl {

/// Where the kernel's values are, while its function is built.
struct KernelValues {
  DenseMap<Value, Value> buffers;   // tensors that come in or are written
  DenseMap<Value, Value> constants; // where constant tensors are read from
  IRMapping scalars;                // everything else
};

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
/// The innermost loop works on vectors of `lanes` elements, one where `vectorBits` is 0. What does not depend
/// on it is computed before it, what depends on no loop before `kernelPoint`.
class StageEmitter {
public:
  StageEmitter(Stage &stage, KernelFunction &function, KernelValues &values, unsigned vectorBits);

  /// All of the stage's part of row `row` (null if the stage has no rows). Values that depend on no loop go
  /// before `kernelPoint`, if there is one.
  void emitRow(Value row, Operation *kernelPoint);
  /// Whether `emitRows` gains: the rows are added to sums in memory.
  bool addsRows() const;
  /// The same as `emitRow` for each of `rows`, with sums over them loaded and stored once.
  void emitRows(ArrayRef<Value> rows, Operation *kernelPoint);
  /// The part of the innermost dimension in [low, high), over all other dimensions.
  void emitRange(Value low, Value high);

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

  /// Reductions in memory, between their load and their store.
  using Sums = DenseMap<Root *, SmallVector<Value>>;

  // Loops.
  void openLoops(Value row);
  void emitPasses(function_ref<void(StageEmitter &)> emitStage, function_ref<void()> innermost);
  bool loopsPasses() const { return inPasses || !stage.blocks.add.empty(); }
  void emitInnermost();
  void emitInnermost(Value low, Value high);
  SmallVector<Value> emitBody(ArrayRef<Value> accumulated);
  SmallVector<Value> emitStep(ArrayRef<Value> accumulated, Sums &sums);
  bool addsInPasses(const Root &root) const;
  bool fitsPass() const;
  bool hasShortRows() const;
  void choosePasses();
  SmallVector<Value> emitLoop(Value low, Value high, ArrayRef<Value> accumulated);
  void chooseLanes(unsigned vectorBits);

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
  Value getFirstLane(Value index, IRMapping &mapping, ArrayRef<StridedAccess> loops);
  Value getConstant(TypedAttr attr);
  Value getScalar(Element &node);

  // Memory.
  Value getSource(Value tensor);
  Value getBase(const StridedAccess &access);
  Value getIndex(const StridedAccess &access);
  Value getPosition(const StridedAccess &access, Type type);
  Value getLaneOffsets(int64_t stride, Type type);
  /// The lanes of a gather that are there.
  Value getLaneMask();
  Value load(Value tensor, const StridedAccess &access, bool varies);
  Value loadRun(Value tensor, Value index);
  void store(Value value, Value tensor, const StridedAccess &access);
  Value fromStorage(Value stored, Type element);

  // Reductions.
  void collectAccumulators();
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
  unsigned vectorBits;
  SmallVector<Accumulator> accumulators;
  int64_t fullLanes = 1, tailLanes = 1; // of the loop and of what is left of a row
  int64_t lanes = 1;                    // of the code being emitted
  Value mask;
  SmallVector<Value> ivs;
  bool inPasses = false;         // whether a step takes several points of a dimension
  std::optional<size_t> passDim; // this dimension: the last but one, or the nest's rows
  SmallVector<Value> passRows;   // the points of a step
  size_t rowOfPass = 0;          // the one being emitted
  Operation *kernelPoint = nullptr, *rowPoint = nullptr;
  DenseMap<Element *, Varies> variations; // paths to a shared value are exponentially many
  DenseMap<std::pair<Element *, size_t>, SmallVector<Value>> known[3]; // by variation; row of the pass
};

} // namespace mlir::epl
