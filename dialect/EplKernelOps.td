//===- EplKernelOps.td - Kernels ------------------------------------------===//
#ifndef EPL_KERNEL_OPS
#define EPL_KERNEL_OPS

include "dialect/EplLocalOps.td"

def Epl_ClusterOp : Epl_Op<"cluster", [Epl_KernelLevel, IsolatedFromAbove, RecursiveMemoryEffects,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "ops that become one kernel";
  let description = [{
    A `fusion` of elementwise ops, reductions and data movement, one `contraction`, or one `factorization`: an
    op on whole matrices whose operands are the cluster's.

    ```mlir
    %1 = epl.cluster fusion (%0) : (tensor<4xf32>) -> (tensor<4xf32>) {
    ^bb0(%x: tensor<4xf32>):
      ...
      epl.yield %y : tensor<4xf32>
    }
    ```

    Constraints:
    - (C1) block arguments have the types of the operands.
    - (C2) `epl.yield` has the types of the results.
  }];
  let arguments = (ins Epl_KernelKind:$kind, Variadic<AnyRankedTensor>:$inputs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$kind `(` $inputs `)` `:` functional-type($inputs, $results) $body attr-dict";
  let hasVerifier = 1;
}

def Epl_KernelOp : Epl_Op<"kernel", [Epl_KernelLevel, IsolatedFromAbove, Symbol, HasParent<"::mlir::ModuleOp">,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "a cluster as a symbol, shared by all launches of equal structure";
  let description = [{
    The body says what it computes. Lowering adds how it runs:
    - `form`: the loop nest that was chosen: over elements (`flat`), over rows (`row`), over blocks of columns
      (`column`), over blocks of a transposed matrix (`transpose`), over rows
      that are sorted (`sort`), or op by op (`general`).
    - `extent`: the outer parallel loop: a whole launch runs [0, extent).
    - `workspace`: bytes of scratch memory of a launch.
    - `in_place`: for each result the input that it may share storage with, or -1. A library call that
      accumulates reads its init from the result: if they do not share storage, it is copied there before.
    - `flops`: operations of a whole launch.
    - `gemm`: the call of the matrix library that runs it instead of code of its own; `a` and `b` are the
      first two inputs.
    - `epilogue`: what that call does with the product: it adds the last input, or applies a function.
    - `convolution`: the call of a library of convolutions that may run it on a GPU; where there is none, or where it
      does not take it, the kernel's code does.
    - `attention`: the product is the end of attention, which a library of GPUs may compute as a whole.
    - `attention_gradient`: the kernel gives gradients of attention on, which such a library may compute instead of
      launches before it; it has no code.
    - `symbol`: its entry in the binary, if that is not called as the kernel is: kernels may be the same code.
    - `grids`: how many threads of a GPU run it, and what each does. A kernel of several grids has as many phases,
      which run one after another; the entry of phase p > 0 is that of the kernel followed by `$p`.
    - `copies`: the kernel copies these bytes of its inputs to its only result; no code runs it.

    A kernel of kind `factorization` is a library's: its op says all.

    ```mlir
    epl.kernel @k0 fusion {
    ^bb0(%x: tensor<4xf32>):
      ...
      epl.yield %y : tensor<4xf32>
    }
    ```

    Constraints:
    - (C1) `in_place` has one entry for each result, each -1 or an input of the same type.
    - (C2) `extent`, `workspace` and the numbers of `copies` are not negative.
    - (C3) `copies` has one entry for each input, and the kernel one result.
    - (C4) of `grids`, `blocks`, `threads`, `group` and `slice` are from 1 to 2^31 - 1, `shared` and `extent` from 0;
      `threads` is a multiple of `group`.
    - (C5) no tensor in it has more than 2^40 elements: what loops and their code are counted by stays exact.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Epl_KernelKind:$kind, OptionalAttr<StrAttr>:$form,
                       OptionalAttr<I64Attr>:$extent, OptionalAttr<I64Attr>:$workspace,
                       OptionalAttr<DenseI32ArrayAttr>:$in_place, OptionalAttr<I64Attr>:$flops,
                       OptionalAttr<Epl_GemmAttr>:$gemm, OptionalAttr<Epl_EpilogueAttr>:$epilogue,
                       OptionalAttr<Epl_ConvolutionAttr>:$convolution,
                       OptionalAttr<Epl_AttentionAttr>:$attention,
                       OptionalAttr<Epl_AttentionGradientAttr>:$attention_gradient,
                       OptionalAttr<StrAttr>:$symbol,
                       OptionalAttr<TypedArrayAttrBase<Epl_GridAttr, "array of grids">>:$grids,
                       OptionalAttr<TypedArrayAttrBase<Epl_CopyAttr, "array of copies">>:$copies);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name $kind $body attr-dict";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::epl::KernelKind":$kind), [{
    auto &properties = $_state.getOrAddProperties<Properties>();
    properties.sym_name = $_builder.getStringAttr(name);
    properties.kind = KernelKindAttr::get($_builder.getContext(), kind);
    $_state.addRegion();
  }]>];
}

def Epl_LaunchOp : Epl_Op<"launch", [Epl_KernelLevel, Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a kernel";
  let description = [{
    ```mlir
    %1 = epl.launch @k0(%0) : (tensor<4xf32>) -> (tensor<4xf32>)
    ```

    Constraints:
    - (C1) the kernel exists; its arguments and results have the types of the operands and results.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyRankedTensor>:$inputs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "$kernel `(` $inputs `)` attr-dict `:` functional-type($inputs, $results)";
}

def Epl_BinaryOp : Epl_Op<"binary", [Epl_KernelLevel, HasParent<"::mlir::ModuleOp">]> {
  let summary = "machine code of the module's kernels";
  let description = [{
    All of it in one of three kinds, whose symbols are the kernels' names:
    - `elf`: a shared object for the CPU `target`, with the CPU features that it needs;
    - `ptx`: text for GPUs of the architecture `target` and later ones, in version `isa` of its instruction set,
      10 * major + minor;
    - `cubin`: machine code for the architecture `target`.

    ```mlir
    epl.binary elf("znver4") ["avx2", "fma"] "\7FELF..."
    epl.binary ptx("sm_80") isa 80 [] ".version 8.0..."
    ```
  }];
  let arguments = (ins Epl_ImageKind:$kind, StrAttr:$target, DefaultValuedAttr<I64Attr, "0">:$isa, StrArrayAttr:$features, StrAttr:$image);
  let assemblyFormat = "$kind `(` $target `)` (`isa` $isa^)? $features $image attr-dict";
}

#endif // EPL_KERNEL_OPS
