//===- WorkChain.h - The work of a task graph as a chain --------*- C++ -*-===//
//
// What a pipeline is to be made of is a list of ops. As a chain of blocks it can be cut:
//
//   forward    x ─ w0 ─ gelu │ w1 ─ gelu │ w2 ─ loss        a block for each product of samples, from the
//   backward   dw0 ── dgelu ─│─ dw1, dh1 │─ dw2, dh2        narrowest place behind the product before
//   apply      w0 - dw0      │  w1 - dw1 │  w2 - dw2
//
//   what                                       | is in the block
//   -------------------------------------------+-----------------------------------------------------------
//   forward work behind a first product        | in which it stands, in the order of the program
//   what parameters and batches alone make     | that reads it first: masks, casts, embeddings, rows of
//                                              | stacked parameters
//   backward work                              | of the forward work that makes or reads what it reads, not
//                                              | behind the gradients that it reads
//   sums of gradients alone: of a bias         | that these gradients go to
//   recomputed work                            | of the forward work that it repeats
//   what applies gradients                     | that makes the last value which it reads
//
// Any place of an op is right, since what another stage reads is sent: these are those of the fewest bytes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Epl.h"
#include "passes/shard/stages/StageCuts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::epl {

class WorkChain {
public:
  /// Of a global program without loops in the forward and backward work of `taskgraph`.
  WorkChain(func::FuncOp function, TaskGraphOp taskgraph);

  unsigned getNumBlocks() const { return blocks.size(); }
  /// The ops of the task graph, in program order.
  ArrayRef<Operation *> getOps() const { return ops; }
  unsigned getBlock(Operation *op) const { return places.lookup(op); }
  /// The value of forward work that recomputed work makes again; any other value itself.
  Value getForward(Value value) const;
  /// The product that a block is made for.
  Operation *getProduct(unsigned block) const { return blocks[block]; }

  /// What each block takes in a step on a device of `machine`, of which `replicas` share the batch.
  std::vector<double> getSeconds(MachineAttr machine, int64_t replicas) const;
  /// What blocks read of each other in a step of so many micro-batches, on one replica.
  std::vector<ChainValue> getValues(int64_t replicas, int64_t microBatches) const;

private:
  void findSamples();
  void findChain();
  void cutBlocks();
  SmallVector<int64_t> getCrossingBytes() const;
  void placeUnchained();
  void placeBackward();
  void placeBackward(const DenseMap<Operation *, unsigned> &sums);
  DenseMap<Operation *, unsigned> findSums() const;
  unsigned getBackwardBlock(Operation *op, SmallVector<unsigned> &known) const;
  void placeApply();
  void placeByReaders();

  bool isOfBatch(Value value) const;
  bool isOwn(Operation *op) const { return kinds.contains(op); }
  bool isBackward(Operation *op) const;
  bool isForward(Operation *op) const;
  Operation *getRepeated(Operation *op) const;
  std::optional<unsigned> getFirstReader(Operation *op, bool forwardOnly) const;
  SmallVector<unsigned> getKnownBlocks(Value value) const;
  bool isStack(Value value) const;
  bool joinsRows(Operation *op) const;
  ChainValue makeValue(Value value, ArrayRef<unsigned> known, int64_t replicas, int64_t microBatches) const;

  func::FuncOp function;
  Block &body;
  SmallVector<Operation *> ops;
  /// Of forward work that is done with what applies gradients (AppliedWork.h), that kind.
  DenseMap<Operation *, WorkKind> kinds;
  /// What depends on a batch, of any task graph.
  DenseSet<Operation *> samples;
  /// What is laid out and computed by element of batches and constants alone.
  DenseSet<Operation *> ofBatches;
  /// Forward work behind a first product.
  SmallVector<Operation *> chain;
  /// The product of each block.
  SmallVector<Operation *> blocks;
  DenseMap<Operation *, unsigned> places;
  /// Of backward work on no samples, the blocks that know its operands.
  DenseMap<Operation *, SmallVector<unsigned>> leaves;
  /// Forward work, by that which recomputes it.
  DenseMap<Operation *, Operation *> repeated;
};

} // namespace mlir::epl
