//===- AxisState.h - Shardings, one axis at a time --------------*- C++ -*-===//
//
// Propagation and placement look at one axis of the mesh at a time. On one axis a value is in one of three
// states. For the value [[1, 2], [3, 4]] and an axis "data" of two members:
//
//   state                   member 0 has       member 1 has        as an attribute
//   ----------------------  -----------------  ------------------  -------------------------------
//   replicated              [[1, 2], [3, 4]]   [[1, 2], [3, 4]]    [{}, {}]
//   sharded on dimension 0  [[1, 2]]           [[3, 4]]            [{"data"}, {}]
//   sharded on dimension 1  [[1], [3]]         [[2], [4]]          [{}, {"data"}]
//   partial, a pending sum  [[1, 0], [5, 4]]   [[0, 2], [-2, 0]]   [{}, {}], partial = sum{"data"}
//
// Of a partial value the members may have any tensors whose sum is the value. A sharding attribute holds the
// states on all axes; this file translates between the two.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Sharding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::epl {

/// The state of a value on one axis: replicated, sharded or partial.
struct AxisState {
  int64_t dim = -1;                     ///< the dimension that the axis shards, or -1
  std::optional<ReductionKind> partial; ///< the reduction that is pending over the axis

  /// Sharded on `dim`; replicated if that is -1.
  static AxisState sharded(int64_t dim) {
    assert(dim >= -1 && "a dimension, or -1");
    return {dim, std::nullopt};
  }
  static AxisState pending(ReductionKind kind) { return {-1, kind}; }
  bool isSharded() const { return dim >= 0; }
  bool isReplicated() const { return dim < 0 && !partial; }
  bool operator==(const AxisState &other) const { return dim == other.dim && partial == other.partial; }
  bool operator!=(const AxisState &other) const { return !(*this == other); }
};

/// For people: "sharded on dimension 1", "pending sum" or "replicated".
std::string describeState(AxisState state);

/// Writes the sharding of an argument or of a result of an op. The shardings of an op's other results become
/// replicated if they were missing.
void setSharding(Value value, ShardingAttr sharding);

/// The state of a sharding on one axis.
AxisState getAxisState(ShardingAttr sharding, StringRef axis);

/// `sharding` with another state on one axis. Axes of one dimension are in mesh order, major to minor.
ShardingAttr withAxisState(ShardingAttr sharding, MeshOp mesh, StringRef axis, AxisState state);

/// Whether an argument is a state of floating point: a parameter, which a worker may pull from servers, or
/// what an optimizer keeps of one.
bool isFloatState(BlockArgument argument);

/// The argument that result `result` of the function updates, or null. They have one type.
BlockArgument getUpdatedArgument(func::FuncOp function, unsigned result);

/// Whether some result of the function is held by another step, which says how (`epl.wanted`).
bool hasWantedResults(func::FuncOp function);

/// Fails, with an error at the first `epl.reshard` that leaves something pending: only `epl-place` makes
/// such.
LogicalResult verifyNotPlaced(func::FuncOp function);

/// A function of a module, and the mesh that it is computed on.
struct Program {
  func::FuncOp function;
  MeshOp mesh;
};

/// The functions of a global program that have a body, or failure with an error: a body is one block that
/// returns, its ops are of the global level, batches have their dimension, loops are in order. Every pass on
/// a global program begins with this or with `getPrograms`, whoever runs it.
FailureOr<SmallVector<func::FuncOp>> getGlobalFunctions(ModuleOp module);

/// Of these the functions that are to be dealt out to the meshes of the module: none where it has one mesh,
/// and not those that say theirs.
FailureOr<SmallVector<func::FuncOp>> getUndealtFunctions(ModuleOp module);

/// Which tensors of a program a pass needs shardings of.
enum class Shardings { some, ofArguments, ofAll };

/// The same with their meshes. Shardings fit their tensors, and those that are `needed` are there.
FailureOr<SmallVector<Program>> getPrograms(ModuleOp module, Shardings needed = Shardings::some);

/// Whether a block argument is a batch of the step; those of regions of ops are none.
bool isBatch(BlockArgument argument);

/// The kind of work that an op of a global program is stamped with; nothing for a function's return.
std::optional<WorkKind> getWorkKind(Operation *op);

/// How errors call an argument: `argument "x"` if the user's name is known, else `argument 3`.
std::string describeArgument(func::FuncOp function, unsigned argument);

} // namespace mlir::epl
