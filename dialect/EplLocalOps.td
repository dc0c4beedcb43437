//===- EplLocalOps.td - The local program: tasks and collectives ----------===//
#ifndef EPL_LOCAL_OPS
#define EPL_LOCAL_OPS

include "dialect/EplMatrixOps.td"

def Epl_ToLocalOp : Epl_Op<"to_local", [Epl_LocalLevel, Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the local tensor of a distributed value";
  let description = [{
    ```mlir
    %1 = epl.to_local %0 : !epl.dist<tensor<64x8xf32>, <@mesh, [{"data"}, {} ]>> -> tensor<32x8xf32>
    ```

    Constraints:
    - (C1) the tensor's type is the local type of the distributed value.
  }];
  let arguments = (ins Epl_DistType:$operand);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasFolder = 1;
}

def Epl_FromLocalOp : Epl_Op<"from_local", [Epl_LocalLevel, Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the distributed value that local tensors make up";
  let description = [{
    The inverse of `epl.to_local`.

    Constraints:
    - (C1) the tensor's type is the local type of the distributed value.
  }];
  let arguments = (ins AnyRankedTensor:$operand);
  let results = (outs Epl_DistType:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasFolder = 1;
}

def Epl_AxisIndexOp : Epl_Op<"axis_index", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the coordinate of this rank on an axis of the mesh";
  let description = [{
    Constraints:
    - (C1) the axis exists in the mesh.
  }];
  let arguments = (ins FlatSymbolRefAttr:$mesh, StrAttr:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "$mesh $axis attr-dict";
}

def Epl_TaskOp : Epl_Op<"task", [Epl_TaskLevel, IsolatedFromAbove, RecursiveMemoryEffects,
    SingleBlockImplicitTerminator<"YieldOp">, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the ops of one work on one mesh, on local tensors";
  let description = [{
    ```mlir
    %1 = epl.task <@tg0, forward> (%0) : (!epl.dist<tensor<8xf32>, <@mesh, [{"data"} ]>>)
        -> (!epl.dist<tensor<8xf32>, <@mesh, [{"data"} ]>>) {
    ^bb0(%x: tensor<4xf32>):
      ...
      epl.yield %y : tensor<4xf32>
    }
    ```

    A task whose results have an owner is done by that only; its other inputs are on all members.

    Constraints:
    - (C1) a block argument has the local type of its operand.
    - (C2) `epl.yield` has the local types of the results.
    - (C3) the work's task graph exists.
    - (C4) the results have one owner, or none; an input with an owner has that of the results.
  }];
  let arguments = (ins Epl_WorkAttr:$work, Variadic<Epl_DistType>:$inputs);
  let results = (outs Variadic<Epl_DistType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$work `(` $inputs `)` `:` functional-type($inputs, $results) $body attr-dict";
  let extraClassDeclaration = [{
    /// Who does it; null: all members.
    OwnerAttr getOwner();
  }];
}

def Epl_PredicateOp : Epl_Op<"predicate", [Epl_TaskLevel, MemoryEffects<[MemWrite]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "numbers the predicate of a branch";
  let description = [{
    What has `#epl.guard<0, true>` among its `epl.guards` is done only where predicate 0 is true. A branch is no
    region: its tasks and collectives stand in the flat list, and what reads their results either has the same
    guards or is a task that selects by the predicate, for which the results of a branch that was not taken may
    hold anything. Every member has the same predicate, so that all or none take part in a collective.

    ```mlir
    epl.predicate 0 %p : !epl.dist<tensor<i1>, <@mesh, []>>
    %1 = epl.task <@tg0, forward> (%0) : ... { ... } {epl.guards = [#epl.guard<0, true>]}
    ```

    An effect, so that no pass drops it.

    Constraints:
    - (C1) the operand is a replicated `tensor<i1>`.
  }];
  let arguments = (ins I64Attr:$id, Epl_DistType:$operand);
  let assemblyFormat = "$id $operand attr-dict `:` type($operand)";
}

class Epl_CollectiveOp<string mnemonic> : Epl_Op<mnemonic, [Epl_TaskLevel, Pure,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]>;

/// A collective of several tensors, each an operand and its result, in one exchange of the members.
class Epl_TensorsCollectiveOp<string mnemonic> : Epl_CollectiveOp<mnemonic> {
  let arguments = (ins Variadic<Epl_DistType>:$operands);
  let results = (outs Variadic<Epl_DistType>:$results);
  let assemblyFormat = "$operands attr-dict `:` type($operands) `->` type($results)";
}

def Epl_AllReduceOp : Epl_TensorsCollectiveOp<"all_reduce"> {
  let summary = "completes pending reductions on every member";
  let description = [{
    ```mlir
    %1 = epl.all_reduce %0 : !epl.dist<tensor<8xf32>, <@mesh, [{} ], partial = sum{"data"}>>
        -> !epl.dist<tensor<8xf32>, <@mesh, [{} ]>>
    ```

    The axes are those pending on the operand and not on the result. Several tensors, each an operand and its
    result, are completed by one exchange of the members.

    Constraints:
    - (C1) an operand and its result have the same global type and mesh and the same axes on every dimension.
    - (C2) the pending axes of a result are fewer, all of them its operand's, and by the same reduction.
    - (C3) the axes exist in the mesh: the types' shardings are checked against it.
    - (C4) there are as many results as operands, and at least one.
    - (C5) all tensors are completed over the same axes of one mesh, by the same reduction.
    - (C6) all operands and results have one owner, or none: then the members that it is take part.
  }];
  let extraClassDeclaration = [{
    /// The axes over which the values are completed, in mesh order.
    ::llvm::SmallVector<::llvm::StringRef> getReducedAxes();
    /// How they are completed.
    ::mlir::epl::ReductionKind getReduction();
  }];
}

def Epl_ReduceScatterOp : Epl_TensorsCollectiveOp<"reduce_scatter"> {
  let summary = "completes pending reductions, of which each member keeps its part";
  let description = [{
    ```mlir
    %1 = epl.reduce_scatter %0 : !epl.dist<tensor<8x6xf32>, <@mesh, [{}, {} ], partial = sum{"data"}>>
        -> !epl.dist<tensor<8x6xf32>, <@mesh, [{"data"}, {"model"} ]>>
    ```

    The axes that were pending and are not any more split dimensions of the result. It may be split by further
    axes over which the operand was replicated: then each member reads the part that it needs. Several tensors,
    each an operand and its result, are completed by one exchange of the members.

    Constraints:
    - (C1) an operand and its result have the same global type and mesh.
    - (C2) the pending axes of a result are fewer, all of them its operand's, and by the same reduction.
    - (C3) the axes of each dimension of an operand are a prefix of its result's; each axis that is completed
      splits a dimension of the result.
    - (C4) the axes exist in the mesh.
    - (C5) there are as many results as operands, and at least one.
    - (C6) all tensors are completed over the same axes of one mesh, by the same reduction.
    - (C7) all operands and results have one owner, or none: then the members that it is take part.
  }];
  let extraClassDeclaration = [{
    /// The axes over which the values are completed, in mesh order.
    ::llvm::SmallVector<::llvm::StringRef> getReducedAxes();
    /// How they are completed.
    ::mlir::epl::ReductionKind getReduction();
  }];
}

def Epl_AllGatherOp : Epl_CollectiveOp<"all_gather"> {
  let summary = "joins the parts of one dimension on every member";
  let description = [{
    The result lacks the minor-most axes of dimension `dim` of the operand.

    ```mlir
    %1 = epl.all_gather %0 dim 0 : !epl.dist<tensor<8xf32>, <@mesh, [{"data"} ]>>
        -> !epl.dist<tensor<8xf32>, <@mesh, [{} ]>>
    ```

    Several tensors, each an operand and its result, are joined by one exchange of the members.

    Constraints:
    - (C1) an operand and its result have the same global type, mesh and pending axes, and differ in `dim` only.
    - (C2) the axes of a result's `dim` are a proper prefix of its operand's.
    - (C3) the axes exist in the mesh: the types' shardings are checked against it.
    - (C4) there are as many results as operands, and at least one.
    - (C5) all tensors are joined over the same axes of one mesh, in the same order.
    - (C6) all operands and results have one owner, or none: then the members that it is take part.
  }];
  let arguments = (ins Variadic<Epl_DistType>:$operands, I64Attr:$dim);
  let results = (outs Variadic<Epl_DistType>:$results);
  let assemblyFormat = "$operands `dim` $dim attr-dict `:` type($operands) `->` type($results)";
  let extraClassDeclaration = [{
    /// The axes that are gathered, major to minor.
    ::llvm::SmallVector<::llvm::StringRef> getGatheredAxes();
  }];
}

class Epl_ExchangeOp<string mnemonic> : Epl_CollectiveOp<mnemonic> {
  let arguments = (ins Epl_DistType:$operand);
  let results = (outs Epl_DistType:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
}

def Epl_AllToAllOp : Epl_ExchangeOp<"all_to_all"> {
  let summary = "brings each member to another part, from the parts of all";
  let description = [{
    An axis moves from one dimension to another, or several change their places at once:

    ```mlir
    %1 = epl.all_to_all %0 : !epl.dist<tensor<8x6xf32>, <@mesh, [{"data"}, {} ]>>
        -> !epl.dist<tensor<8x6xf32>, <@mesh, [{}, {"data"} ]>>
    ```

    A member receives what it needs and lacks. Who holds it: the member that differs from it in axes of the
    operand's dimensions only.

    Constraints:
    - (C1) operand and result have the same global type, mesh and pending reduction.
    - (C2) the axes of some dimension change.
    - (C3) the axes that change exist in the mesh.
    - (C4) operand and result have one owner, or none: then the members that it is take part.
  }];
}

def Epl_PermuteOp : Epl_ExchangeOp<"permute"> {
  let summary = "hands the members' parts round";
  let description = [{
    An `epl.all_to_all` in which each member's new part is the whole part of one member:

    ```mlir
    %1 = epl.permute %0 : !epl.dist<tensor<8x6xf32>, <@mesh, [{"x"}, {"y"} ]>>
        -> !epl.dist<tensor<8x6xf32>, <@mesh, [{"y"}, {"x"} ]>>
    ```

    Constraints:
    - (C1) operand and result have the same global type, mesh and pending reduction.
    - (C2) the axes of some dimension change; each dimension is in as many parts as before.
    - (C3) the axes that change exist in the mesh.
    - (C4) operand and result have one owner, or none: then the members that it is take part.
  }];
}

def Epl_ReduceOp : Epl_TensorsCollectiveOp<"reduce"> {
  let summary = "completes pending reductions on one member";
  let description = [{
    ```mlir
    %1 = epl.reduce %0 : !epl.dist<tensor<8xf32>, <@mesh, [{} ], partial = sum{"data"}>>
        -> !epl.dist<tensor<8xf32>, <@mesh, [{} ], owner = <"data" = 1>>>
    ```

    The member is the owner of the results; the others have nothing of them. Several tensors, each an operand and
    its result, are completed by one exchange of the members.

    Constraints:
    - (C1) an operand and its result have the same global type and mesh and the same axes on every dimension.
    - (C2) the pending axes of a result are those of its operand without the axis of its owner, which is one of
      them, by the same reduction; the operand has no owner.
    - (C3) there are as many results as operands, and at least one.
    - (C4) all results have the same owner, mesh and reduction.
  }];
  let extraClassDeclaration = [{
    /// Who gets the sums.
    OwnerAttr getOwner();
    /// How they are completed.
    ::mlir::epl::ReductionKind getReduction();
  }];
}

def Epl_BroadcastOp : Epl_TensorsCollectiveOp<"broadcast"> {
  let summary = "gives every member what one has";
  let description = [{
    ```mlir
    %1 = epl.broadcast %0 : !epl.dist<tensor<8xf32>, <@mesh, [{} ], owner = <"data" = 1>>>
        -> !epl.dist<tensor<8xf32>, <@mesh, [{} ]>>
    ```

    The member is the owner of the operands. Several tensors, each an operand and its result, are copied by one
    exchange of the members.

    Constraints:
    - (C1) a result has the type of its operand without the owner, which the operand has.
    - (C2) there are as many results as operands, and at least one.
    - (C3) all operands have the same owner and mesh.
  }];
  let extraClassDeclaration = [{
    /// Who has the values.
    OwnerAttr getOwner();
  }];
}

#endif // EPL_LOCAL_OPS
