//===- EplScopeOps.td - What users annotate steps with --------------------===//
#ifndef EPL_SCOPE_OPS
#define EPL_SCOPE_OPS

include "dialect/EplTypes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Epl_YieldOp : Epl_Op<"yield", [Pure, Terminator, ReturnLike,
    ParentOneOf<["ReplicateOp", "SplitOp", "SortOp", "TaskOp", "ClusterOp", "KernelOp"]>]> {
  let summary = "ends the body of a scope, comparator, task, cluster or kernel with its results";
  let arguments = (ins Variadic<AnyType>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
  let builders = [OpBuilder<(ins), [{ /* no operands */ }]>];
}

class Epl_ScopeOp<string mnemonic, string strategy, dag more = (ins), string moreFormat = ""> : Epl_Op<mnemonic, [
    Epl_ScopeLevel, SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<RegionBranchOpInterface>]> {
  let arguments = !con((ins DefaultValuedAttr<I64Attr, "1">:$device_count, OptionalAttr<StrAttr>:$scope_name), more);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`name` `(` $scope_name^ `)`)? (`devices` `(` $device_count^ `)`)? }] # moreFormat # [{
    (`->` type($results)^)? $body attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The strategy of the scope as an attribute.
    ::mlir::epl::StrategyAttr getStrategy() {
      return ::mlir::epl::StrategyAttr::get(getContext(), ::mlir::epl::StrategyKind::}] # strategy # [{, getDeviceCount());
    }
  }];
}

def Epl_ReplicateOp : Epl_ScopeOp<"replicate", "replicate"> {
  let summary = "a part of the step that is replicated: data parallelism";
  let description = [{
    Each replica runs the ops of the region on its part of the batch. `device_count` is the number of devices
    of one replica. Every scope without a name is a task graph of its own; scopes of one name are the same one.
    Source: EPL's `replicate` primitive.

    ```mlir
    %h = epl.replicate name("encoder") -> tensor<64x8xf32> {
      %0 = linalg.matmul ...
      epl.yield %0 : tensor<64x8xf32>
    }
    ```

    Constraints:
    - (C1) `device_count` is at least 1.
    - (C2) the types of `epl.yield` are those of the results.
    - (C3) scopes do not nest.
  }];
}

def Epl_DimConstraintArrayAttr : TypedArrayAttrBase<Epl_DimConstraintAttr, "array of constraints on dimensions">;

def Epl_SplitOp : Epl_ScopeOp<"split", "split", (ins OptionalAttr<Epl_DimConstraintArrayAttr>:$dims),
                              "(`dims` `(` $dims^ `)`)?"> {
  let summary = "a part of the step whose tensors are split: tensor parallelism";
  let description = [{
    The tensors of the region are split over `device_count` devices, parameters along the dimensions that `dims`
    says, and for the others along those that cost least. Source: EPL's `split` primitive.

    ```mlir
    %h = epl.split devices(2) dims([#epl.dim_constraint<"wq" = 1>]) -> tensor<64x8xf32> {
      %0 = linalg.matmul ...
      epl.yield %0 : tensor<64x8xf32>
    }
    ```

    Constraints: as `epl.replicate`.
  }];
}

def Epl_ConstrainOp : Epl_Op<"constrain", [Epl_GlobalLevel, Pure, AllTypesMatch<["operand", "result"]>]> {
  let summary = "the identity, with what the user says about how its result is distributed";
  let description = [{
    ```mlir
    %1 = epl.constrain %0 to <[{}, {"model"}, {} ]> : tensor<8x512x768xf32>
    ```

    Constraints:
    - (C1) the constraint has the rank of the tensor.
    - (C2) on a mesh: its axes are there, and those of a dimension divide it and stand in mesh order. Checked by
      `epl-seed-constraints`, when there is one.
  }];
  let arguments = (ins AnyRankedTensor:$operand, Epl_ConstraintAttr:$constraint);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$operand `to` $constraint attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Epl_CheckpointOp : Epl_Op<"checkpoint", [Epl_ScopeLevel, MemoryEffects<[MemWrite]>]> {
  let summary = "names a value that is kept for the gradient where values between such are computed again";
  let description = [{
    What `epl.add_to_collection(x, "checkpoints")` leaves in a step. It has no result, so that it can stand behind
    readers of the value, and counts as an effect, so that no pass drops it. `epl-flatten-scopes` makes an
    attribute `epl.checkpoint` of it, at the op that makes the value; an argument is kept anyway.

    ```mlir
    epl.checkpoint %0 : tensor<64x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$operand);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
}

#endif // EPL_SCOPE_OPS
