//===- Passes.td - Passes of passes/shard/tasks ---------------------------===//
#ifndef EPL_SHARD_TASKS_PASSES
#define EPL_SHARD_TASKS_PASSES

include "mlir/Pass/PassBase.td"

def SplitBackwardPass : Pass<"epl-split-backward", "::mlir::ModuleOp"> {
  let summary = "Splits the backward work of micro-batches in two";
  let description = [{
    In a loop over micro-batches, backward work that makes a gradient which another mesh waits for becomes
    `backward_input`, all other `backward_weight`, for schedules that do the latter later. Where no gradient is
    sent all is `backward_input`.

    ```mlir
    %2 = linalg.generic ... ins(%dy, %w) ... {epl.work = #epl.work<@tg1, backward>}
    %3 = epl.loop_stack <0, trip_count = 4, micro_batches = true> %2 : ... // sent
    %4 = linalg.generic ... ins(%dy, %x) ... {epl.work = #epl.work<@tg1, backward>}
    ```
    ~~>
    ```mlir
    %2 = linalg.generic ... ins(%dy, %w) ... {epl.work = #epl.work<@tg1, backward_input>}
    %3 = epl.loop_stack <0, trip_count = 4, micro_batches = true> %2 : ...
    %4 = linalg.generic ... ins(%dy, %x) ... {epl.work = #epl.work<@tg1, backward_weight>}
    ```
  }];
  let dependentDialects = ["EplDialect"];
}

def FormTasksPass : Pass<"epl-form-tasks", "::mlir::ModuleOp"> {
  let summary = "Groups local ops into isolated tasks between collectives";
  let description = [{
    Ops of one work that no collective or other task stands between become one `epl.task`; collectives stay at
    top level. What costs nothing to make again (empty tensors, constants and fills of them, scalars,
    coordinates) is made in every task that uses it. The order is by first op and does not depend on
    anything but the program.

    What is read only by one side of selections by a scalar (the branches of a `lax.cond`) stands in tasks and
    collectives with `epl.guards`, and is not done where the other side is taken: if the scalar is made before
    it and there is more in one of its branches than elementwise work.

    ```mlir
    %0 = epl.to_local %x : ...
    %1 = linalg.generic ... ins(%0) ... {epl.work = #epl.work<@tg0, forward>} ...
    %2 = epl.from_local %1 : ...
    ```
    ~~>
    ```mlir
    %2 = epl.task <@tg0, forward> (%x) : ... {
    ^bb0(%0: tensor<4x4xf32>):
      %1 = linalg.generic ... ins(%0) ...
      epl.yield %1 : tensor<4xf32>
    }
    ```
  }];
  let dependentDialects = ["EplDialect"];
}

def VerifyTasksPass : Pass<"epl-verify-tasks", "::mlir::ModuleOp"> {
  let summary = "Checks that functions hold tasks and collectives only";
  let description = [{
    Changes nothing. No cast is left, and no op but tasks, collectives and the return is at the top level of a
    function.
  }];
}

#endif // EPL_SHARD_TASKS_PASSES
