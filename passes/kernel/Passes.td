//===- Passes.td - The kernel phase --------------------------------===//
#ifndef EPL_KERNEL_PASSES
#define EPL_KERNEL_PASSES

include "mlir/Pass/PassBase.td"

def NormalizeContractions : Pass<"epl-normalize-contractions", "::mlir::ModuleOp"> {
  let summary = "Folds transposes and broadcasts round contractions into their maps";
  let description = [{
    The result's minor dimension comes from the second operand afterwards.

    ```mlir
    %1 = linalg.generic {... (d2, d0), (d2, d1), (d0, d1) ...} ins(%dy, %x) outs(%fill : tensor<10x512xf32>) ...
    %2 = linalg.generic {... (d1, d0), (d0, d1) ...} ins(%1 : tensor<10x512xf32>) outs(%0 : tensor<512x10xf32>) ...
    ```
    becomes
    ```mlir
    %2 = linalg.generic {... (d2, d1), (d2, d0), (d1, d0) ...} ins(%x, %dy) outs(%fill : tensor<512x10xf32>) ...
    ```
  }];
}

def FormKernels : Pass<"epl-form-kernels", "::mlir::ModuleOp"> {
  let summary = "Groups the ops of each task into clusters";
  let description = [{
    Afterwards a task body holds `epl.cluster`s and views only. A contraction is a cluster of its own. Cheap
    ops (constants, fills, broadcasts) are computed again in each cluster that reads them.

    ```mlir
    %0 = tensor.empty() : tensor<4xf32>
    %1 = linalg.generic ... ins(%x : tensor<4xf32>) outs(%0 : tensor<4xf32>) ...
    ```
    becomes
    ```mlir
    %1 = epl.cluster fusion (%x) : (tensor<4xf32>) -> (tensor<4xf32>) {
    ^bb0(%in: tensor<4xf32>):
      %0 = tensor.empty() : tensor<4xf32>
      %2 = linalg.generic ... ins(%in : tensor<4xf32>) outs(%0 : tensor<4xf32>) ...
      epl.yield %2 : tensor<4xf32>
    }
    ```
  }];
}

def OutlineKernels : Pass<"epl-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "Turns clusters into kernels that equal clusters share";
  let description = [{
    Two clusters are equal if their bodies are, locations and discardable attributes aside.

    ```mlir
    %1 = epl.cluster fusion (%x) : (tensor<4xf32>) -> (tensor<4xf32>) { ... }
    ```
    becomes
    ```mlir
    %1 = epl.launch @k0_exp(%x) : (tensor<4xf32>) -> (tensor<4xf32>)
    ...
    epl.kernel @k0_exp fusion { ... }
    ```
  }];
}

def MatchContractions : Pass<"epl-match-contractions", "::mlir::ModuleOp"> {
  let summary = "Finds the kernels that a matrix library runs";
  let description = [{
    A contraction in f32 or f64 that is a batch of matrix products in the library's sense, strides and
    transposes included, gets `gemm`. A dimension that cannot be merged into m or n becomes part of the batch.
    If the init is an input, the call accumulates and `in_place` names that input: who calls the kernel gives
    both the same storage or copies the input to the output first.

    ```mlir
    epl.kernel @k0_matmul contraction { ^bb0(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>): ... }
    ```
    becomes
    ```mlir
    epl.kernel @k0_matmul contraction { ... } {gemm = #epl.gemm<m = 4, n = 2, k = 8, lda = 8, ldb = 2, ldc = 2,
        transpose_a = false, transpose_b = false, accumulate = false>}
    ```
  }];
}

def VerifyKernels : Pass<"epl-verify-kernels", "::mlir::ModuleOp"> {
  let summary = "Checks that tasks hold launches and views only";
  let description = [{
    Changes nothing. Fails at the first op that the kernel level does not allow.
  }];
}

#endif // EPL_KERNEL_PASSES
