//===- Stages.h - What is cut into stages of a pipeline ---------*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"

namespace mlir::epl {

/// Says that work is to be cut into stages, each with devices of its own. On
///
/// - `epl.replicate`: into how many, an integer of at least 1;
/// - the function of a step, beside `epl.scopes`: the same by the ids of that table, a dictionary. An id
///   that it lacks is one stage;
/// - `epl.taskgraph`: the task graphs, without work of their own yet, that get the parts behind the first, an
///   array of symbols. `epl-find-stages` deals the work out and takes it away:
///
///   ```mlir
///   epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh0 {epl.stages = [@tg0_1]}
///   epl.taskgraph @tg0_1 strategy(<replicate, 1>) on @mesh1
///   ```
inline constexpr llvm::StringLiteral kStagesAttr = "epl.stages";

/// Fails, with an error at `op`, if `value` is not what `op` may have as `epl.stages`.
LogicalResult verifyStages(Operation *op, Attribute value);

/// Into how many stages the scope `id` of a step's `epl.scopes` is to be cut.
int64_t getNumStages(Operation *function, StringAttr id);

/// The task graphs that get parts of the work of `taskgraph`, itself the first; empty if it is not to be cut.
SmallVector<TaskGraphOp> getStages(TaskGraphOp taskgraph);

} // namespace mlir::epl
