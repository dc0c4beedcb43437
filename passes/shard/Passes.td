//===- Passes.td - The shard phase ----------------------------------------===//
#ifndef EPL_SHARD_PASSES
#define EPL_SHARD_PASSES

include "mlir/Pass/PassBase.td"

def UnrollLoopsPass : Pass<"epl-unroll-loops", "::mlir::ModuleOp"> {
  let summary = "Unrolls loops of which several meshes have a part";
  let description = [{
    The ops of a loop whose iterations have forward or backward work of task graphs on several meshes are written
    down for each iteration, so that each can send and receive. A remark says so; of more than 20,000 operations it
    is an error. All other loops stay.

    ```mlir
    %0 = epl.loop_carry <0, trip_count = 2> 0 %x : tensor<8xf32> -> tensor<8xf32>
    %1 = math.sin %0 {epl.work = #epl.work<@tg0, forward>} : tensor<8xf32>
    %2 = math.cos %1 {epl.work = #epl.work<@tg1, forward>} : tensor<8xf32>
    %3 = epl.loop_last <0, trip_count = 2> 0 %2 : tensor<8xf32>
    ```
    ~~>
    ```mlir
    %1 = math.sin %x {epl.work = #epl.work<@tg0, forward>} : tensor<8xf32>
    %2 = math.cos %1 {epl.work = #epl.work<@tg1, forward>} : tensor<8xf32>
    %3 = math.sin %2 {epl.work = #epl.work<@tg0, forward>} : tensor<8xf32>
    %4 = math.cos %3 {epl.work = #epl.work<@tg1, forward>} : tensor<8xf32>
    ```
  }];
  let dependentDialects = ["EplDialect", "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

def SplitMeshesPass : Pass<"epl-split-meshes", "::mlir::ModuleOp"> {
  let summary = "Deals a program out to the meshes of its task graphs, one function for each";
  let description = [{
    Forward and backward work stands on the mesh of its task graph, a loop as a whole. What applies gradients stands where most of
    what it reads is, a state where it is updated. A value that another mesh reads becomes a result of one
    function and an argument of the other, with the number of an `epl.channel`; an argument that counts samples
    says so. What is made of constants alone, or of less than half as much, is made by each reader. With one mesh nothing happens.

    ```mlir
    func.func @main(%w: tensor<4xf32> {epl.role = "state"},
                    %x: tensor<8x4xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<8x4xf32> {
      %0 = linalg.generic {..., epl.work = #epl.work<@tg0, forward>} ins(%x, %w : ...) ...
      %1 = linalg.generic {..., epl.work = #epl.work<@tg1, forward>} ins(%0 : ...) ...
      return %1 : tensor<8x4xf32>
    }
    ```
    ~~>
    ```mlir
    func.func @main.mesh0(%w: tensor<4xf32> {epl.position = 0 : i64, epl.role = "state"},
                          %x: tensor<8x4xf32> {epl.batch_dim = 0 : i64, epl.position = 1 : i64, epl.role = "batch"})
        -> (tensor<8x4xf32> {epl.channel = 0 : i64}) attributes {epl.mesh = @mesh0} {
      %0 = linalg.generic {..., epl.work = #epl.work<@tg0, forward>} ins(%x, %w : ...) ...
      return %0 : tensor<8x4xf32>
    }
    func.func @main.mesh1(%0: tensor<8x4xf32> {epl.batch_dim = 0 : i64, epl.channel = 0 : i64})
        -> (tensor<8x4xf32> {epl.position = 0 : i64}) attributes {epl.mesh = @mesh1} {
      %1 = linalg.generic {..., epl.work = #epl.work<@tg1, forward>} ins(%0 : ...) ...
      return %1 : tensor<8x4xf32>
    }
    ```
  }];
}

def SimplifyBranchesPass : Pass<"epl-simplify-branches", "::mlir::ModuleOp"> {
  let summary = "Takes the known side of selections within a branch";
  let description = [{
    What is read only by one side of selections by a scalar predicate is a branch. In it, a selection by the
    same predicate is that side: what a branch leaves for its own gradient is not copied.

    ```mlir
    %r = linalg.generic {...} ins(%p, %zero, %x : ...) { ^bb0(%c: i1, ...): arith.select %c, %a, %b : f32 ... }
    %d = linalg.matmul ins(%r, %g : ...) ...
    %1 = linalg.generic {...} ins(%p, %y, %d : ...) { ^bb0(%c: i1, ...): arith.select %c, %a, %b : f32 ... }
    ```
    ~~>
    ```mlir
    %d = linalg.matmul ins(%x, %g : ...) ...
    %1 = linalg.generic {...} ins(%p, %y, %d : ...) { ^bb0(%c: i1, ...): arith.select %c, %a, %b : f32 ... }
    ```
  }];
}

def SinkLeafWorkPass : Pass<"epl-sink-leaf-work", "::mlir::ModuleOp"> {
  let summary = "Gives ops that depend on no batch the work of their users";
  let description = [{
    An op that depends on states and constants only takes the `epl.work` that all of its users have. Nothing
    else changes.

    ```mlir
    %0 = arith.mulf %mu, %b1 {epl.work = #epl.work<@tg0, forward>} : tensor<8xf32>
    %1 = arith.addf %0, %g {epl.work = #epl.work<@tg0, apply>} : tensor<8xf32>
    ```
    ~~>
    ```mlir
    %0 = arith.mulf %mu, %b1 {epl.work = #epl.work<@tg0, apply>} : tensor<8xf32>
    %1 = arith.addf %0, %g {epl.work = #epl.work<@tg0, apply>} : tensor<8xf32>
    ```
  }];
}

def RematerializePass : Pass<"epl-rematerialize", "::mlir::ModuleOp"> {
  let summary = "Makes cheap values of the forward work again in the backward work";
  let description = [{
    A value of the forward work that only elementwise ops and reductions of later works read, and that a few
    cheap elementwise ops make from values that are kept anyway, is rematerialized there instead of being kept.

    ```mlir
    %1 = linalg.generic {..., epl.work = #fwd} ins(%t : ...) { ^bb0(%e: f32, ...): arith.mulf %e, %e ... }
    %2 = linalg.generic {..., epl.work = #bwd} ins(%1, %t : ...) {...}
    ```
    ~~>
    ```mlir
    %1 = linalg.generic {..., epl.work = #bwd} ins(%t : ...) { ^bb0(%e: f32, ...): arith.mulf %e, %e ... }
    %2 = linalg.generic {..., epl.work = #bwd} ins(%1, %t : ...) {...}
    ```
  }];
}

def RematerializeIterationsPass : Pass<"epl-rematerialize-iterations", "::mlir::ModuleOp"> {
  let summary = "Makes cheap values of one loop's iterations again in the iterations of another one";
  let description = [{
    A value that a loop stacks for the iterations of one other loop, and that a few cheap elementwise ops make from
    what those iterations have anyway, is rematerialized there instead of being stacked.

    ```mlir
    %1 = linalg.generic {...} ins(%t : ...) { ^bb0(%e: f32, ...): arith.mulf %e, %e ... }
    %s = epl.loop_stack <0, trip_count = 24> %1 : tensor<8xf32> -> tensor<24x8xf32>
    %ts = epl.loop_stack <0, trip_count = 24> %t : tensor<8xf32> -> tensor<24x8xf32>
    ...
    %2 = epl.loop_slice <1, trip_count = 24> reverse %s : tensor<24x8xf32> -> tensor<8xf32>
    %3 = epl.loop_slice <1, trip_count = 24> reverse %ts : tensor<24x8xf32> -> tensor<8xf32>
    ```
    ~~>
    ```mlir
    %ts = epl.loop_stack <0, trip_count = 24> %t : tensor<8xf32> -> tensor<24x8xf32>
    ...
    %3 = epl.loop_slice <1, trip_count = 24> reverse %ts : tensor<24x8xf32> -> tensor<8xf32>
    %2 = linalg.generic {...} ins(%3 : ...) { ^bb0(%e: f32, ...): arith.mulf %e, %e ... }
    ```
  }];
}

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

def ExpandSegmentsPass : Pass<"epl-expand-segments", "::mlir::ModuleOp"> {
  let summary = "Makes dimensions of the segments or parts that a dimension is cut into";
  let description = [{
    A dimension that slices cut into segments of one extent, or that a concatenation makes of them, becomes two
    in all tensors that share it: (segments, extent of each). Axes can split the inner one, and slices at the
    border of segments move nothing then. The elements of an argument keep their order, and it keeps the
    caller's shape in `epl.caller_shape`. Parts of different extents, if an axis divides each, become (shares, extent of one)
    instead, a piece of every part in each share; the caller's order is in `epl.caller_parts` then. Nothing
    happens without an axis of a split, to dimensions that no parameter has a part in, and to parts that the
    axis does not divide. Where an op has no such form, it gets the tensor as it was.

    ```mlir
    epl.mesh @mesh axes ["model"=2]
    func.func @main(%w: tensor<6x24xf32> {epl.role = "state"}, %x: tensor<4x6xf32>) {
      %0 = linalg.generic ... ins(%x, %w) ... -> tensor<4x24xf32>
      %q = tensor.extract_slice %0[0, 0] [4, 8] [1, 1] : tensor<4x24xf32> to tensor<4x8xf32>
      %k = tensor.extract_slice %0[0, 8] [4, 8] [1, 1] : tensor<4x24xf32> to tensor<4x8xf32>
    ```
    ~~>
    ```mlir
    func.func @main(%w: tensor<6x3x8xf32> {epl.caller_shape = array<i64: 6, 24>, epl.role = "state"}, ...) {
      %0 = linalg.generic ... ins(%x, %w) ... -> tensor<4x3x8xf32>
      %q = tensor.extract_slice %0[0, 0, 0] [4, 1, 8] [1, 1, 1] : tensor<4x3x8xf32> to tensor<4x8xf32>
      %k = tensor.extract_slice %0[0, 1, 0] [4, 1, 8] [1, 1, 1] : tensor<4x3x8xf32> to tensor<4x8xf32>
    ```
  }];
  let dependentDialects = ["EplDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
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

def SeedSplitPass : Pass<"epl-seed-split", "::mlir::ModuleOp"> {
  let summary = "Splits parameters over the axis \"model\", each along the dimension that costs least";
  let description = [{
    A choice costs the multiply-adds that each device does, then the bytes that the devices exchange, both of the
    propagated program. Parameters of equal types whose names differ in numbers only are decided together.
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

def PropagatePass : Pass<"epl-propagate", "::mlir::ModuleOp"> {
  let summary = "Gives every value a sharding, starting from those of the arguments";
  let description = [{
    Forward, each op shards the factor that its sharded operands ask for; the largest wins. A sharded reduction
    makes its result partial, which stays so through linear ops. An `epl.constrain` shards what it says. Then once in reverse: replicated producers that
    all users slice are sharded. Arguments without a sharding take part and are tied to the results that
    update them. No op is added.

    ```mlir
    func.func @main(%x: tensor<8x4xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {} ]>}) -> tensor<4xf32> {
      %z = arith.constant dense<0.0> : tensor<4xf32>
      %0 = linalg.reduce { arith.addf } ins(%x : tensor<8x4xf32>) outs(%z : tensor<4xf32>) dimensions = [0]
    ```
    ~~>
    ```mlir
      %z = arith.constant {epl.sharding = [#epl.sharding<@mesh, [{} ]>]} dense<0.0> : tensor<4xf32>
      %0 = linalg.reduce { arith.addf } ... {epl.sharding = [#epl.sharding<@mesh, [{} ], partial = sum{"data"}>]}
    ```
  }];
  let options = [
    Option<"printRules", "print-rules", "bool", "false",
           "remark on every op which dimensions share a factor, what it reduces and what is blocked">
  ];
  let dependentDialects = ["EplDialect"];
}

def PlacePass : Pass<"epl-place", "::mlir::ModuleOp"> {
  let summary = "Inserts a reshard wherever a value must change its distribution";
  let description = [{
    Pending sums are completed once for each value, where that costs least in bytes and sums: a minimum cut (after
    an addition, before a broadcast or a widening cast); at equal cost at the end of the work that makes them. Other pending reductions are completed at once. Operands that
    lost the vote of their op are gathered, replicated ones sliced, and what is constrained becomes what was
    said: the constraints go. There is one reshard for each value and target, and none for what is made of constants: that is rematerialized. A result that updates an argument
    returns in its sharding, the others keep theirs.

    ```mlir
      %0 = linalg.reduce { arith.addf } ... {epl.sharding = [#epl.sharding<@mesh, [{} ], partial = sum{"data"}>]}
      return %0 : tensor<4xf32>
    ```
    ~~>
    ```mlir
      %0 = linalg.reduce { arith.addf } ... {epl.sharding = [#epl.sharding<@mesh, [{} ], partial = sum{"data"}>]}
      %1 = epl.reshard %0 to <@mesh, [{} ]> : tensor<4xf32>
      return %1 : tensor<4xf32>
    ```
  }];
  let options = [
    Option<"explain", "explain", "bool", "false",
           "remark where a value is wanted with two shardings which was dropped, and why, and where each pending "
           "reduction is completed, and for whom">
  ];
  let dependentDialects = ["EplDialect"];
}

def VerifyShardedPass : Pass<"epl-verify-sharded", "::mlir::ModuleOp"> {
  let summary = "Checks that the shardings of operands and results agree with the rules of their ops";
  let description = [{
    Changes nothing. Every tensor has a sharding that fits it; the operands of an op are sharded as the factor
    that it shards asks for, its results follow, only linear ops read partial values, and no result of the
    function is partial.
  }];
}

def LocalizePass : Pass<"epl-localize", "::mlir::ModuleOp"> {
  let summary = "Rewrites the program into what one rank computes";
  let description = [{
    Obeys the shardings and reshards of a global program (after `epl-place`); decides nothing. Arguments and
    results become `!epl.dist`, every op works on local tensors, a reshard becomes collectives and slices, and
    positions (`linalg.index`, offsets of slices) count from the beginning of the rank's part. Every op
    that makes tensors keeps its `epl.sharding`.

    ```mlir
    func.func @main(%x: tensor<8x4xf32> {epl.sharding = #epl.sharding<@mesh, [{"data"}, {} ]>}) -> tensor<4xf32> {
      %0 = linalg.generic ... ins(%x) ... {epl.sharding = [<@mesh, [{} ], partial = sum{"data"}>]} -> tensor<4xf32>
      %1 = epl.reshard %0 to <@mesh, [{} ]> : tensor<4xf32>
      return %1 : tensor<4xf32>
    }
    ```
    ~~>
    ```mlir
    func.func @main(%x: !epl.dist<tensor<8x4xf32>, <@mesh, [{"data"}, {} ]>>) -> !epl.dist<tensor<4xf32>, <@mesh, [{} ]>> {
      %0 = epl.to_local %x : ... -> tensor<4x4xf32>
      %1 = linalg.generic ... ins(%0) ... -> tensor<4xf32>
      %2 = epl.from_local %1 : tensor<4xf32> -> !epl.dist<tensor<4xf32>, <@mesh, [{} ], partial = sum{"data"}>>
      %3 = epl.all_reduce %2 : ... -> !epl.dist<tensor<4xf32>, <@mesh, [{} ]>>
      %4 = epl.to_local %3 : ... -> tensor<4xf32>
      %5 = epl.from_local %4 : ...
      return %5 : ...
    }
    ```
  }];
  let dependentDialects = ["EplDialect", "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::tensor::TensorDialect"];
}

def VerifyLocalPass : Pass<"epl-verify-local", "::mlir::ModuleOp"> {
  let summary = "Checks that only local shapes are left";
  let description = [{
    Changes nothing. No reshard is left, arguments and results of functions are no plain tensors, and every op that
    makes tensors says what they are parts of.
  }];
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

#endif // EPL_SHARD_PASSES
