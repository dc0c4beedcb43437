//===- AttentionGradient.h - The gradient of attention ----------*- C++ -*-===//
#pragma once

#include "passes/kernel/match/AttentionProducts.h"
#include "passes/kernel/match/RowGradient.h"
#include "passes/kernel/match/RowSoftmax.h"

namespace mlir::epl {

/// The launches of attention in one task: p = softmax of the scores, the product p v.
struct FoundAttention {
  LaunchOp scores, softmax, product;
  RowSoftmax row;
  AttentionPairs pairs;
};

/// What causal masks say that other launches hand to one.
MaskOf getMaskOf(LaunchOp launch, const SymbolTable &symbols, int64_t rows, int64_t columns);

/// The gradient of attention: all that reads what its softmax makes, but for the product with v, does nothing
/// but make the gradients of q, k and v of that of o.
class AttentionGradient {
public:
  /// Nothing if anything else reads the softmax, or what these launches hand to one another.
  static std::optional<AttentionGradient> find(const FoundAttention &attention, const SymbolTable &symbols);

  /// Puts the launches together, and behind them one that stands for them. `end` is the product, which keeps
  /// what the library needs of its rows as its second result. False, and nothing is done, if the tasks cannot
  /// hand that on.
  bool replace(LaunchOp end, SymbolTable &symbols);

private:
  explicit AttentionGradient(const FoundAttention &attention) : attention(attention) {}

  bool findParts(const SymbolTable &symbols);
  bool findLayouts(const SymbolTable &symbols);
  bool findOutputs(const SymbolTable &symbols);
  bool matchScores(LaunchOp launch, const SymbolTable &symbols);
  bool matchValues(OpOperand &weights, const SymbolTable &symbols);
  bool findSteps();
  bool findPlace();
  bool isSame(Value tensor, const AttentionLayout &layout, Value own, const AttentionLayout &ownLayout,
              ArrayRef<int64_t> extents, const SymbolTable &symbols) const;
  SmallVector<int64_t> getExtents(int64_t positions, int64_t width) const;
  LaunchOp finish(LaunchOp product, AttentionLayout &layout, int64_t width, bool isOfQueries,
                  const SymbolTable &symbols);

  FoundAttention attention;
  PairsOf ofScores;      // q and k
  PairsProduct ofValues; // v and o
  Value q, k, v;         // in the attention's task
  Value dO;              // in the gradient's task
  AttentionLayout doLayout, dqLayout, dkLayout, dvLayout;
  SmallVector<int64_t> steps;  // of dq, dk, dv, q, k, v, o and dO
  LaunchOp dScores;            // what makes the gradient of the scores
  LaunchOp dq, dk, dv;         // what makes the gradients
  SmallVector<LaunchOp> parts; // all of them, in order
  Operation *place = nullptr;  // behind which they may stand together; null: at the begin of the task
};

} // namespace mlir::epl
