//===- EplLocalOps.td - The local program: tasks and collectives ----------===//
#ifndef EPL_LOCAL_OPS
#define EPL_LOCAL_OPS

include "dialect/EplIndexedOps.td"

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

    Constraints:
    - (C1) a block argument has the local type of its operand.
    - (C2) `epl.yield` has the local types of the results.
    - (C3) the work's task graph exists.
  }];
  let arguments = (ins Epl_WorkAttr:$work, Variadic<Epl_DistType>:$inputs);
  let results = (outs Variadic<Epl_DistType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$work `(` $inputs `)` `:` functional-type($inputs, $results) $body attr-dict";
}

class Epl_CollectiveOp<string mnemonic> : Epl_Op<mnemonic, [Epl_TaskLevel, Pure,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]>;

def Epl_AllReduceOp : Epl_CollectiveOp<"all_reduce"> {
  let summary = "completes a pending reduction on every member";
  let description = [{
    ```mlir
    %1 = epl.all_reduce %0 : !epl.dist<tensor<8xf32>, <@mesh, [{} ], partial = sum{"data"}>>
        -> !epl.dist<tensor<8xf32>, <@mesh, [{} ]>>
    ```

    The axes and the kind of reduction are those pending on the operand and not on the result.

    Constraints:
    - (C1) operand and result have the same global type and mesh and the same axes on every dimension.
    - (C2) the operand is partial; the result is not.
    - (C3) the axes exist in the mesh and are spatial.
  }];
  let arguments = (ins Epl_DistType:$operand);
  let results = (outs Epl_DistType:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
}

def Epl_AllGatherOp : Epl_CollectiveOp<"all_gather"> {
  let summary = "joins the parts of one dimension on every member";
  let description = [{
    The result lacks the minor-most axes of dimension `dim` of the operand.

    ```mlir
    %1 = epl.all_gather %0 dim 0 : !epl.dist<tensor<8xf32>, <@mesh, [{"data"} ]>>
        -> !epl.dist<tensor<8xf32>, <@mesh, [{} ]>>
    ```

    Constraints:
    - (C1) operand and result have the same global type, mesh and pending axes, and differ in `dim` only.
    - (C2) the axes of the result's `dim` are a proper prefix of the operand's.
    - (C3) the axes exist in the mesh and are spatial.
  }];
  let arguments = (ins Epl_DistType:$operand, I64Attr:$dim);
  let results = (outs Epl_DistType:$result);
  let assemblyFormat = "$operand `dim` $dim attr-dict `:` type($operand) `->` type($result)";
  let extraClassDeclaration = [{
    /// The axes that are gathered, major to minor.
    ::llvm::SmallVector<::llvm::StringRef> getGatheredAxes();
  }];
}

def Epl_TransferOp : Epl_CollectiveOp<"transfer"> {
  let summary = "moves a value from one mesh to another";
  let description = [{
    Constraints:
    - (C1) operand and result have the same global type and different meshes.
    - (C2) neither is partial.
  }];
  let arguments = (ins Epl_DistType:$operand);
  let results = (outs Epl_DistType:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
}

#endif // EPL_LOCAL_OPS
