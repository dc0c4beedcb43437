//===- ShardableOp.td - What an op means for sharding ------*- tablegen -*-===//
//
// The one place where an op says what it means to the shard phase. Models in passes/shard/ops implement the
// interface, for ops of tensor, linalg and arith from outside, for those of epl likewise, so that the dialect
// knows of no pass. What a model does not say is the default, which is right for every op.
//
//===----------------------------------------------------------------------===//

#ifndef EPL_PASSES_SHARD_ANALYSIS_SHARDABLEOP_TD
#define EPL_PASSES_SHARD_ANALYSIS_SHARDABLEOP_TD

include "mlir/IR/OpBase.td"

def ShardableOp : OpInterface<"ShardableOp"> {
  let cppNamespace = "::mlir::epl";
  let description = [{
    What an op means for sharding. Idea: MLIR's ShardingInterface and Shardy's sharding rules, with all
    questions in one place.
  }];
  let methods = [
    InterfaceMethod<[{
      How dimensions of operands and results go together (FactorRule.h). Default: derived from what the op is,
      which for ops without indexing maps means that every dimension is replicated.
    }], "::mlir::epl::FactorRule", "getFactorRule", (ins), "", [{
      return ::mlir::epl::deriveRule($_op);
    }]>,
    InterfaceMethod<[{
      Which elements of operands the elements of results are made of (Accesses.h): what the op computes, by
      which `epl-verify-sharded` checks what the rule has led to. Default: derived from indexing maps; of ops
      without them all of all.
    }], "::llvm::SmallVector<::mlir::epl::Steps>", "getSteps", (ins), "", [{
      return ::mlir::epl::deriveSteps($_op);
    }]>,
    InterfaceMethod<[{
      What is known of the results when that is known of the operands: whether a pending sum may pass, and
      whether they are zero (Linearity.h). `getCaptured` answers for values from outside that regions use.
      Default: derived from scalar bodies; for ops without one no pending sum passes, and nothing is zero.
    }], "::llvm::SmallVector<::mlir::epl::Status>", "getStatuses",
      (ins "::llvm::ArrayRef<::mlir::epl::Status>":$operands,
           "::llvm::function_ref<::mlir::epl::Status(::mlir::Value)>":$getCaptured), "", [{
      return ::mlir::epl::deriveStatuses($_op, operands, getCaptured);
    }]>,
    InterfaceMethod<[{
      Builds the op on the parts of one rank. False if it is the same op with the local types of its results,
      which the caller builds then. Default: so it is.
    }], "bool", "localize", (ins "::mlir::epl::Localizer &":$localizer), "", [{
      return false;
    }]>,
    InterfaceMethod<[{
      The ranges of dimensions that the op reads by themselves, or puts together. Default: none.
    }], "::llvm::SmallVector<::mlir::epl::Cut>", "getCuts", (ins), "", [{
      return {};
    }]>,
    InterfaceMethod<[{
      The dimensions that the op lays out as several or joins to one. Default: none.
    }], "::llvm::SmallVector<::mlir::epl::FoldedDim>", "getFoldedDims", (ins), "", [{
      return {};
    }]>,
    InterfaceMethod<[{
      Whether the op may have dimensions that are written as segments (Segments.h): those of one factor have
      the same then. Default: no; its operands are put together before it, and its results taken apart.
    }], "bool", "hasSegmentedForm", (ins), "", [{
      return false;
    }]>,
    InterfaceMethod<[{
      Builds the op on tensors whose segments are dimensions. False if it has no such form, or not for these
      segments. Default: none.
    }], "bool", "expandSegments", (ins "::mlir::epl::SegmentExpander &":$expander), "", [{
      return false;
    }]>,
    InterfaceMethod<[{
      The operand that the result is, but for constants around it: that of a padding. It moves fewer bytes.
      Default: none.
    }], "::mlir::Value", "getPadded", (ins), "", [{
      return {};
    }]>,
    InterfaceMethod<[{
      The multiply-adds of the op where they count beside those of contractions: of factorizations. Default: 0.
    }], "int64_t", "countMultiplyAdds", (ins), "", [{
      return 0;
    }]>,
    InterfaceMethod<[{
      Whether a branch with the op is worth skipping where it is not taken. Default: no; reductions are
      without being asked.
    }], "bool", "isWorthSkipping", (ins), "", [{
      return false;
    }]>
  ];
}

#endif
