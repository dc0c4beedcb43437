//===- Passes.td - The annotate phase -------------------------------------===//
#ifndef EPL_ANNOTATE_PASSES
#define EPL_ANNOTATE_PASSES

include "mlir/Pass/PassBase.td"

def VerifyInputPass : Pass<"epl-verify-input", "::mlir::ModuleOp"> {
  let summary = "Checks that a module is a training step that the compiler can take";
  let description = [{
    Changes nothing. The module holds one public function with one block; besides it, meshes only.

    - Of the dialect's attributes the function has `epl.default_strategy` and `epl.scopes` at most.
    - Its arguments are ranked tensors of static shape. Each has an `epl.role`; batches, and only they, have an
      `epl.batch_dim`. Batches may differ in length: nodes and edges of a graph.
    - `epl.updates` of a result names a state argument of the same type, no two results the same one. A state
      without an update is kept as it is (evaluation).
    - Its ops are structured ops of linalg on tensors, ops of tensor, arith, math and scf, scopes, and the ops of
      the `epl` dialect that stand for what linalg would hide. Scopes stand at the top level. No calls.
    - Element types are f16, bf16, f32, f64, i1, i8, i16, i32 and i64.

    ```mlir
    func.func public @main(
        %w: tensor<8x4xf32> {epl.role = "state", epl.name = "params['w']"},
        %x: tensor<64x8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64})
        -> (tensor<8x4xf32> {epl.updates = 0 : i64}, tensor<f32>)
    ```
  }];
}

def ApplyDefaultsPass : Pass<"epl-apply-defaults", "::mlir::func::FuncOp"> {
  let summary = "Gives a step without scopes and without a default strategy the default of the project";
  let description = [{
    A step that nobody annotated is one `replicate` over all devices; a remark says so. A step with a scope, as a
    region or in a location, is left alone. With `find-stages` a scope is an error: the whole step is to be cut.

    ```mlir
    func.func @main(...) { ... }
    ```
    becomes
    ```mlir
    func.func @main(...) attributes {epl.default_strategy = #epl.strategy<replicate, 1>} { ... }
    ```
  }];
  let options = [Option<"findStages", "find-stages", "bool", "false", "The compiler chooses the step's stages">];
  let dependentDialects = ["::mlir::epl::EplDialect"];
}

def GeneralizeOpsPass : Pass<"epl-generalize-ops", "::mlir::func::FuncOp"> {
  let summary = "Rewrites named linalg ops, and elementwise ops on tensors, as linalg.generic";
  let description = [{
    Everything below is derived from indexing maps and iterator types, so there is one kind of op to look at.
    Afterwards arith and math compute on scalars only, except for constants. A `linalg.softmax` becomes its
    maximum, exponentials, sum and quotient, a `tensor.concat` an `epl.concatenate`, an `epl.loop_stack` of what
    no iteration changes a broadcast.
    Upstream's patterns drop discardable attributes; that is why this comes before the stamp. No folding and no
    merging of constants: ops of two scopes must stay apart until they carry their work.

    ```mlir
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
    ```
    becomes
    ```mlir
    %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>],
                         iterator_types = ["parallel"]} ins(%cst : f32) outs(%0 : tensor<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::epl::EplDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

def FlattenScopesPass : Pass<"epl-flatten-scopes", "::mlir::func::FuncOp"> {
  let summary = "Inlines scopes and stamps every op with the work that it belongs to";
  let description = [{
    Afterwards the function is one flat list, every op of it but the terminator has an `epl.work`, nothing is
    dead, and `epl.scopes` has one entry for each task graph, in the order in which they begin. A step without ops has one, too.

    The task graph is that of the region or of the scope in the op's location. Scopes of one name are the same
    one, with the `dims` of all of them; each without a name is its own. An op outside every scope belongs to the default strategy, if there is
    one and the op is forward work on an operand. Else it follows its last producer, or, if none has a task graph,
    its first consumer.

    The kind of work is what automatic differentiation left in the location (`NameStack.h`). An op without such a
    mark is of the kind of others of its loop that have one; of no such loop, it is `apply` if it depends on a
    backward value and `forward` if not.

    What makes the operand of an `epl.checkpoint` has an attribute of that name.

    An op in whose location stands "epl.per_micro_batch", between other names, has `epl.per_micro_batch`. It may
    stand in a scope and out of all.

    With `stages` the default strategy's entry says that it is to be cut into so many.

    ```mlir
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32>
        attributes {epl.scopes = {s3 = #epl.scope<replicate, 1, "encoder">}} {
      %0 = math.tanh %x : tensor<4xf32> loc("jit(step)/jvp(epl.s3)/tanh")
      return %0 : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32>
        attributes {epl.scopes = {tg0 = #epl.scope<replicate, 1, "encoder">}} {
      %0 = math.tanh %x {epl.work = #epl.work<@tg0, forward>} : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    ```
  }];
  let options = [Option<"stages", "stages", "int64_t", "1",
                        "How many stages the work of the default strategy is cut into">];
  let dependentDialects = ["::mlir::epl::EplDialect"];
}

def FormTaskgraphsPass : Pass<"epl-form-taskgraphs", "::mlir::ModuleOp"> {
  let summary = "Makes an epl.taskgraph of each scope of a flat step";
  let description = [{
    With `colocate`, or if the sum of the device counts of all scopes does not divide `devices`, scopes without a
    name that replicate, or split, over as many devices are one task graph, with the `dims` of all of them. A scope
    of several `epl.stages` has a task graph for each: `epl.taskgraph @tg0 ... {epl.stages = [@tg0_1]}`.

    ```mlir
    func.func @main(...) attributes {epl.scopes = {tg0 = #epl.scope<replicate, 1, "encoder">}} { ... }
    ```
    becomes
    ```mlir
    epl.taskgraph @tg0 strategy(<replicate, 1>) name("encoder")
    func.func @main(...) { ... }
    ```
  }];
  let options = [Option<"colocate", "colocate", "bool", "false", "several task graphs share all devices">,
                 Option<"devices", "devices", "int64_t", "1", "The number of devices of all task graphs">,
                 Option<"keepUnnamed", "keep-unnamed", "bool", "false", "scopes without a name stay apart">];
  let dependentDialects = ["::mlir::epl::EplDialect"];
}

def LowerPrecisionPass : Pass<"epl-lower-precision", "::mlir::func::FuncOp"> {
  let summary = "Has contractions take operands of bf16 and add up in f32";
  let description = [{
    Mixed precision, `amp.level = o1`. A contraction of f32, an op that multiplies two tensors and adds up the
    products, takes its operands rounded to bf16, widens them again and computes in f32; its result is f32. All else stays f32: what the deny
    list of EPL names (exponentials, logarithms, softmax, norms, means, sums), parameters and states, and
    contractions that apply gradients. Those of other types stay what they are.

    A value is rounded once for all forward and backward work of a task graph that reads it; work that is done
    again for the gradient rounds it again. Where a task graph reads a value rounded only, the one that makes it rounds
    it: half as much is sent. Transposes, reshapes, broadcasts and padding with zeros arrange rounded elements.

    ```mlir
    %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : tensor<8x4xf32>, tensor<4x2xf32>) outs(%zero : tensor<8x2xf32>) {
    ^bb0(%e: f32, %f: f32, %sum: f32):
      %1 = arith.mulf %e, %f : f32
      %2 = arith.addf %sum, %1 : f32
      linalg.yield %2 : f32
    } -> tensor<8x2xf32>
    ```
    becomes
    ```mlir
    %3 = linalg.generic {...} ins(%x : tensor<8x4xf32>) ... { arith.truncf ... } -> tensor<8x4xbf16>
    %4 = linalg.generic {...} ins(%w : tensor<4x2xf32>) ... { arith.truncf ... } -> tensor<4x2xbf16>
    %0 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%3, %4 : tensor<8x4xbf16>, tensor<4x2xbf16>) outs(%zero : tensor<8x2xf32>) {
    ^bb0(%e: bf16, %f: bf16, %sum: f32):
      %1 = arith.extf %e : bf16 to f32
      %2 = arith.extf %f : bf16 to f32
      %5 = arith.mulf %1, %2 : f32
      %6 = arith.addf %sum, %5 : f32
      linalg.yield %6 : f32
    } -> tensor<8x2xf32>
    ```
  }];
  let options = [Option<"explain", "explain", "bool", "false",
                        "Remark which operations take bf16 and which stay f32.">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::epl::EplDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def AssignMeshesPass : Pass<"epl-assign-meshes", "::mlir::ModuleOp"> {
  let summary = "Makes the meshes of devices and puts the task graphs on them";
  let description = [{
    With `devices=4`:

    ```mlir
    epl.taskgraph @tg0 strategy(<replicate, 1>)
    ```
    becomes
    ```mlir
    epl.mesh @mesh axes ["data"=4]
    epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
    ```

    A task graph that is split over two devices gets two replicas:

    ```mlir
    epl.mesh @mesh axes ["data"=2, "model"=2]
    epl.taskgraph @tg0 strategy(<split, 2>) on @mesh
    ```

    Several task graphs have devices of their own, replica by replica of the whole. With `devices=6`:

    ```mlir
    epl.mesh @mesh0 axes ["data"=2] first 0 strides [3]
    epl.mesh @mesh1 axes ["data"=2, "model"=2] first 1 strides [3, 1]
    epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh0
    epl.taskgraph @tg1 strategy(<split, 2>) on @mesh1
    ```

    With `colocate` they share all devices. There is one mesh, of axes for all counts that they are split over. What a task graph
    is not split over is one more axis of its batch: of @tg0 "model" as well as "data".

    ```mlir
    epl.mesh @mesh axes ["data"=2, "model"=2]
    epl.taskgraph @tg0 strategy(<replicate, 1>) on @mesh
    epl.taskgraph @tg1 strategy(<split, 2>) on @mesh
    ```

    With `num-stages` there are as many meshes, and a task graph is on one of them in turn; or `stage-meshes` says the mesh of
    each, and so how many there are: a pipeline with several stages on each mesh. Those of one mesh ask for the same devices.

    A module may bring its mesh, of as many devices, with arguments sharded by hand on it. A mesh that `epl.arrives`
    of arguments names is that of an earlier step: it is taken if all task graphs share their devices, it has as
    many, and the axes over which they are split; else it goes, and what arrives is distributed anew.
  }];
  let options = [Option<"devices", "devices", "int64_t", "1", "The number of devices of all meshes">,
                 Option<"colocate", "colocate", "bool", "false", "several task graphs share all devices">,
                 Option<"numStages", "num-stages", "int64_t", "0",
                        "How many meshes there are; 0: one for each task graph">,
                 ListOption<"stageMeshes", "stage-meshes", "int64_t",
                            "The mesh of each task graph; empty: in turn">];
  let dependentDialects = ["::mlir::epl::EplDialect"];
}

def VerifyGlobalPass : Pass<"epl-verify-global", "::mlir::ModuleOp"> {
  let summary = "Checks the invariant of the global program";
  let description = [{
    Changes nothing. No scope is left, and every op of a function's body but the terminator has an `epl.work`
    that names a task graph on a mesh.
  }];
}

def StripPass : Pass<"epl-strip", "::mlir::ModuleOp"> {
  let summary = "Takes every annotation out of a step: the reference program";
  let description = [{
    Inlines the scopes and drops constraints, meshes, shardings, scope tables and default strategies. Roles,
    names and updates stay: they say what the step is, not how it is parallelized. What is left computes on
    one device what the annotated step computes on many, and is the reference of every test.

    ```mlir
    %0 = epl.split devices(2) -> tensor<4xf32> {
      %1 = math.tanh %x : tensor<4xf32>
      epl.yield %1 : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    %0 = math.tanh %x : tensor<4xf32>
    ```
  }];
}

#endif // EPL_ANNOTATE_PASSES
