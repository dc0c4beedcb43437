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

def SplitStacksPass : Pass<"epl-split-stacks", "::mlir::ModuleOp"> {
  let summary = "Cuts stacked parameters whose rows several meshes read into arguments of rows";
  let description = [{
    An argument, no batch, whose rows are read by forward work on several meshes becomes an argument for each run of
    rows on one mesh, or for smaller ones that all have as many rows. What the step makes of such rows, element by
    element or layer by layer, is made for each run, as work of the task graph that reads it: gradients, what an
    optimizer keeps, the next values. A sum over all rows is the sum of those of the runs. What else reads the
    argument as a whole reads a concatenation.

    ```mlir
    func.func @main(%w: tensor<4x8x8xf32> {epl.role = "state"}, ..) -> (tensor<4x8x8xf32> {epl.updates = 0}, ..)
    ```
    ~~>
    ```mlir
    func.func @main(%0: tensor<2x8x8xf32> {epl.caller_rows = array<i64: 0, 4>, epl.position = 0, epl.role = "state"},
                    %1: tensor<2x8x8xf32> {epl.caller_rows = array<i64: 2, 4>, epl.position = 0, epl.role = "state"},
                    ..)
      -> (tensor<2x8x8xf32> {epl.caller_rows = array<i64: 0, 4>, epl.position = 0, epl.updates = 0},
          tensor<2x8x8xf32> {epl.caller_rows = array<i64: 2, 4>, epl.position = 0, epl.updates = 1}, ..)
    ```
  }];
  let dependentDialects = ["EplDialect"];
}

#endif // EPL_SHARD_STAGES_PASSES
