//===- TraceRoot.cpp - What a root is made of, and in which order ----------------===//
//
// Problem: a root's domain must have the dimensions that the views before it ask for, in the order in which
// memory is walked best.
//
// Method: trace over the domain of the op; where a view cuts a dimension, cut the domain and trace again. A
// reduction's loops are then put into the order of its most telling operand.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/cluster/Roots.h"

using namespace mlir;
using namespace mlir::epl;

static FailureOr<ElementRef> traceValue(Root &root, Expressions &expressions) {
  if (!root.source)
    return expressions.traceDefinition(root.values[0], root.stores[0]);
  if (!isa<RankedTensorType>(root.source.getType()))
    return expressions.traceScalar(root.source);
  return expressions.trace(root.source, root.sourceAccess);
}

LogicalResult mlir::epl::traceRoot(Root &root, Expressions &expressions) {
  root.nodes.clear();
  root.inits.clear();
  auto keep = [](FailureOr<ElementRef> node, SmallVector<ElementRef> &nodes) -> LogicalResult {
    if (succeeded(node))
      nodes.push_back(*node);
    return node;
  };
  if (!root.reduction)
    return keep(traceValue(root, expressions), root.nodes);
  for (OpOperand *input : root.reduction.getDpsInputOperands()) {
    if (!root.reduction.payloadUsesValueFromOperand(input))
      root.nodes.push_back({});
    else if (failed(keep(expressions.traceOperand(root.reduction, *input, root.loops), root.nodes)))
      return failure();
  }
  for (auto [init, store] : llvm::zip_equal(root.reduction.getDpsInits(), root.stores))
    if (failed(keep(expressions.trace(init, store), root.inits)))
      return failure();
  return success();
}

static void splitDim(Root &root, Split split) {
  assert(split.inner > 1 && split.inner < root.domain[split.dim] && "both are smaller than the dimension");
  auto splitAccess = [&](StridedAccess &access) {
    int64_t stride = access.strides[split.dim];
    access.strides[split.dim] = stride * split.inner;
    access.strides.insert(access.strides.begin() + split.dim + 1, stride);
  };
  llvm::for_each(root.stores, splitAccess);
  llvm::for_each(root.loops, splitAccess);
  if (root.source)
    splitAccess(root.sourceAccess);
  root.domain[split.dim] /= split.inner;
  root.domain.insert(root.domain.begin() + split.dim + 1, split.inner);
  root.reduced.insert(root.reduced.begin() + split.dim, bool(root.reduced[split.dim]));
}

/// Each split makes two dimensions of at least two of a larger one, so that there are finitely many.
std::unique_ptr<Expressions> mlir::epl::traceRoot(Root &root, const DenseSet<Value> &stored) {
  while (true) {
    auto expressions = std::make_unique<Expressions>(root.domain, stored);
    if (succeeded(traceRoot(root, *expressions)))
      return expressions;
    if (!expressions->getSplit())
      return nullptr;
    splitDim(root, *expressions->getSplit());
  }
}

// The order of a reduction's loops that walks one of its reduced operands through memory: one whose innermost
// dimension is parallel if there is one, as in a matrix product, because vectors of results need no sum
// across lanes; else the one with the most dimensions. What is not reduced says nothing: the positions of
// gathered rows would put the elements of a row outside. Without any operand the reduced loops stay inside.
static SmallVector<size_t> chooseOrder(const Root &root, Expressions &expressions) {
  const StridedAccess *primary = nullptr;
  std::pair<bool, int64_t> best(false, -1);
  for (Element &node : expressions.getNodes()) {
    if (node.kind != Element::Kind::load)
      continue;
    int64_t numDims = 0;
    bool reduces = false, innermostIsParallel = false;
    for (auto [stride, reduced] : llvm::zip_equal(node.access.strides, root.reduced)) {
      numDims += stride != 0;
      reduces |= stride != 0 && reduced;
      innermostIsParallel |= stride == 1 && !reduced;
    }
    if (reduces && std::pair(innermostIsParallel, numDims) > best) {
      best = {innermostIsParallel, numDims};
      primary = &node.access;
    }
  }
  SmallVector<std::pair<int64_t, size_t>> keys; // dimensions that it does not have come first
  for (size_t dim = 0; dim < root.domain.size(); ++dim) {
    int64_t stride = primary ? std::abs(primary->strides[dim]) : 0;
    keys.emplace_back(stride ? -stride : INT64_MIN, dim);
  }
  llvm::sort(keys);
  return llvm::map_to_vector(keys, [](auto &key) { return key.second; });
}

static void permute(Root &root, ArrayRef<size_t> order) {
  auto permuteValues = [&](auto &values) {
    auto old = values;
    for (auto [to, from] : llvm::enumerate(order))
      values[to] = old[from];
  };
  permuteValues(root.domain);
  permuteValues(root.reduced);
  for (StridedAccess &access : root.stores)
    permuteValues(access.strides);
  for (StridedAccess &access : root.loops)
    permuteValues(access.strides);
}

void mlir::epl::orderLoops(Root &reduction, Expressions &expressions) {
  permute(reduction, chooseOrder(reduction, expressions));
}
