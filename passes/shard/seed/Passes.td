//===- Passes.td - Passes of passes/shard/seed ----------------------------===//
#ifndef EPL_SHARD_SEED_PASSES
#define EPL_SHARD_SEED_PASSES

include "mlir/Pass/PassBase.td"

def SeedConstraintsPass : Pass<"epl-seed-constraints", "::mlir::ModuleOp"> {
  let summary = "Checks what users say of values against the mesh";
  let description = [{
    Axes of an `epl.constrain` are those of the mesh, divide their dimensions and stand in mesh order; what is
    said of axes of one device is dropped. `epl-propagate` starts from what is left.

    ```mlir
    epl.mesh @mesh axes ["data"=1, "model"=2]
    ...
    %1 = epl.constrain %0 to <[{"data"}, {"model"} ]> : tensor<8x4xf32>
    ```
    ~~>
    ```mlir
    %1 = epl.constrain %0 to <[{}, {"model"} ]> : tensor<8x4xf32>
    ```
  }];
  let dependentDialects = ["EplDialect"];
}

def SeedBatchPass : Pass<"epl-seed-batch", "::mlir::ModuleOp"> {
  let summary = "Shards the batch dimension of batch arguments over the axis \"data\"";
  let description = [{
    Arguments of role "batch" are sharded on their `epl.batch_dim`, also over other axes over which every task
    graph that reads them shards its batch; all others are replicated. Arguments that have a sharding keep it. An axis
    of one device shards nothing. Batches may differ in length; that of each must divide.

    ```mlir
    epl.mesh @mesh axes ["data"=2]
    func.func @main(%w: tensor<4xf32> {epl.role = "state"},
                    %x: tensor<8x4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64})
    ```
    ~~>
    ```mlir
    func.func @main(%w: tensor<4xf32> {epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{} ]>},
                    %x: tensor<8x4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64,
                                         epl.sharding = #epl.sharding<@mesh, [{"data"}, {} ]>})
    ```
  }];
  let dependentDialects = ["EplDialect"];
}

def SeedIterationsPass : Pass<"epl-seed-iterations", "::mlir::ModuleOp"> {
  let summary = "Shards the samples of an iteration where a loop takes the batch part by part";
  let description = [{
    A reshape of the batch to (iterations, samples of an iteration), of which a loop, unrolled or not, takes one iteration after
    the other, is constrained to be sharded along the samples of an iteration. Where axes do not divide these, a
    remark says that devices compute alike.

    ```mlir
    %0 = tensor.expand_shape %x [[0, 1], [2]] output_shape [4, 2, 8] : tensor<8x8xf32> into tensor<4x2x8xf32>
    %1 = epl.loop_slice <0, trip_count = 4> %0 : tensor<4x2x8xf32> -> tensor<2x8xf32>
    ```
    ~~>
    ```mlir
    %0 = tensor.expand_shape %x [[0, 1], [2]] output_shape [4, 2, 8] : tensor<8x8xf32> into tensor<4x2x8xf32>
    %1 = epl.constrain %0 to <[{}, {"data"}, {} ]> : tensor<4x2x8xf32>
    %2 = epl.loop_slice <0, trip_count = 4> %1 : tensor<4x2x8xf32> -> tensor<2x8xf32>
    ```
  }];
  let dependentDialects = ["EplDialect"];
}

def SeedLayoutsPass : Pass<"epl-seed-layouts", "::mlir::ModuleOp"> {
  let summary = "Shards arguments as they arrive from an earlier step";
  let description = [{
    What `epl.arrives` says of an argument becomes its sharding, unless `dims` says how it is split, or the
    argument is no such tensor: one that has segments in one of the steps only.

    ```mlir
    func.func @main(%w: tensor<8x4xf32> {epl.role = "constant", epl.arrives = #epl.sharding<@mesh, [{}, {"model"} ]>, epl.sharding = #epl.sharding<@mesh, [{}, {} ]>})
    ```
    ~~>
    ```mlir
    func.func @main(%w: tensor<8x4xf32> {epl.role = "constant", epl.sharding = #epl.sharding<@mesh, [{}, {"model"} ]>})
    ```
  }];
  let dependentDialects = ["EplDialect"];
}

def SeedResultsPass : Pass<"epl-seed-results", "::mlir::ModuleOp"> {
  let summary = "Has results made in the parts that another step wants";
  let description = [{
    What `epl.wanted` says of a result becomes a constraint on it. That is followed to what the result is made of, by
    the rules of the ops, and where it ends, at positions and constants, there is a constraint, too: so all that is
    made of these, a mean of the result for example, is made in parts. A value that is wanted in two shardings is
    made in both, and what is made of positions and constants by each of its readers.

    ```mlir
    func.func @main(%key: tensor<f32> {epl.role = "constant"})
        -> (tensor<8xf32> {epl.wanted = #epl.sharding<@mesh, [{"model"} ]>}) {
      %0 = linalg.generic {...} outs(%e : tensor<8xf32>) { ^bb0(%o: f32): %i = linalg.index 0 : index ... }
      %1 = linalg.generic {...} ins(%0, %key : tensor<8xf32>, tensor<f32>) ...
      return %1 : tensor<8xf32>
    }
    ```
    ~~>
    ```mlir
    func.func @main(%key: tensor<f32> {epl.role = "constant"}) -> tensor<8xf32> {
      %0 = linalg.generic {...} outs(%e : tensor<8xf32>) { ^bb0(%o: f32): %i = linalg.index 0 : index ... }
      %1 = epl.constrain %0 to <[{"model"} ]> : tensor<8xf32>
      %2 = linalg.generic {...} ins(%1, %key : tensor<8xf32>, tensor<f32>) ...
      %3 = epl.constrain %2 to <[{"model"} ], whole = {"data"}> : tensor<8xf32>
      return %3 : tensor<8xf32>
    }
    ```
  }];
  let dependentDialects = ["EplDialect"];
}

def SeedSplitPass : Pass<"epl-seed-split", "::mlir::ModuleOp"> {
  let summary = "Splits parameters over the axis \"model\", each along the dimension that costs least";
  let description = [{
    A choice costs the multiply-adds that each device does, then the bytes that the devices exchange, both of the
    propagated program. Parameters of equal types that are used alike, as those of equal layers are, are decided together.
    What `dims` of a task graph says of parameters is taken as it is on the axes that it is split over, and the
    others are searched. Only what a task graph multiplies by that does not shard its batch over the axis is split.
    "model2" and so on are searched alike, each after the others. Without an axis "model" nothing is split.
    Experts, parameters that contractions read along a batch dimension which is split, are split along it over the axis
    "data", too, if devices then do no more multiply-adds and exchange less: tokens travel instead of gradients.

    ```mlir
    epl.mesh @mesh axes ["data"=1, "model"=2]
    func.func @main(%w: tensor<8x4xf32> {epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{}, {} ]>}, ...)
    ```
    ~~>
    ```mlir
    func.func @main(%w: tensor<8x4xf32> {epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{}, {"model"} ]>}, ...)
    ```
  }];
  let options = [
    Option<"explain", "explain", "bool", "false",
           "remark as a table, for each kind of parameter, what was chosen, what it costs and what was next">
  ];
  let dependentDialects = ["EplDialect"];
}

def SeedZeroPass : Pass<"epl-seed-zero", "::mlir::ModuleOp"> {
  let summary = "Shards states over the axis \"data\" that every device would have a copy of";
  let description = [{
    At level v1 those that only the optimizer reads: the sums of gradients are scattered where nothing reads them
    whole, every device updates its part, and parameters are gathered once, at the end. At level v2 gradients are
    in parts from where they are summed, whatever reads them: their norm is that of parts, summed. At level v3
    parameters stay in parts between steps and are gathered for each work that reads them with the batch, for
    the forward work and again for the backward work. Gathers wait for nothing, so that their memory is not used
    for anything else within a step: what is saved is saved between steps. A state is sharded along its outermost
    dimension that the axis divides and that is not split; a remark names those that have none. Where task graphs
    share devices, states are sharded over the other axes of the batch, too, along which there are copies of them.

    ```mlir
    epl.mesh @mesh axes ["data"=2]
    func.func @main(%momentum: tensor<8x4xf32> {epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{}, {} ]>}, ...)
    ```
    ~~>
    ```mlir
    func.func @main(%momentum: tensor<8x4xf32> {epl.role = "state", epl.sharding = #epl.sharding<@mesh, [{"data"}, {} ]>}, ...)
    ```
  }];
  let options = [
    Option<"level", "level", "::mlir::epl::ZeroLevel", "::mlir::epl::ZeroLevel::off",
           "what is shared", "::mlir::epl::getZeroLevels()">
  ];
  let dependentDialects = ["EplDialect"];
}

def SeedRowsPass : Pass<"epl-seed-rows", "::mlir::ModuleOp"> {
  let summary = "Exchanges the rows that a batch adds to a table where that moves less than the sum of the tables";
  let description = [{
    Where each member of an axis adds its rows to zeros, as in the gradient of an embedding, a sum of whole tables is
    pending. Constraints make the rows and their positions whole instead: each member adds those of all, in the
    order of the batch, and nothing is pending. Scatters of which one sum is made are constrained together, and only
    if members then exchange fewer bytes, by more than is little to the machine, whatever else is added to the sum or reads an addend of it.

    ```mlir
    %grad = epl.scatter add %rows into %zeros[%ids] of [0] operand_dims [-1, 1] index_dims [0]
      : (tensor<16x8xf32>, tensor<50000x8xf32>, tensor<16xi32>) -> tensor<50000x8xf32>
    ```
    ~~>
    ```mlir
    %0 = epl.constrain %rows to <[{}, {} ], whole = {"data"}> : tensor<16x8xf32>
    %1 = epl.constrain %ids to <[{} ], whole = {"data"}> : tensor<16xi32>
    %grad = epl.scatter add %0 into %zeros[%1] of [0] operand_dims [-1, 1] index_dims [0]
      : (tensor<16x8xf32>, tensor<50000x8xf32>, tensor<16xi32>) -> tensor<50000x8xf32>
    ```
  }];
  let dependentDialects = ["EplDialect"];
}

def SeedSequencePass : Pass<"epl-seed-sequence", "::mlir::ModuleOp"> {
  let summary = "Shards what every device of a split computes whole between a sum and its products";
  let description = [{
    After a product split along what it sums over, all devices get the sum, and compute norms, dropout and
    residual additions alike up to the next product. Such a region is sharded along a dimension in which it is
    parallel, samples or positions: constraints scatter the sums that enter it and gather what leaves it.
    The same bytes move, and each device computes and keeps its part. The gradient of what the region broadcasts, such as a norm's
    gain, is one more pending sum. A region stays whole if the axis divides no such dimension, which a remark
    says, or if devices would exchange more.

    ```mlir
    %y = linalg.matmul ins(%h, %down : ...) ... // sums over a dimension that "model" splits
    %x1 = arith.addf %x, %y : tensor<8x4xf32>
    %2 = linalg.matmul ins(%x1, %up : ...) ... // "model" splits the columns of %up
    ```
    ~~>
    ```mlir
    %y = linalg.matmul ins(%h, %down : ...) ...
    %0 = epl.constrain %y to <[{"model"}, {} ]> : tensor<8x4xf32>
    %x1 = arith.addf %x, %0 : tensor<8x4xf32>
    %1 = epl.constrain %x1 to <[{}, {} ], whole = {"model"}> : tensor<8x4xf32>
    %2 = linalg.matmul ins(%1, %up : ...) ...
    ```
  }];
  let dependentDialects = ["EplDialect"];
}

#endif // EPL_SHARD_SEED_PASSES
