//===- LoweringPasses.td - The kernel phase, from kernels to code --------===//
#ifndef EPL_KERNEL_LOWERING_PASSES
#define EPL_KERNEL_LOWERING_PASSES

include "mlir/Pass/PassBase.td"

def LowerKernels : Pass<"epl-lower-kernels", "::mlir::ModuleOp"> {
  let summary = "Gives each kernel its loop nest";
  let description = [{
    A kernel without `gemm` becomes a private function `@<kernel>.body` on linear memrefs: inputs, outputs,
    workspace, coordinates of the rank, and the slice of the outer loop.

    ```mlir
    epl.kernel @k0 fusion {
    ^bb0(%x: tensor<4xf32>):
      %e = tensor.empty() : tensor<4xf32>
      %y = linalg.generic {...} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
      ^bb0(%in: f32, %out: f32):
        %s = arith.addf %in, %in : f32
        linalg.yield %s : f32
      } -> tensor<4xf32>
      epl.yield %y : tensor<4xf32>
    }
    ```
    gets `form = "general", extent = 1, workspace = 0, flops = 4` and
    ```mlir
    func.func private @k0.body(%x: memref<4xf32>, %y: memref<4xf32>, %workspace: memref<0xi8>,
                               %coordinates: memref<1xi64>, %begin: i64, %end: i64)
        attributes {epl.kernel = @k0} {
      ...
      scf.for %i = %b to %e step %c1 {
        scf.for %j = %c0 to %c4 step %c1 {
          %in = memref.load %x[%j] : memref<4xf32>
          %s = arith.addf %in, %in : f32
          memref.store %s, %y[%j] : memref<4xf32>
        }
      }
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
  let options = [
    Option<"cpu", "cpu", "std::string", /*default=*/"\"host\"",
           "the CPU whose vectors the nests use, by LLVM's name; \"host\" is this machine">,
    Option<"gpu", "gpu", "std::string", /*default=*/"\"\"",
           "the architecture of GPUs whose threads run the nests, such as sm_90, instead of a CPU">,
    Option<"loops", "loops", "bool", /*default=*/"false", "scalar loops only, op by op: the general form">
  ];
}

def ApproximateMath : Pass<"epl-approximate-math", "::mlir::ModuleOp"> {
  let summary = "Replaces math functions by polynomials or calls of libm";
  let description = [{
    f32 functions that have a polynomial of a few ulp over their whole range become arithmetic, on vectors as
    well; the others, and f64, become calls. What LLVM has instructions for is left alone, and with `keep-exp` the
    exponential, which a GPU has an instruction for.

    ```mlir
    %0 = math.sin %x : f32
    ```
    becomes
    ```mlir
    %0 = call @sinf(%x) : (f32) -> f32
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
  let options = [Option<"keepExp", "keep-exp", "bool", /*default=*/"false", "leave exp as it is">];
}

def WidenNarrowFloats : Pass<"epl-widen-narrow-floats", "::mlir::ModuleOp"> {
  let summary = "Computes fma and conversions of 16-bit floats in f32";
  let description = [{
    What upstream's `arith-emulate-unsupported-floats` and `math-extend-to-supported-types` leave. Conversions
    from integers and f64 round to f32 first.

    ```mlir
    %0 = arith.sitofp %x : i32 to bf16
    ```
    becomes
    ```mlir
    %0 = arith.sitofp %x : i32 to f32
    %1 = arith.truncf %0 : f32 to bf16
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def KeepMaxima : Pass<"epl-keep-maxima", "::mlir::ModuleOp"> {
  let summary = "Replaces maxima and minima of f32 by LLVM's intrinsics";
  let description = [{
    For GPUs, which have an instruction for them; upstream's `arith-expand` makes comparisons of them.

    ```mlir
    %0 = arith.maximumf %x, %y : f32
    ```
    becomes
    ```mlir
    %0 = llvm.intr.maximum(%x, %y) : (f32, f32) -> f32
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def ExpandHalf : Pass<"epl-expand-half", "::mlir::ModuleOp"> {
  let summary = "Replaces conversions of f16 by integer arithmetic";
  let description = [{
    For CPUs without F16C, where LLVM would call libgcc. Values are the same as with it, denormals of f16
    included, but for the bits of a NaN.

    ```mlir
    %0 = arith.extf %x : f16 to f32
    ```
    becomes shifts, masks and selects of
    ```mlir
    %0 = arith.bitcast %x : f16 to i16
    %1 = arith.extui %0 : i16 to i32
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def EncodeNarrowFloats : Pass<"epl-encode-narrow-floats", "::mlir::ModuleOp"> {
  let summary = "Replaces 16-bit floats by integers of their bits";
  let description = [{
    LLVM moves bf16 and f16 by way of f32 in many places, and calls libgcc where the CPU cannot convert. So
    all of their values become `i16`; only conversions, which compute, still see a float. It is for nests that
    compute in f32 and f64 only.

    ```mlir
    %0 = memref.load %x[%i] : memref<4xbf16>
    %1 = arith.extf %0 : bf16 to f32
    ```
    becomes
    ```mlir
    %0 = memref.load %x[%i] : memref<4xi16>
    %1 = arith.bitcast %0 : i16 to bf16
    %2 = arith.extf %1 : bf16 to f32
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def CodegenCpu : Pass<"epl-codegen-cpu", "::mlir::ModuleOp"> {
  let summary = "Compiles the loop nests to one ELF image";
  let description = [{
    The functions that `epl-lower-kernels` made are compiled on several threads and replaced by one
    `epl.binary`. Its symbols are the kernels' names, or their `symbol`s, with the type
    `void k(void *const *buffers, const int64_t *coordinates, int64_t begin, int64_t end)`.

    ```mlir
    func.func private @k0.body(...) attributes {epl.kernel = @k0} { ... }
    ```
    becomes
    ```mlir
    epl.binary elf("znver5") ["avx2", "avx512f", ...] "\7FELF..."
    ```
  }];
  let options = [
    Option<"cpu", "cpu", "std::string", /*default=*/"\"host\"",
           "the CPU to compile for, by LLVM's name; \"host\" is this machine">,
    Option<"threads", "threads", "unsigned", /*default=*/"2", "threads that compile">,
    Option<"loops", "loops", "bool", /*default=*/"false",
           "compile quickly, without contraction of float operations: for scalar nests of a reference plan">
  ];
}

def CodegenGpu : Pass<"epl-codegen-gpu", "::mlir::ModuleOp"> {
  let summary = "Compiles the loop nests to PTX";
  let description = [{
    The functions that `epl-lower-kernels` made for a GPU are compiled on several threads and replaced by one
    `epl.binary`. Entries are the kernels' names, or their `symbol`s, for each of their `grids`:
    `void k(buffers.., void *workspace, const int64_t *coordinates, int64_t extent, int64_t slice)`. Functions of libm
    come from libdevice; nothing is called.

    ```mlir
    epl.kernel @k0 fusion { ... } {grids = [#epl.grid<blocks = 8, threads = 128, shared = 0, group = 1, slice = 1, extent = 1000>], ...}
    func.func private @k0.body(...) attributes {epl.kernel = @k0} { ... }
    ```
    becomes
    ```mlir
    epl.kernel @k0 fusion { ... } {grids = [#epl.grid<blocks = 8, threads = 128, shared = 0, group = 1, slice = 1, extent = 1000>], ...}
    epl.binary ptx("sm_80") isa 70 [] ".version 7.0..."
    ```
  }];
  let options = [
    Option<"gpu", "gpu", "std::string", /*default=*/"\"sm_80\"",
           "the least architecture that the code runs on, such as sm_90">,
    Option<"lineInfo", "line-info", "bool", /*default=*/"false",
           "say of each instruction which source line it is of (`.loc`); the code stays the same">,
    Option<"threads", "threads", "unsigned", /*default=*/"2", "threads that compile">
  ];
}

#endif // EPL_KERNEL_LOWERING_PASSES
