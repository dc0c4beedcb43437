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
//   numbers made of states, such as norms      | that has the states
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

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::epl {

class WorkChain {
public:
  using OpSet = llvm::SmallSetVector<Operation *, 4>;

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

  bool isForward(Operation *op) const;
  /// Whether an op is work of the task graph for gradients, of whatever kind.
  bool isBackward(Operation *op) const;
  bool isApplied(Operation *op) const { return kinds.lookup(op) == WorkKind::apply; }
  /// Whether an op, and a value, depends on a batch.
  bool isOfSamples(Operation *op) const { return samples.contains(op); }
  bool isOfBatch(Value value) const;
  /// Whether each stage can make what an op does for itself, of batches and constants.
  bool isMadeAnywhere(Operation *op) const { return ofBatches.contains(op); }
  /// Whether forward work makes a number of states where these are: its gradient stays there, too.
  bool isNumberOfStates(Operation *op) const { return numbers.contains(op); }
  /// The blocks whose forward work, but for some, makes or reads a value, ascending. None of what backward
  /// work makes, nor of what constants make.
  SmallVector<unsigned> getKnownBlocks(Value value, const OpSet &without = {}) const;

private:
  void findSamples();
  void findChain();
  void cutBlocks();
  SmallVector<int64_t> getCrossingBytes() const;
  void placeUnchained();
  void placeReductions();
  void placeBackward();
  void placeBackward(const DenseMap<Operation *, unsigned> &sums);
  DenseMap<Operation *, unsigned> findSums() const;
  unsigned getBackwardBlock(Operation *op, SmallVector<unsigned> &known) const;
  void placeApply();
  void placeByReaders();

  bool isOwn(Operation *op) const { return kinds.contains(op); }
  bool isOfConstants(Operation *op) const;
  bool isOfStates(Operation *op) const;
  Operation *getRepeated(Operation *op) const;
  std::optional<unsigned> getFirstReader(Operation *op, bool forwardOnly) const;
  OpSet getReduced(Operation *reduction) const;
  std::optional<unsigned> getSourceBlock(const OpSet &own) const;
  std::optional<unsigned> getLastNumber(Operation *op) const;

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
  /// Forward work that makes a number of states where these are.
  DenseSet<Operation *> numbers;
  /// Of backward work on no samples, the blocks that know its operands.
  DenseMap<Operation *, SmallVector<unsigned>> leaves;
  /// Forward work, by that which recomputes it.
  DenseMap<Operation *, Operation *> repeated;
};

} // namespace mlir::epl
