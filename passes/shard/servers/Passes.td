//===- Passes.td - Passes of passes/shard/servers -------------------------===//
#ifndef EPL_SHARD_SERVERS_PASSES
#define EPL_SHARD_SERVERS_PASSES

include "mlir/Pass/PassBase.td"

def SplitRolesPass : Pass<"epl-split-roles", "::mlir::ModuleOp"> {
  let summary = "Makes of a step a worker's program, or the programs by which servers update parameters";
  let description = [{
    Work that applies gradients is servers', in groups: a parameter, the states that are updated with it, and
    the gradients that workers push. All else is the worker's. With `role=worker` the step becomes the
    worker's program: parameters are constants (`epl.pull`, the argument of the step), and behind the other
    results stand the values that are pushed (`epl.push`, the groups that get them).

    ```mlir
    func.func @main(%w: tensor<8xf32> {epl.role = "state"}, %m: tensor<8xf32> {epl.role = "state"}, %x: ...)
        -> (tensor<8xf32> {epl.updates = 0 : i64}, tensor<8xf32> {epl.updates = 1 : i64}, tensor<f32>)
    ```
    ~~> role=worker
    ```mlir
    func.func @main(%w: tensor<8xf32> {epl.role = "constant", epl.pull = 0 : i64}, %x: ...)
        -> (tensor<f32>, tensor<8xf32> {epl.push = array<i64: 0>})
    ```
    ~~> role=server
    ```mlir
    func.func @apply0(%w: tensor<8xf32> {epl.role = "state"}, %m: tensor<8xf32> {epl.role = "state"},
                      %gradient: tensor<8xf32> {epl.role = "constant"})
        -> (tensor<8xf32> {epl.updates = 0 : i64}, tensor<8xf32> {epl.updates = 1 : i64})
    ```

    With `role=server` the module has nothing but these: ordinary steps without scopes and stamps, one for each
    distinct program of a block, and `epl.servers`, which says who holds what (docs/design.md, 7). Both roles
    deal out a step alike, with the same names. A state that follows from itself alone, such as a count of
    steps, is one of each block that reads it. Numbers of several parameters' gradients, such as their norm,
    are workers' work; a remark of role=server says so. What else mixes groups is an error.

    A parameter of at least two times `min-block-size` elements is cut along dimension 0 into blocks for
    `servers` servers, as Fluid's slice_variable does, if its update mixes no rows: else a remark says which
    op does.

    A step that applies no gradients is an error, unless servers hold rows of tables for it (`with-tables`):
    then all of it is the worker's.
  }];
  let options = [
    Option<"role", "role", "ServerRole", "ServerRole::worker", "Whose program is made",
           [{::llvm::cl::values(clEnumValN(ServerRole::worker, "worker", "the worker's"),
                                clEnumValN(ServerRole::server, "server", "those of servers"))}]>,
    Option<"servers", "servers", "int64_t", "1", "How many servers share parameters">,
    Option<"minBlockSize", "min-block-size", "int64_t", "8192",
           "The elements of a block at least, of a parameter that has them">,
    Option<"slice", "slice", "bool", "true", "Cut parameters into blocks">,
    Option<"compensate", "compensate", "bool", "false",
           "Compensate gradients for what was applied since their worker had the parameter (DC-ASGD)">,
    Option<"withTables", "with-tables", "bool", "false",
           "Take a step of which servers hold nothing else than rows of tables">,
    Option<"program", "program", "std::string", [{""}], "The one program of servers to keep; empty: all">
  ];
  let dependentDialects = ["EplDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // EPL_SHARD_SERVERS_PASSES
