//===- Passes.td - The kernel phase --------------------------------===//
#ifndef EPL_KERNEL_PASSES
#define EPL_KERNEL_PASSES

include "mlir/Pass/PassBase.td"

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

def VerifyKernels : Pass<"epl-verify-kernels", "::mlir::ModuleOp"> {
  let summary = "Checks that tasks hold launches and views only";
  let description = [{
    Changes nothing. Fails at the first op that the kernel level does not allow.
  }];
}

#endif // EPL_KERNEL_PASSES
