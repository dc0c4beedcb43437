//===- Passes.td - Passes of passes/shard/stages --------------------------===//
#ifndef EPL_SHARD_STAGES_PASSES
#define EPL_SHARD_STAGES_PASSES

include "mlir/Pass/PassBase.td"

def FindStagesPass : Pass<"epl-find-stages", "::mlir::ModuleOp"> {
  let summary = "Cuts the work of a task graph into the stages of a pipeline";
  let description = [{
    Deals the ops of a task graph with `epl.stages` out to itself and to these. Its forward work is a chain of blocks,
    each with one product of samples; backward work is with the forward work that it differentiates, what applies
    gradients with those. The cut is that whose largest stage takes least time, by what the machine says of
    multiply-adds, memory and links: a stage computes its blocks on the devices of its mesh, and sends what later
    stages read and the gradients of what it reads of earlier ones. Of several such cuts it is that of the fewest
    bytes. What crosses a cut may be any number of values.

    Where all stages are on one mesh there is nothing to cut. Fewer blocks than stages are an error.

    ```mlir
    epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh0 {epl.stages = [@tg0_1]}
    epl.taskgraph @tg0_1 strategy(<replicate, 1>) on @mesh1

    %1 = linalg.generic {... product of %x and %w0 ..., epl.work = #epl.work<@tg0, forward>}
    %2 = linalg.generic {... product of %1 and %w1 ..., epl.work = #epl.work<@tg0, forward>}
    ```
    ~~>
    ```mlir
    epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh0
    epl.taskgraph @tg0_1 strategy(<replicate, 1>) on @mesh1

    %1 = linalg.generic {... product of %x and %w0 ..., epl.work = #epl.work<@tg0, forward>}
    %2 = linalg.generic {... product of %1 and %w1 ..., epl.work = #epl.work<@tg0_1, forward>}
    ```
  }];
  let options = [Option<"microBatches", "micro-batches", "int64_t", "1",
                        "How many micro-batches the batch is cut into: each is a message of its own.">,
                 Option<"explain", "explain", "bool", "false",
                        "Remark, as a table, what each stage takes, and the next best cut.">];
  let dependentDialects = ["EplDialect"];
}

#endif // EPL_SHARD_STAGES_PASSES
