//===- EplLoopOps.td - Loops of constant length ---------------------------===//
//
// A loop is no region: the program stays one flat list, and four ops say what enters and leaves a loop. What
// depends on a value of an iteration (an `epl.loop_carry` or `epl.loop_slice`) is done in every iteration, everything
// else once; `Loops` in dialect/Loops.h answers which op is which. So rules, placement and tasks treat a
// loop's ops like any other, and code is made for one iteration. The plan has all iterations. A loop may be in one
// over micro-batches: it is done as a whole in each iteration of that one.
//
//===----------------------------------------------------------------------===//
#ifndef EPL_LOOP_OPS
#define EPL_LOOP_OPS

include "dialect/EplGlobalOps.td"

def Epl_LoopValue : AnyTypeOf<[AnyRankedTensor, Epl_DistType], "tensor or distributed tensor">;

class Epl_LoopEdgeOp<string mnemonic, list<Trait> traits> : Epl_Op<mnemonic, [
    Epl_LoopEdge, DeclareOpInterfaceMethods<SymbolUserOpInterface>] # traits> {
  let results = (outs Epl_LoopValue:$result);
}

def Epl_LoopCarryOp : Epl_LoopEdgeOp<"loop_carry", [Pure]> {
  let summary = "a value that goes from one iteration to the next";
  let description = [{
    `init` in the first iteration, in every other one what the `epl.loop_last` of the same loop and index had as its
    operand in the iteration before.

    ```mlir
    %h = epl.loop_carry <0, trip_count = 24> 0 %x : tensor<64x8xf32> -> tensor<64x8xf32>
    ...
    %y = epl.loop_last <0, trip_count = 24> 0 %next : tensor<64x8xf32>
    ```

    Constraints:
    - (C1) `init` and the result have the same type; but where the result is pending over an axis, `init` may be
      replicated, and is zero then.
    - (C2) there is one `epl.loop_last` of the same loop, index and type behind it.
  }];
  let arguments = (ins Epl_LoopAttr:$loop, I64Attr:$index, Epl_LoopValue:$init);
  let assemblyFormat = "$loop $index $init attr-dict `:` type($init) `->` type($result)";
}

def Epl_LoopLastOp : Epl_LoopEdgeOp<"loop_last", [AllTypesMatch<["operand", "result"]>,
    MemoryEffects<[MemWrite]>]> {
  let summary = "what a carried value is after the last iteration";
  let description = [{
    Its operand is the next iteration's `epl.loop_carry` of the same index, if there is one: an effect, so that no
    pass drops it.

    Constraints:
    - (C1) operand and result have the same type.
    - (C2) there is no other of the same loop and index, and an `epl.loop_carry` of these has its type.
  }];
  let arguments = (ins Epl_LoopAttr:$loop, I64Attr:$index, Epl_LoopValue:$operand);
  let assemblyFormat = "$loop $index $operand attr-dict `:` type($result)";
}

def Epl_LoopSliceOp : Epl_LoopEdgeOp<"loop_slice", [Pure]> {
  let summary = "the part of a stack that is the iteration's";
  let description = [{
    Part `t` of dimension 0 in iteration `t`; with `reverse`, part `trip_count - 1 - t`.

    ```mlir
    %w = epl.loop_slice <0, trip_count = 24> reverse %stack : tensor<24x8x8xf32> -> tensor<8x8xf32>
    ```

    Constraints:
    - (C1) dimension 0 of the operand has the extent `trip_count`, which no axis splits.
    - (C2) the result is the operand without dimension 0.
  }];
  let arguments = (ins Epl_LoopAttr:$loop, UnitAttr:$reverse, Epl_LoopValue:$operand);
  let assemblyFormat = "$loop (`reverse` $reverse^)? $operand attr-dict `:` type($operand) `->` type($result)";
}

def Epl_LoopStackOp : Epl_LoopEdgeOp<"loop_stack", [Pure]> {
  let summary = "the values of all iterations, along a new dimension 0";
  let description = [{
    The value of iteration `t` is part `t` of dimension 0; with `reverse`, part `trip_count - 1 - t`.

    Constraints:
    - (C1) dimension 0 of the result has the extent `trip_count`, which no axis splits.
    - (C2) the operand is the result without dimension 0.
  }];
  let arguments = (ins Epl_LoopAttr:$loop, UnitAttr:$reverse, Epl_LoopValue:$operand);
  let assemblyFormat = "$loop (`reverse` $reverse^)? $operand attr-dict `:` type($operand) `->` type($result)";
}

#endif // EPL_LOOP_OPS
