//===- Passes.td - The kernel phase --------------------------------===//
#ifndef EPL_KERNEL_PASSES
#define EPL_KERNEL_PASSES

include "mlir/Pass/PassBase.td"

def DecomposeGathers : Pass<"epl-decompose-gathers", "::mlir::ModuleOp"> {
  let summary = "Turns gathers into generics that extract elements";
  let description = [{
    They can share a kernel with what reads them then. Positions are moved into the operand.

    ```mlir
    %1 = epl.gather %x[%i] of [0] operand_dims [-1, 1] index_dims [0] : (tensor<9x4xf32>, tensor<2xi32>) -> tensor<2x4xf32>
    ```
    becomes
    ```mlir
    %0 = tensor.empty() : tensor<2x4xf32>
    %1 = linalg.generic {... (d0), (d0, d1) ... ["parallel", "parallel"]} ins(%i : tensor<2xi32>) outs(%0 : tensor<2x4xf32>) {
    ^bb0(%position: i32, %out: f32):
      ... // the row: %position in [0, 8]
      %column = linalg.index 1 : index
      %element = tensor.extract %x[%row, %column] : tensor<9x4xf32>
      linalg.yield %element : f32
    } -> tensor<2x4xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def SimplifyGenerics : Pass<"epl-simplify-generics", "::mlir::ModuleOp"> {
  let summary = "Turns copies and reductions that only reshape into reshapes, empties inits that are not read";
  let description = [{
    ```mlir
    %1 = linalg.generic {... (d0, d1), (d1) ... ["reduction", "parallel"]} ins(%x : tensor<1x8xf32>) outs(%zeros : tensor<8xf32>) ...
    ```
    becomes
    ```mlir
    %1 = tensor.collapse_shape %x [[0, 1]] : tensor<1x8xf32> into tensor<8xf32>
    ```
  }];
}

def NormalizeContractions : Pass<"epl-normalize-contractions", "::mlir::ModuleOp"> {
  let summary = "Folds transposes, broadcasts and reversals round contractions into their maps";
  let description = [{
    Transposes that keep rows go through what makes each element of one, such as a scale. The result's minor
    dimension comes from the second operand afterwards. An operand whose elements have zeros between them becomes an
    `insert_slice` that does only this, of a padded source, right before the contraction.

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

def AccumulateContractions : Pass<"epl-accumulate-contractions", "::mlir::ModuleOp"> {
  let summary = "Lets contractions start from what a loop carries instead of being added to it";
  let description = [{
    Where the addition makes the next value that is carried, and nothing else reads the one before, so that the
    product can be added to it in its place.

    ```mlir
    %1 = linalg.generic {...} ins(%x, %dy) outs(%zeros : tensor<8x4xf32>) ... // a product
    %2 = linalg.generic {...} ins(%carried, %1 : tensor<8x4xf32>, tensor<8x4xf32>) outs(%0 : tensor<8x4xf32>) ... // a sum
    ```
    becomes
    ```mlir
    %2 = linalg.generic {...} ins(%x, %dy) outs(%carried : tensor<8x4xf32>) ...
    ```
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def FormKernels : Pass<"epl-form-kernels", "::mlir::ModuleOp"> {
  let summary = "Groups the ops of each task into clusters";
  let description = [{
    Afterwards a task body holds `epl.cluster`s and views only. A contraction is a cluster of its own, together
    with the `insert_slice` that puts zeros between the elements of an operand. Cheap ops (constants, fills,
    broadcasts) are computed again in each cluster that reads them.

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
  let options = [
    Option<"maxOps", "max-ops", "int64_t", "250", "Ops that one cluster may hold">,
    Option<"maxOperands", "max-operands", "int64_t", "48", "Distinct tensors that one cluster may read or write">
  ];
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
    A contraction in f32, f64, bf16 or f16 that is a batch of matrix products in the library's sense, strides and
    transposes included, gets `gemm`; so do convolutions whose windows do not overlap. Products of bf16 or f16 may
    be widened to f32 before they are summed. A dimension that cannot be
    merged into m or n becomes part of the batch, unless it is longer than they are: then the kernel is left to
    loops of our own.
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

def MatchCopies : Pass<"epl-match-copies", "::mlir::ModuleOp"> {
  let summary = "Finds the kernels that do nothing but copy their inputs or a part of one";
  let description = [{
    A slice whose elements lie side by side in memory is a copy of these bytes, reshaped or not, and so is each
    part of a concatenation that lies so in the result. No code is made for them, so that the number of kernels
    with code does not grow with the layers of a stack.

    ```mlir
    epl.kernel @k0_extract_slice fusion {
    ^bb0(%stack: tensor<24x8x4xf32>):
      %0 = tensor.extract_slice %stack[2, 0, 0] [1, 8, 4] [1, 1, 1] : tensor<24x8x4xf32> to tensor<8x4xf32>
      epl.yield %0 : tensor<8x4xf32>
    }
    ```
    becomes
    ```mlir
    epl.kernel @k0_extract_slice fusion { ... } {copies = [#epl.copy<from = 256, to = 0, size = 128>]}
    ```
  }];
}

def MarkInPlace : Pass<"epl-mark-in-place", "::mlir::ModuleOp"> {
  let summary = "Says which results of fused kernels may take the storage of inputs";
  let description = [{
    Only pairs that some launch gains from: a result that updates the state that the input is, or an input
    that nothing else reads. Right for loop nests that pass over the domain row by row; lowering removes what
    its nest does not keep.

    ```mlir
    %1 = epl.launch @k0_sub(%weight, %update) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    epl.kernel @k0_sub fusion { ... }
    ```
    becomes
    ```mlir
    epl.kernel @k0_sub fusion { ... } {in_place = array<i32: 0>}
    ```
  }];
}

def VerifyKernels : Pass<"epl-verify-kernels", "::mlir::ModuleOp"> {
  let summary = "Checks that tasks hold launches and views only";
  let description = [{
    Changes nothing. Fails at the first op that the kernel level does not allow.
  }];
}

def FoldEpilogues : Pass<"epl-fold-epilogues", "::mlir::ModuleOp"> {
  let summary = "Lets the library of GPUs add biases and apply activations to its products";
  let description = [{
    A kernel that adds a bias along the last dimensions of its input, or takes its maximum with zero, or its GELU
    (that with tanh), or both, and alone reads what a product of the library writes, becomes part of the product.
    The product is in f32, bf16 or f16, as its operands are, and does not accumulate.

    ```mlir
    %0 = epl.launch @k0_matmul(%a, %b) : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
    %1 = epl.launch @k1_add_maximum(%0, %bias) : (tensor<4x2xf32>, tensor<1x2xf32>) -> tensor<4x2xf32>
    ```
    becomes
    ```mlir
    %1 = epl.launch @k0_matmul_add_maximum(%a, %b, %bias)
        : (tensor<4x8xf32>, tensor<8x2xf32>, tensor<1x2xf32>) -> tensor<4x2xf32>
    epl.kernel @k0_matmul_add_maximum contraction { ... } {epilogue = #epl.epilogue<bias = true, activation = relu>,
        gemm = #epl.gemm<...>}
    ```
  }];
}

def MatchConvolutions : Pass<"epl-match-convolutions", "::mlir::ModuleOp"> {
  let summary = "Finds the convolutions that a library of GPUs runs";
  let description = [{
    A kernel that is one contraction, not a matrix product, gets `convolution` if it is a convolution of 1 to 3 axes or
    a gradient of one: strided, dilated, in groups, with zeros around the image or between its elements, in f32, f64,
    bf16 or f16, whatever the order of dimensions in memory. It keeps its code, which runs where there is no library.

    ```mlir
    epl.kernel @k0_matmul contraction {
    ^bb0(%x: tensor<8x14x14x3xf32>, %w: tensor<3x3x3x4xf32>): ...
    }
    ```
    gets
    ```mlir
    {convolution = #epl.convolution<output, operands = [0, 1, 2], flips = false, accumulate = false,
        samples = [8, 588, 0, 576], groups = [1, 0, 0, 0], channels = [3, 1, 4, 0], features = [4, 0, 1, 1],
        axes = [14, 3, 12, 42, 36, 48, 1, 1, 0, 0, 14, 3, 12, 3, 12, 4, 1, 1, 0, 0]>}
    ```
  }];
}

def MatchAttention : Pass<"epl-match-attention", "::mlir::ModuleOp"> {
  let summary = "Finds the products that a library of GPUs runs as attention, with what is before them";
  let description = [{
    A product `p v` in bf16 or f16 gets `attention` and q and k as further inputs, if `p` is a softmax along rows of
    `q k^T`, scaled by a constant, with a causal mask or none, and nobody else reads `p` or what it is made of,
    but launches that make nothing else than the gradients of q, k and v. These are put together, and behind them a
    launch gives the gradients on, which is the library's; it reads what the product has kept of each row, its second
    result then. Heads of q that stand side by side may share one of k and v. All launches stay: they are what runs
    where there is no library.

    ```mlir
    %0 = epl.launch @k0_matmul(%q, %k) : (tensor<4x32x2x16xbf16>, tensor<4x32x2x16xbf16>) -> tensor<4x2x32x32xf32>
    %1 = epl.launch @k1_exp_mul(%0) : (tensor<4x2x32x32xf32>) -> tensor<4x2x32x32xbf16>
    %2 = epl.launch @k2_matmul(%1, %v) : (tensor<4x2x32x32xbf16>, tensor<4x32x2x16xbf16>) -> tensor<4x32x2x16xbf16>
    ```
    becomes
    ```mlir
    %2 = epl.launch @k2_matmul_attention(%1, %v, %q, %k) : ...
    epl.kernel @k2_matmul_attention contraction { ... }
        {attention = #epl.attention<scale = 2.500000e-01 : f32, causal = true>, gemm = #epl.gemm<...>}
    ```
  }];
}

include "passes/kernel/LoweringPasses.td"

#endif // EPL_KERNEL_PASSES
