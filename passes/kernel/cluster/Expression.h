//===- Expression.h - What an element of a kernel's value is made of -*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"
#include "passes/kernel/cluster/StridedAccess.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <deque>
#include <map>

namespace mlir::epl {

struct Element;

/// One result of a node.
struct ElementRef {
  Element *node = nullptr;
  unsigned result = 0;
  bool operator==(const ElementRef &) const = default;
};

/// How one element, at each point of a domain, comes about.
struct Element {
  enum class Kind {
    load,   // the element `access` of `tensor`, which is in memory
    scalar, // the kernel's scalar `tensor`, or `constant`
    payload // the results of `op` for one element; `loops` are its iteration indices
  } kind;
  Value tensor;
  TypedAttr constant;
  StridedAccess access;
  Operation *op = nullptr;
  SmallVector<ElementRef> operands;
  SmallVector<StridedAccess> loops;
};

/// Builds the expressions of all values that are computed over one domain; equal elements are one node.
///
/// Views, slices, fills, broadcasts and elementwise ops are followed back to what is in memory: arguments of
/// the kernel, dense constants, and the values in `stored`.
class Expressions {
public:
  Expressions(Extents domain, const DenseSet<Value> &stored) : domain(std::move(domain)), stored(&stored) {}

  /// The element of `tensor` at `access`. Fails for what the fast forms do not know; then `split` may say how
  /// the domain must be refined.
  FailureOr<ElementRef> trace(Value tensor, const StridedAccess &access);
  /// The same for a value that is stored itself: what it is stored from.
  FailureOr<ElementRef> traceDefinition(Value tensor, const StridedAccess &access);
  /// The operand `operand` of a linalg op in the iteration `loops`.
  FailureOr<ElementRef> traceOperand(linalg::LinalgOp op, OpOperand &operand, ArrayRef<StridedAccess> loops);

  /// A scalar of the kernel, or a constant of a region inside it.
  ElementRef traceScalar(Value scalar);

  ArrayRef<int64_t> getDomain() const { return domain; }
  std::deque<Element> &getNodes() { return nodes; }
  const std::optional<Split> &getSplit() const { return split; }

private:
  ElementRef add(Element node) {
    nodes.push_back(std::move(node));
    return {&nodes.back(), 0};
  }
  FailureOr<ElementRef> traceSlice(tensor::ExtractSliceOp op, const StridedAccess &access);
  FailureOr<ElementRef> traceLinalg(linalg::LinalgOp op, unsigned result, const StridedAccess &access);
  FailureOr<ElementRef> traceElementwise(Operation *op, unsigned result, const StridedAccess &access);

  Extents domain;
  const DenseSet<Value> *stored;
  std::deque<Element> nodes;
  std::map<std::pair<void *, StridedAccess>, ElementRef> known; // by value or op
  std::optional<Split> split;
};

/// Makes the indices of loops that a payload does not ask for constant, so that they forbid nothing.
void dropUnusedLoops(linalg::LinalgOp op, MutableArrayRef<StridedAccess> loops);
/// Whether all ops of a payload work on vectors as they do on scalars.
bool isVectorizable(Block &payload);
/// The value behind expansions, collapses and casts: the same elements in the same order.
Value stripViews(Value tensor);

} // namespace mlir::epl
