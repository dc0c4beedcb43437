//===- Rules.h - The factor rule of each op ---------------------*- C++ -*-===//
//
// What an op means for sharding is said in one place, its model (ShardableOp.td, passes/shard/ops). Here is
// what is derived for ops without one: of linalg ops from indexing maps, iterator types and bodies, of
// elementwise ops and constants from what they are. All dimensions of any other op are blocked.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/shard/analysis/FactorRule.h"

namespace mlir::epl {

/// The rule of `op`: that of its model if it has one, else `deriveRule`. Never fails: an op that nothing is
/// known about has all dimensions blocked.
FactorRule getFactorRule(Operation *op);

/// The rule of an op without a model.
FactorRule deriveRule(Operation *op);

/// Whether every element of the op's tensor is the same, so that it can be made in any size: empty tensors,
/// splats.
bool isUniform(Operation *op);

/// The uses, inside the regions of `op`, of tensors from outside. They have no place in the rule: what is
/// captured must be replicated and complete.
SmallVector<OpOperand *> getCapturedTensors(Operation *op);

/// All values from outside that `op` uses, those of its regions included.
SetVector<Value> getUsedValues(Operation *op);

} // namespace mlir::epl
