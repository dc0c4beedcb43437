//===- EplIndexedOps.td - Reads and writes at computed positions ----------===//
#ifndef EPL_INDEXED_OPS
#define EPL_INDEXED_OPS

include "dialect/EplLoopOps.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"

def Epl_CombineKind : Epl_Enum<"CombineKind", "what a scatter leaves of an element and an update", [
  I32EnumAttrCase<"set", 0>,
  I32EnumAttrCase<"add", 1>,
  I32EnumAttrCase<"mul", 2>,
  I32EnumAttrCase<"min", 3>,
  I32EnumAttrCase<"max", 4>,
  I32EnumAttrCase<"umin", 5>,
  I32EnumAttrCase<"umax", 6>,
  I32EnumAttrCase<"andi", 7>,
  I32EnumAttrCase<"ori", 8>
]>;
def Epl_CombineAttr : EnumAttr<Epl_Dialect, Epl_CombineKind, "combine">;

def Epl_IndexTensor : RankedTensorOf<[AnySignlessInteger], [], "tensor of signless integers">;

def Epl_GatherOp : Epl_Op<"gather", [Epl_TensorLevel, Pure]> {
  let summary = "reads windows of a tensor at computed positions";
  let description = [{
    Each index tensor has the positions along one dimension of the operand, which `of` names. For every element
    of the index tensors the result has one window of the operand; the attributes say how dimensions
    correspond:
    - `index_dims`: for each dimension of the index tensors the dimension of the result that is the same one.
    - `operand_dims`: for each dimension of the operand the dimension of the result that runs along the window,
      or -1 where the window is one element and the result has no dimension for it. A dimension of the result
      that `index_dims` names too is a batch: element `b` of the index tensors reads part `b` of the operand.

    Windows are moved into the operand. So, for the element `r` of the result, the operand's element is at

        operand_dims[d] < 0 ? 0 : r[operand_dims[d]], plus, where index tensor i is of dimension d,
        clamp(indices[i][r[index_dims]], 0, dim(operand, d) - (the window's extent along d))

    Rows of an embedding, and an element of each row:

    ```mlir
    %rows = epl.gather %table[%tokens] of [0] operand_dims [-1, 2] index_dims [0, 1]
      : (tensor<50000x256xf32>, tensor<16x128xi32>) -> tensor<16x128x256xf32>
    %logit = epl.gather %logits[%label] of [1] operand_dims [0, -1] index_dims [0]
      : (tensor<8x10xf32>, tensor<8xi32>) -> tensor<8xf32>
    ```

    Constraints:
    - (C1) the index tensors have one shape, of rank `index_dims`; there are as many as `of` has entries, which
      are distinct dimensions of the operand.
    - (C2) `operand_dims` has an entry for each dimension of the operand; dimensions of the result are not named
      twice by it or by `index_dims`, and each is named by one of them.
    - (C3) where `index_dims` names a dimension, the result has the extent of the index tensors; where
      `operand_dims` names it too, of the operand, and no index tensor is of that dimension.
    - (C4) windows are no larger than the operand.
    - (C5) the result has the element type of the operand.
  }];
  let arguments = (ins AnyRankedTensor:$operand, Variadic<Epl_IndexTensor>:$indices, DenseI64ArrayAttr:$of,
                       DenseI64ArrayAttr:$operand_dims, DenseI64ArrayAttr:$index_dims);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $operand `[` $indices `]` `of` $of `operand_dims` $operand_dims `index_dims` $index_dims attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Epl_ScatterOp : Epl_Op<"scatter", [Epl_TensorLevel, Pure, AllTypesMatch<["operand", "result"]>,
    DeclareOpInterfaceMethods<DestinationStyleOpInterface>]> {
  let summary = "writes windows of a tensor at computed positions";
  let description = [{
    The operand with each window of `updates` combined into it, in the order of the index tensors' elements:
    `set` leaves the update, the last one if several meet an element; `umin` and `umax` compare as unsigned
    numbers. `of`, `index_dims` and `operand_dims` mean what they mean to `epl.gather`, with `updates` in the
    place of its result. Other than there, positions are not moved: a window that is not inside the operand as a
    whole is dropped.

    The gradient of an embedding:

    ```mlir
    %grad = epl.scatter add %rows into %zeros[%tokens] of [0] operand_dims [-1, 2] index_dims [0, 1]
      : (tensor<16x128x256xf32>, tensor<50000x256xf32>, tensor<16x128xi32>) -> tensor<50000x256xf32>
    ```

    Constraints: those of `epl.gather`, with `updates` in the place of its result, and
    - (C6) `umin`, `umax`, `andi` and `ori` combine integers; elements of i1 are set, or combined by `andi` or
      `ori`.
  }];
  let arguments = (ins Epl_CombineAttr:$combine, AnyRankedTensor:$updates, AnyRankedTensor:$operand,
                       Variadic<Epl_IndexTensor>:$indices, DenseI64ArrayAttr:$of, DenseI64ArrayAttr:$operand_dims,
                       DenseI64ArrayAttr:$index_dims);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $combine $updates `into` $operand `[` $indices `]` `of` $of `operand_dims` $operand_dims
    `index_dims` $index_dims attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // EPL_INDEXED_OPS
