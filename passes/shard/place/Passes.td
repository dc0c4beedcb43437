//===- Passes.td - Passes of passes/shard/place ---------------------------===//
#ifndef EPL_SHARD_PLACE_PASSES
#define EPL_SHARD_PLACE_PASSES

include "mlir/Pass/PassBase.td"

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

#endif // EPL_SHARD_PLACE_PASSES
