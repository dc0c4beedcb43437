//===- EplAttrs.td - Attributes and enums of the epl dialect --------------===//
#ifndef EPL_ATTRS
#define EPL_ATTRS

include "dialect/EplDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Epl_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mlir::epl";
  let genSpecializedAttr = 0;
}

def Epl_StrategyKind : Epl_Enum<"StrategyKind", "how a scope is parallelized", [
  I32EnumAttrCase<"replicate", 0>,
  I32EnumAttrCase<"split", 1>
]>;

def Epl_WorkKind : Epl_Enum<"WorkKind", "what part of a step an op belongs to", [
  I32EnumAttrCase<"forward", 0>,
  I32EnumAttrCase<"backward", 1>,
  I32EnumAttrCase<"recompute", 2>,
  I32EnumAttrCase<"apply", 3>,
  I32EnumAttrCase<"backward_input", 4>,
  I32EnumAttrCase<"backward_weight", 5>
]>;

def Epl_ReductionKind : Epl_Enum<"ReductionKind", "how partial values combine", [
  I32EnumAttrCase<"sum", 0>,
  I32EnumAttrCase<"prod", 1>,
  I32EnumAttrCase<"max", 2>,
  I32EnumAttrCase<"min", 3>,
  I32EnumAttrCase<"all", 4>,
  I32EnumAttrCase<"any", 5>
]>;

def Epl_KernelKind : I32EnumAttr<"KernelKind", "what a kernel is made of", [
  I32EnumAttrCase<"fusion", 0>,
  I32EnumAttrCase<"contraction", 1>,
  I32EnumAttrCase<"factorization", 2>
]> {
  let cppNamespace = "::mlir::epl";
}

def Epl_Activation : I32EnumAttr<"Activation", "what a library applies to a product", [
  I32EnumAttrCase<"none", 0>,
  I32EnumAttrCase<"relu", 1>,
  I32EnumAttrCase<"gelu", 2>
]> {
  let cppNamespace = "::mlir::epl";
}

def Epl_ConvolutionTensor : I32EnumAttr<"ConvolutionTensor", "a tensor of a convolution", [
  I32EnumAttrCase<"image", 0>,
  I32EnumAttrCase<"filter", 1>,
  I32EnumAttrCase<"output", 2>
]> {
  let cppNamespace = "::mlir::epl";
}

def Epl_ImageKind : I32EnumAttr<"ImageKind", "how machine code is written down", [
  I32EnumAttrCase<"elf", 0>,
  I32EnumAttrCase<"ptx", 1>,
  I32EnumAttrCase<"cubin", 2>
]> {
  let cppNamespace = "::mlir::epl";
}

def Epl_AxisRole : Epl_Enum<"AxisRole", "what an axis of a mesh is for", [
  I32EnumAttrCase<"none", 0>,
  I32EnumAttrCase<"data", 1>,
  I32EnumAttrCase<"model", 2>
]>;

class Epl_Attr<string name, string attrMnemonic> : AttrDef<Epl_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Epl_StrategyAttr : Epl_Attr<"Strategy", "strategy"> {
  let summary = "a strategy and the devices it wants";
  let description = [{
    Example: `#epl.strategy<split, 4>`.

    Constraints:
    - (S1) `deviceCount` is at least 1.
  }];
  let parameters = (ins EnumParameter<Epl_StrategyKind>:$kind, "int64_t":$deviceCount);
  let assemblyFormat = "`<` $kind `,` $deviceCount `>`";
  let genVerifyDecl = 1;
}

def Epl_DimConstraintAttr : Epl_Attr<"DimConstraint", "dim_constraint"> {
  let summary = "along which dimension the user wants parameters split";
  let description = [{
    `pattern` names parameters of a scope that is split (`passes/shard/seed/split/SplitConstraints.h` says how), `dim` is their
    dimension that the devices of the scope share, counted from the end if it is negative. Without one the
    parameters stay whole.

    Example: `#epl.dim_constraint<"wq" = 1>`, `#epl.dim_constraint<"norm/*" whole>`.

    Constraints:
    - (W1) the pattern is not empty.
  }];
  let parameters = (ins StringRefParameter<>:$pattern, OptionalParameter<"std::optional<int64_t>">:$dim);
  let assemblyFormat = "`<` $pattern (`=` $dim^) : (`whole`)? `>`";
  let genVerifyDecl = 1;
}

def Epl_ScopeAttr : Epl_Attr<"Scope", "scope"> {
  let summary = "what a scope id in a location's name stack means";
  let description = [{
    Front ends that cannot put regions round traced ops enter a named scope `epl.<id>` instead; the
    function's dictionary `epl.scopes` maps each id to one of these. `name` is the user's, "" if there is none,
    `dims` what the user wants for parameters of a scope that is split, `place` where the scope is written.

    Example: `epl.scopes = {s0 = #epl.scope<replicate, 1, "encoder">, s1 = #epl.scope<split, 2, "", dims = [<"wq" = 1>]>}`.

    Constraints:
    - (S1) `deviceCount` is at least 1.
    - (S2) a scope with `dims` is split.
  }];
  let parameters = (ins EnumParameter<Epl_StrategyKind>:$kind, "int64_t":$deviceCount, StringRefParameter<>:$name,
                        OptionalArrayRefParameter<"::mlir::epl::DimConstraintAttr">:$dims,
                        OptionalParameter<"::mlir::LocationAttr">:$place);
  let assemblyFormat = [{
    `<` $kind `,` $deviceCount `,` $name (`,` `dims` `=` `[` $dims^ `]`)? (`at` $place^)? `>`
  }];
  let extraClassDeclaration = [{
    /// The same without `dims` and place: what makes two scopes one.
    ScopeAttr withoutDims() const;
    /// The same with what `more` says, too.
    ScopeAttr withDims(::llvm::ArrayRef<DimConstraintAttr> more) const;
  }];
  let genVerifyDecl = 1;
}

def Epl_WorkAttr : Epl_Attr<"Work", "work"> {
  let summary = "the schedulable unit that an op belongs to";
  let description = [{
    The task graph and the kind of work. Two equal ops of different work stay apart in CSE because they differ in
    this attribute.

    Example: `#epl.work<@tg0, backward>`.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$taskgraph, EnumParameter<Epl_WorkKind>:$kind);
  let assemblyFormat = "`<` $taskgraph `,` $kind `>`";
}

def Epl_AxisAttr : Epl_Attr<"Axis", "axis"> {
  let summary = "a named axis of a mesh";
  let description = [{
    `role` is what the axis is for: data parallelism shards the batch over those of role `data`, `epl.split`
    parameters over those of role `model`; nothing is seeded over one of role `none`. Passes ask for the role,
    never for the name. In text, an axis without a role has that which its name is, digits at its end left out:
    "data" and "data2" are `data`, "model" is `model`, "rows" is `none`. A role is printed where it is not that.

    Example: `#epl.axis<"data" = 4>`, `#epl.axis<"rows" = 4 : data>`, `#epl.axis<"data" = 4 : none>`.

    Constraints:
    - (A1) the name is not empty; the size is at least 1.
  }];
  let parameters = (ins StringRefParameter<>:$name, "int64_t":$size, EnumParameter<Epl_AxisRole>:$role);
  let extraClassDeclaration = [{
    /// The role that text gives an axis of that name if it says none.
    static AxisRole getRoleOfName(::llvm::StringRef name);
    /// Whether data parallelism shards the batch over it, whatever the task graph.
    bool isData() const { return getRole() == AxisRole::data; }
    /// Whether `epl.split` splits parameters over it.
    bool isModel() const { return getRole() == AxisRole::model; }
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Epl_OwnerAttr : Epl_Attr<"Owner", "owner"> {
  let summary = "the members of a mesh that have one coordinate on an axis";
  let description = [{
    Of a value: it exists on these members only. The coordinates on other axes are any.

    Example: `#epl.owner<"data" = 1>`.

    Constraints:
    - (O1) the coordinate is not negative. That the axis exists and is long enough is checked where the attribute
      is used (`verifyOnMesh` in dialect/Sharding.h).
  }];
  let parameters = (ins StringRefParameter<>:$axis, "int64_t":$coordinate);
  let assemblyFormat = "`<` $axis `=` $coordinate `>`";
  let genVerifyDecl = 1;
}

def Epl_ShardingAttr : Epl_Attr<"Sharding", "sharding"> {
  let summary = "how a tensor is distributed over a mesh";
  let description = [{
    For every dimension the axes that split it, major to minor, and the axes over which the value is pending a
    reduction: each member holds one operand of it. On axes not named the value is replicated. A value with an
    `owner` exists only on members with that coordinate.

    Example: `#epl.sharding<@mesh, [{"data", "data2"}, {} ], partial = sum{"model"}>`,
    `#epl.sharding<@mesh, [{} ], owner = <"data" = 1>>`.

    Constraints:
    - (H1) an axis appears at most once over all dimensions, `partial` and `owner`.
    The mesh is a symbol, so that its axes exist and divide the dimensions is checked where the attribute is
    used (`verifySharding` in dialect/Sharding.h).
  }];
  let parameters = (ins
    "::mlir::FlatSymbolRefAttr":$mesh,
    "::mlir::ArrayAttr":$dims,          // an ArrayAttr of StringAttr for each dimension
    "::mlir::ArrayAttr":$partial,       // StringAttrs; empty: the value is complete
    EnumParameter<Epl_ReductionKind>:$reduction, // of `partial`
    OptionalParameter<"::mlir::epl::OwnerAttr">:$owner
  );
  let builders = [
    AttrBuilder<(ins "::mlir::FlatSymbolRefAttr":$mesh,
                     "::llvm::ArrayRef<::llvm::SmallVector<::llvm::StringRef>>":$dims,
                     CArg<"::llvm::ArrayRef<::llvm::StringRef>", "{}">:$partial,
                     CArg<"::mlir::epl::ReductionKind", "::mlir::epl::ReductionKind::sum">:$reduction)>
  ];
  let extraClassDeclaration = [{
    /// Replicated over the whole mesh.
    static ShardingAttr getReplicated(::mlir::FlatSymbolRefAttr mesh, int64_t rank);
    int64_t getRank() const { return getDims().size(); }
    /// The axes that split dimension `dim`, major to minor.
    ::llvm::SmallVector<::llvm::StringRef> getDimAxes(int64_t dim) const;
    ::llvm::SmallVector<::llvm::StringRef> getPartialAxes() const;
    bool isPartial() const { return !getPartial().empty(); }
    /// No axis splits it, nothing is pending, and every member has it.
    bool isReplicated() const;
    /// The dimension that `axis` splits, or -1.
    int64_t getDimOf(::llvm::StringRef axis) const;
    /// The same with nothing pending.
    ShardingAttr withoutPartial() const;
    /// The same on members with this coordinate only; null: on all of them.
    ShardingAttr withOwner(OwnerAttr owner) const;
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Epl_ConstraintAttr : Epl_Attr<"Constraint", "constraint"> {
  let summary = "what a user says about how a tensor is distributed";
  let description = [{
    For every dimension the axes that split it, and the axes that split none, over which the value is `whole`.
    Of other axes nothing is said. Axes are those of the mesh of the task graph, which is not known yet where a
    user writes this.

    Example: `#epl.constraint<[{}, {"model"} ], whole = {"data"}>`.

    Constraints:
    - (K1) an axis appears at most once over all dimensions and `whole`.
  }];
  let parameters = (ins
    "::mlir::ArrayAttr":$dims, // an ArrayAttr of StringAttr for each dimension
    "::mlir::ArrayAttr":$whole // StringAttrs
  );
  let builders = [
    AttrBuilder<(ins "::llvm::ArrayRef<::llvm::SmallVector<::llvm::StringRef>>":$dims,
                     "::llvm::ArrayRef<::llvm::StringRef>":$whole)>
  ];
  let extraClassDeclaration = [{
    int64_t getRank() const { return getDims().size(); }
    /// The axes that split dimension `dim`, major to minor.
    ::llvm::SmallVector<::llvm::StringRef> getDimAxes(int64_t dim) const;
    ::llvm::SmallVector<::llvm::StringRef> getWholeAxes() const;
    /// The dimension that `axis` splits, -1 if it splits none; nothing if nothing is said of it.
    std::optional<int64_t> getDimOf(::llvm::StringRef axis) const;
  }];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Epl_LoopAttr : Epl_Attr<"Loop", "loop"> {
  let summary = "a loop of constant length, by number, and its iterations";
  let description = [{
    Example: `#epl.loop<0, trip_count = 24>`.

    With `micro_batches` its iterations are micro-batches of the step (`epl-form-micro-batches`). Task graphs with
    devices of their own may each have a part of such a loop, and each orders the forward and backward work of its
    iterations by a schedule.

    A loop that each micro-batch does as a whole is `in` the loop over these:
    `#epl.loop<1, trip_count = 24 in <0, trip_count = 4, micro_batches = true>>`.

    Constraints:
    - (L1) `trip_count` is at least 1.
    - (L2) what a loop is in is a loop over micro-batches; one over micro-batches is in none.
  }];
  let parameters = (ins "int64_t":$id, "int64_t":$trip_count, DefaultValuedParameter<"bool", "false">:$micro_batches,
                    OptionalParameter<"::mlir::epl::LoopAttr">:$outer);
  let assemblyFormat = [{
    `<` $id `,` `trip_count` `=` $trip_count (`,` `micro_batches` `=` $micro_batches^)? (`in` $outer^)? `>`
  }];
  let builders = [AttrBuilder<(ins "int64_t":$id, "int64_t":$trip_count, CArg<"bool", "false">:$micro_batches), [{
    return $_get($_ctxt, id, trip_count, micro_batches, ::mlir::epl::LoopAttr());
  }]>];
  let genVerifyDecl = 1;
}

def Epl_GuardAttr : Epl_Attr<"Guard", "guard"> {
  let summary = "a predicate, by number, and the value that it must have";
  let description = [{
    Example: `#epl.guard<0, true>`. The predicate is that of the `epl.predicate` of this number.
  }];
  let parameters = (ins "int64_t":$predicate, "bool":$expected);
  let assemblyFormat = "`<` $predicate `,` $expected `>`";
}

def Epl_GemmAttr : Epl_Attr<"Gemm", "gemm"> {
  let summary = "a contraction as a matrix library takes it";
  let description = [{
    `c = op(a) op(b)`, row major, `op(a)` is m x k, `op(b)` is k x n; `accumulate` adds to what `c` holds.
    `batch` holds quadruples (extent, stride of a, of b, of c), in elements, outermost first. The leading
    dimensions are in elements.
  }];
  let parameters = (ins "int64_t":$m, "int64_t":$n, "int64_t":$k, "int64_t":$lda, "int64_t":$ldb, "int64_t":$ldc,
                        "bool":$transpose_a, "bool":$transpose_b, "bool":$accumulate,
                        OptionalArrayRefParameter<"int64_t">:$batch);
  let assemblyFormat = [{
    `<` struct($m, $n, $k, $lda, $ldb, $ldc, $transpose_a, $transpose_b, $accumulate) (`,` `batch` `=` `[` $batch^ `]`)? `>`
  }];
}

def Epl_EpilogueAttr : Epl_Attr<"Epilogue", "epilogue"> {
  let summary = "what a matrix library does with a product before it stores it";
  let description = [{
    With `bias` the kernel's last input, n elements, is added to each row. Then `activation`: `relu` is max(x, 0),
    `gelu` is x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). Only libraries of GPUs do that.
  }];
  let parameters = (ins "bool":$bias, EnumParameter<Epl_Activation>:$activation);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Epl_ConvolutionAttr : Epl_Attr<"Convolution", "convolution"> {
  let summary = "a contraction as a library of convolutions takes it";
  let description = [{
    Three tensors fulfil `output[n, g, k, o] = sum over c, t of image[n, g, c, i] * filter[g, k, c, t]`, where along
    each axis `i = stride * o + dilation * t - before`; outside of the image there are zeros. The kernel computes
    what it `writes`: the output, or the gradient of the image or of the filter by the same products. With `flips`
    the filter's taps are in reverse order. `accumulate` adds to what the kernel's last input holds.

    `operands` are image, filter and output among the kernel's inputs and, behind these, its result. `samples` (n),
    `groups` (g), `channels` (c) and `features` (k) are each an extent and the strides in image, filter and output,
    in elements; 0 where a tensor lacks it. `axes` holds for each axis, 1 to 3 of them, ten numbers: the extents
    of image, filter and output, the strides in these, stride, dilation, and the zeros before and after the image.
    `output = floor((image + before + after - dilation * (filter - 1) - 1) / stride) + 1`.

    Constraints:
    - (C1) four numbers for each dimension, ten for each of 1 to 3 axes, three operands.
    - (C2) extents, `stride` and `dilation` are positive, other numbers not negative.
  }];
  let parameters = (ins EnumParameter<Epl_ConvolutionTensor>:$writes, ArrayRefParameter<"int64_t">:$operands,
                        "bool":$flips, "bool":$accumulate,
                        ArrayRefParameter<"int64_t">:$samples, ArrayRefParameter<"int64_t">:$groups,
                        ArrayRefParameter<"int64_t">:$channels, ArrayRefParameter<"int64_t">:$features,
                        ArrayRefParameter<"int64_t">:$axes);
  let assemblyFormat = [{
    `<` $writes `,` `operands` `=` `[` $operands `]` `,` struct($flips, $accumulate) `,`
    `samples` `=` `[` $samples `]` `,` `groups` `=` `[` $groups `]` `,` `channels` `=` `[` $channels `]` `,`
    `features` `=` `[` $features `]` `,` `axes` `=` `[` $axes `]` `>`
  }];
  let genVerifyDecl = 1;
}

def Epl_AttentionAttr : Epl_Attr<"Attention", "attention"> {
  let summary = "a product that a library may compute as attention, with the two launches before it";
  let description = [{
    The kernel multiplies `p`, its first input, by `v`, the second one, where a launch has made `p` of the product
    `q k^T` of its last two inputs: `p = softmax(scale * q k^T)` along rows, rounded to the type of `v`. With `causal`
    row i has its first i + 1 columns alone. All of these launches are one call of a library on a GPU, if it takes
    that: then nobody makes `p`, which has no other reader.

    A second result is what the library keeps of each row for the gradient (`attention_gradient`), in f32; without a
    library it is anything. Then the launches before the gradient, for which it stands, read `p`, too, and what else
    is made with it.

    Constraints:
    - (C1) `scale` is an f32, and finite.
  }];
  let parameters = (ins "::mlir::FloatAttr":$scale, "bool":$causal);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Epl_AttentionGradientAttr : Epl_Attr<"AttentionGradient", "attention_gradient"> {
  let summary = "gradients of attention, which a library may compute in the place of launches";
  let description = [{
    The kernel's inputs are gradients of q, k and v, which it gives on; q, k, v and o of attention, the gradient of o,
    and what the attention has kept of its rows. The `parts` launches before it in its task have made its first three
    inputs. On a GPU a library may make these of the others instead, for all of those launches, whose other results
    nobody else reads.

    `steps` are, for each of the inputs but the last one, the steps to the next sample, head and position, in elements.

    Constraints:
    - (C1) `parts` is positive, and there are 24 steps, all of them positive.
  }];
  let parameters = (ins "int64_t":$parts, ArrayRefParameter<"int64_t">:$steps);
  let assemblyFormat = "`<` `parts` `=` $parts `,` `steps` `=` `[` $steps `]` `>`";
  let genVerifyDecl = 1;
}

def Epl_CopyAttr : Epl_Attr<"Copy", "copy"> {
  let summary = "bytes of an input that a result takes as they are";
  let description = [{
    The `size` bytes that begin `from` bytes into the input go to where `to` bytes of the result end.
  }];
  let parameters = (ins "int64_t":$from, "int64_t":$to, "int64_t":$size);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Epl_GridAttr : Epl_Attr<"Grid", "grid"> {
  let summary = "the threads of a GPU that run a kernel, or one of its phases";
  let description = [{
    `blocks` blocks of `threads` threads, each block with `shared` bytes of shared memory beside what the code
    declares. `group` threads that follow one another work together. Of all G groups, group g runs the indices
    [i * slice, (i + 1) * slice) of [0, extent) for i = g, g + G, g + 2 G, ...
  }];
  let parameters = (ins "int64_t":$blocks, "int64_t":$threads, "int64_t":$shared, "int64_t":$group,
                        "int64_t":$slice, "int64_t":$extent);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Epl_ComputeAttr : Epl_Attr<"Compute", "compute"> {
  let summary = "multiply-adds that a device does in a second, by the type of their elements";
  let description = [{
    At most, in products of large matrices: `f64`, `f32`, and `f16` for floats of 16 bits or less. Integers count as
    the float of their width.

    Example: `#epl.compute<f64 = 40000000000, f32 = 80000000000, f16 = 80000000000>`.

    Constraints:
    - (P1) all numbers are at least 1.
  }];
  let parameters = (ins "int64_t":$f64, "int64_t":$f32, "int64_t":$f16);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Epl_MemoryAttr : Epl_Attr<"Memory", "memory"> {
  let summary = "the memory of a device";
  let description = [{
    Its size in bytes, the bytes that the device reads and writes in a second where no cache helps, and the
    nanoseconds from a read to its first byte.

    Example: `#epl.memory<bytes = 4294967296, bytes_per_second = 20000000000, latency_ns = 100>`.

    Constraints:
    - (P1) all numbers are at least 1.
  }];
  let parameters = (ins "int64_t":$bytes, "int64_t":$bytes_per_second, "int64_t":$latency_ns);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Epl_LinkAttr : Epl_Attr<"Link", "link"> {
  let summary = "what connects devices";
  let description = [{
    The bytes that a device gets from the others in a second, and the nanoseconds that a collective of no bytes
    takes: that of its members which are ready waits for the last one that long.

    Example: `#epl.link<bytes_per_second = 10000000000, latency_ns = 100000>`.

    Constraints:
    - (P1) all numbers are at least 1.
  }];
  let parameters = (ins "int64_t":$bytes_per_second, "int64_t":$latency_ns);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// The bytes that pass in the time of its latency. A collective of fewer is mostly waiting.
    double getLatencyBytes() const { return double(getLatencyNs()) * double(getBytesPerSecond()) / 1e9; }
  }];
  let genVerifyDecl = 1;
}

def Epl_MachineAttr : Epl_Attr<"Machine", "machine"> {
  let summary = "what the devices of a module can do";
  let description = [{
    Passes weigh computing against moving by these numbers. `kind` is that of the devices, `compute` and `memory`
    are those of one of them. The links are between devices of one process (shared memory, NVLink), of several
    processes of one node, and of several nodes (a network); the devices of a mesh are all of one process yet.

    It stands on the module as `epl.machine`; `epl-compile --machine` puts it there. A module without it has the
    table of kind "cpu" (runtime/machine/Machine.cpp).

    ```mlir
    module attributes {epl.machine = #epl.machine<kind = "cpu",
        compute = <f64 = 40000000000, f32 = 80000000000, f16 = 80000000000>,
        memory = <bytes = 4294967296, bytes_per_second = 20000000000, latency_ns = 100>,
        within_process = <bytes_per_second = 10000000000, latency_ns = 100000>,
        between_processes = <bytes_per_second = 5000000000, latency_ns = 200000>,
        between_nodes = <bytes_per_second = 1000000000, latency_ns = 300000>>} {}
    ```

    Constraints:
    - (M1) `kind` is one that there is a table of.
  }];
  let parameters = (ins StringRefParameter<>:$kind, "::mlir::epl::ComputeAttr":$compute,
                        "::mlir::epl::MemoryAttr":$memory, "::mlir::epl::LinkAttr":$within_process,
                        "::mlir::epl::LinkAttr":$between_processes, "::mlir::epl::LinkAttr":$between_nodes);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif // EPL_ATTRS
