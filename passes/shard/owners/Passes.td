//===- Passes.td - Passes of passes/shard/owners --------------------------===//
#ifndef EPL_SHARD_OWNERS_PASSES
#define EPL_SHARD_OWNERS_PASSES

include "mlir/Pass/PassBase.td"

def AssignOwnersPass : Pass<"epl-assign-owners", "::mlir::ModuleOp"> {
  let summary = "Gives each parameter, and what its optimizer keeps, to one device of the data axis";
  let description = [{
    Work that applies gradients and leads to the new values of one group of states only gets an owner: one
    coordinate on the axis of role `data`. States that nothing else reads exist there alone. A gradient that only
    such work reads is summed there alone, and the new value of a parameter is sent to all others. Work that leads
    to several groups, such as a count of steps or a global norm, stays on every device.

    ```mlir
    func.func @step(%w: !whole, %m: !whole, ...) -> (!whole {epl.updates = 0 : i64}, !whole {epl.updates = 1 : i64}) {
      %0 = epl.from_local %gradient : tensor<8xf32> -> !pending
      %1 = epl.all_reduce %0 : !pending -> !whole
      %2 = linalg.generic ... {epl.work = #epl.work<@tg0, apply>} // momentum, of %1 and %m
      %3 = linalg.generic ... {epl.work = #epl.work<@tg0, apply>} // of %2 and %w
    ```
    ~~>
    ```mlir
    func.func @step(%w: !whole, %m: !owned, ...) -> (!whole {epl.updates = 0 : i64}, !owned {epl.updates = 1 : i64}) {
      %0 = epl.from_local %gradient : tensor<8xf32> -> !pending
      %1 = epl.reduce %0 : !pending -> !owned
      %2 = linalg.generic ... {epl.work = #epl.work<@tg0, apply>, epl.sharding = [#owned]}
      %3 = linalg.generic ... {epl.work = #epl.work<@tg0, apply>, epl.sharding = [#owned]}
      %4 = epl.from_local %3 : tensor<8xf32> -> !owned
      %5 = epl.broadcast %4 : !owned -> !whole
    ```

    Groups are taken in the order in which the last of their gradients stands in the program. Each goes to the
    coordinate that has the fewest elements of parameters so far, the first one of equal ones.
  }];
  let options = [Option<"explain", "explain", "bool", "false", "Remark of each group who owns it">];
  let dependentDialects = ["EplDialect"];
}

#endif // EPL_SHARD_OWNERS_PASSES
