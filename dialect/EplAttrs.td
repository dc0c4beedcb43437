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

#endif // EPL_ATTRS
