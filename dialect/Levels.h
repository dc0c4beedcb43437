//===- Levels.h - The levels of the epl dialect -----------------*- C++ -*-===//
//
// Each phase of the compiler leaves ops of certain levels behind and no others. Ops carry their levels as
// traits; `verifyLevel` is the check that stands between the phases. Idea: IREE's level traits.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/OpDefinition.h"

namespace mlir::epl {

/// Ops of annotated input only: gone after flattening.
template <typename Op> struct ScopeLevel : OpTrait::TraitBase<Op, ScopeLevel> {};
/// Ops of the global program, of which front ends may write some: gone after localizing.
template <typename Op> struct GlobalLevel : OpTrait::TraitBase<Op, GlobalLevel> {};
/// Casts between distributed values and local tensors: gone after forming tasks.
template <typename Op> struct LocalLevel : OpTrait::TraitBase<Op, LocalLevel> {};
/// Tasks and what stands between them.
template <typename Op> struct TaskLevel : OpTrait::TraitBase<Op, TaskLevel> {};
/// Ops on tensors that front ends write: allowed wherever those of linalg and tensor are.
template <typename Op> struct TensorLevel : OpTrait::TraitBase<Op, TensorLevel> {};
/// What enters and leaves a loop. Allowed wherever ops stand; in a local program between tasks.
template <typename Op> struct LoopEdge : OpTrait::TraitBase<Op, LoopEdge> {};
/// Clusters, kernels and their launches.
template <typename Op> struct KernelLevel : OpTrait::TraitBase<Op, KernelLevel> {};

/// Whether an op of a local program stands between tasks, on distributed values.
inline bool standsBetweenTasks(Operation *op) {
  return op->hasTrait<TaskLevel>() || op->hasTrait<LoopEdge>();
}

/// What a module may hold after a phase.
enum class Level {
  input,  ///< scopes, constraints, upstream ops on global tensors
  global, ///< no scopes
  local,  ///< no reshards; local tensors, casts and collectives
  tasks,  ///< no casts
  kernels ///< task bodies hold launches and views only
};

/// Fails, with an error at the first op that `level` does not allow: it names the pass that should have
/// removed it, or that makes it later.
LogicalResult verifyLevel(Operation *root, Level level);

} // namespace mlir::epl
