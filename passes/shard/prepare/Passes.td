//===- Passes.td - Passes of passes/shard/prepare -------------------------===//
#ifndef EPL_SHARD_PREPARE_PASSES
#define EPL_SHARD_PREPARE_PASSES

include "mlir/Pass/PassBase.td"

def UnrollLoopsPass : Pass<"epl-unroll-loops", "::mlir::ModuleOp"> {
  let summary = "Unrolls loops of which several meshes have a part";
  let description = [{
    The ops of a loop whose iterations have forward or backward work of task graphs on several meshes are written
    down for each iteration, so that each can send and receive. A remark says so; of more than 20,000 operations it
    is an error. So are loops with such work of a task graph that is cut into stages. All other loops stay.

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

def RecomputePass : Pass<"epl-recompute", "::mlir::ModuleOp"> {
  let summary = "Has forward work between kept values done again for the gradient";
  let description = [{
    Of the forward work of a task graph some values are kept for the backward work: with `collection` those of ops
    that have an `epl.checkpoint`, which `epl-flatten-scopes` makes of the ops of that name, with `auto` the
    narrowest, about as many as the square root of all. Ops before them that the backward work needs are cloned
    as work `recompute`, in front of the first reader, and read kept values, arguments, forms of parameters and
    what other task graphs have made. What no kept value is made of stays as it is. `epl.checkpoint` goes.

    Values in loops are all kept, but for those over micro-batches. With `collection`, a value that no gradient needs
    is as if it were not named; a warning says so if there is no other.

    ```mlir
    %1 = math.sin %x {epl.work = #fwd} : tensor<8xf32>
    %2 = math.exp %1 {epl.checkpoint, epl.work = #fwd} : tensor<8xf32>
    ...
    %3 = linalg.generic {..., epl.work = #bwd} ins(%1, %g : ...) {...}
    ```
    ~~>
    ```mlir
    %1 = math.sin %x {epl.work = #fwd} : tensor<8xf32>
    %2 = math.exp %1 {epl.work = #fwd} : tensor<8xf32>
    ...
    %4 = math.sin %x {epl.work = #epl.work<@tg0, recompute>} : tensor<8xf32>
    %3 = linalg.generic {..., epl.work = #bwd} ins(%4, %g : ...) {...}
    ```
  }];
  let options = [Option<"mode", "mode", "::mlir::epl::RecomputeMode", "::mlir::epl::RecomputeMode::off",
                        "Which values are kept.", "::mlir::epl::getRecomputeModes()">,
                 Option<"endTaskgraph", "end-taskgraph", "int64_t", "-1",
                        "The last task graph of which work is done again; -1: all">];
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

def RaiseArrangementsPass : Pass<"epl-raise-arrangements", "::mlir::ModuleOp"> {
  let summary = "Has results made as they are arranged for another step";
  let description = [{
    Where results are what another step wants (`epl.wanted`), slices, reshapes and concatenations at their end are
    taken of what makes them: an op whose result is sliced or reshaped is replaced by one that makes what is taken of
    it, of operands that are sliced or reshaped so, up to what is smaller than what it makes.

    ```mlir
    %0 = linalg.generic {...} outs(%e : tensor<4x8xf32>) { ^bb0(%o: f32): %i = linalg.index 0 : index ... }
    %1 = linalg.generic {...} ins(%0 : tensor<4x8xf32>) { ^bb0(%a: f32, ...): math.sin %a ... }
    %2 = tensor.extract_slice %1[2, 0] [2, 8] [1, 1] : tensor<4x8xf32> to tensor<2x8xf32>
    ```
    ~~>
    ```mlir
    %0 = linalg.generic {...} outs(%e : tensor<2x8xf32>) { ^bb0(%o: f32): %i = linalg.index 0 : index; %j = arith.addi %i, %c2 ... }
    %2 = linalg.generic {...} ins(%0 : tensor<2x8xf32>) { ^bb0(%a: f32, ...): math.sin %a ... }
    ```
  }];
  let dependentDialects = ["EplDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
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
    An op that depends on states and constants only takes the `epl.work` that all of its users have, unless it is of
    work `recompute`. Nothing else changes.

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

#endif // EPL_SHARD_PREPARE_PASSES
