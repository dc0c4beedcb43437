//===- Passes.td - Passes of passes/shard/localize ------------------------===//
#ifndef EPL_SHARD_LOCALIZE_PASSES
#define EPL_SHARD_LOCALIZE_PASSES

include "mlir/Pass/PassBase.td"

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

def NarrowGradientsPass : Pass<"epl-narrow-gradients", "::mlir::ModuleOp"> {
  let summary = "Has sums of gradients exchanged in 16 bits";
  let description = [{
    What completes the sum of a gradient of f32, and nothing else, takes addends that are rounded, and what it makes
    is widened by what reads it. With `f16` addends are multiplied by `scale` before, and the sum is divided by it.
    A sum is a gradient's if backward work makes it, and only work that applies gradients reads it.
    Gradients of other types stay what they are.

    ```mlir
    %1 = epl.from_local %0 : tensor<8xf32> -> !epl.dist<tensor<8xf32>, <@mesh, [{} ], partial = sum{"data"}>>
    %2 = epl.all_reduce %1 {epl.work = #epl.work<@tg0, backward>} : ... -> !epl.dist<tensor<8xf32>, <@mesh, [{} ]>>
    %3 = epl.to_local %2 : ... -> tensor<8xf32>
    ```
    ~~>
    ```mlir
    %1 = linalg.generic ... ins(%0 : tensor<8xf32>) ... { %4 = arith.truncf ... : f32 to bf16 ... } -> tensor<8xbf16>
    %2 = epl.from_local %1 : tensor<8xbf16> -> !epl.dist<tensor<8xbf16>, <@mesh, [{} ], partial = sum{"data"}>>
    %3 = epl.all_reduce %2 ... : ... -> !epl.dist<tensor<8xbf16>, <@mesh, [{} ]>>
    %4 = epl.to_local %3 : ... -> tensor<8xbf16>
    %5 = linalg.generic ... ins(%4 : tensor<8xbf16>) ... { %6 = arith.extf ... : bf16 to f32 ... } -> tensor<8xf32>
    ```
  }];
  let options = [
    Option<"type", "type", "::mlir::epl::GradientType", "::mlir::epl::GradientType::f32",
           "of the elements that are exchanged", "::mlir::epl::getGradientTypes()">,
    Option<"scale", "scale", "int64_t", "128", "what elements of f16 are multiplied by">
  ];
  let dependentDialects = ["EplDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // EPL_SHARD_LOCALIZE_PASSES
