//===- MeshAssignment.h - Which mesh an op and a value are on ---*- C++ -*-===//
//
// Task graphs with devices of their own have a mesh each. This analysis says on which mesh each op and each
// argument of a global program is:
//
//   what                                    | mesh
//   ----------------------------------------+----------------------------------------------------------------
//   forward and backward work of a scope    | that of its task graph
//   work that applies gradients             | where most of what it reads is: the optimizer's state is with
//                                           | the parameter, that with the op that makes its gradient, and
//                                           | the norm of a parameter with the work that reads it
//   made of constants, or of inputs less    | every mesh that reads it computes it itself (rematerialized)
//   than half as large                      |
//   a batch, and what iterations over       | every mesh that reads it
//   micro-batches make of it alone          |
//
// The ops of a loop are on one mesh, so that nothing is sent in its iterations, but for a loop over
// micro-batches: its ops are dealt out like others (a pipeline).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Loops.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::epl {

/// Deals the ops and arguments of a global program out to the meshes of its module, by number.
class MeshAssignment {
public:
  explicit MeshAssignment(func::FuncOp function);

  void run();

  ArrayRef<MeshOp> getMeshes() const { return meshes; }
  /// Whether the op is done by each mesh that reads its results.
  bool isRematerialized(Operation *op) const { return rematerialized.contains(op); }
  /// The mesh that does an op which is not rematerialized.
  unsigned getMesh(Operation *op) const { return places.lookup(op); }
  /// The mesh on which `value` is; none if it is on all that read it: what is rematerialized, and batches.
  std::optional<unsigned> getMesh(Value value) const;
  /// The meshes that read an argument, or return it as the new value of a state of theirs; ascending.
  SmallVector<unsigned> getReaders(BlockArgument argument) const;

private:
  void findRematerialized();
  void findUnplaced();
  void settleLoops();
  void placeFixed();
  void placeByOperands();
  void placeByReaders();
  void placeRest();
  void placeArguments();
  std::optional<unsigned> placeByUse(BlockArgument argument) const;

  bool isOfBatches(Operation *op, ArrayRef<Value> sources) const;
  LoopAttr getUnitLoop(Operation *op) const;
  bool isPlaced(Operation *op) const { return places.contains(op); }
  SmallVector<Operation *> getUnit(Operation *op) const;
  SmallVector<Operation *> getReaders(Value value) const;
  SetVector<Value> getSources(Operation *op) const;
  std::optional<unsigned> getStamped(Operation *op) const;
  std::optional<unsigned> getKnownMesh(Value value) const;
  void place(Operation *op, unsigned mesh);

  func::FuncOp function;
  Block &body;
  Loops loops;
  SmallVector<MeshOp> meshes;
  DenseMap<StringAttr, unsigned> taskgraphs; ///< the mesh of each
  llvm::MapVector<LoopAttr, SmallVector<Operation *>> loopOps;
  DenseSet<Operation *> free;           ///< what is made of nothing but constants and positions
  DenseSet<Operation *> ofBatches;      ///< what iterations over micro-batches make of batches alone
  DenseSet<Operation *> rematerialized; ///< what is free, and what others make
  DenseSet<Operation *> unplaced;       ///< what goes where its operands are
  DenseMap<Operation *, unsigned> places;
  DenseMap<BlockArgument, unsigned> homes; ///< of arguments that are no batches
};

} // namespace mlir::epl
