//===- ElementEmitter.h - One element of a kernel's value ----------*- C++ -*-===//
#pragma once

#include "passes/kernel/cluster/Expression.h"
#include "passes/kernel/nest/KernelFunction.h"

#include "mlir/IR/IRMapping.h"

namespace mlir::epl {

/// Emits elements that were traced over a domain, one at a time, as scalar code.
class ElementEmitter {
public:
  /// Computes the scalars of `kernel` at the function's insertion point.
  ElementEmitter(KernelOp kernel, KernelFunction &function);

  /// The element at the point `point` of the domain, at the function's insertion point.
  Value emit(ElementRef ref, ArrayRef<Value> point);
  /// The number that an access is at a point.
  Value emitAccess(const StridedAccess &access, ArrayRef<Value> point);

private:
  /// The results of nodes at one point.
  using Known = DenseMap<Element *, SmallVector<Value>>;
  Value emit(ElementRef ref, ArrayRef<Value> point, Known &known);
  SmallVector<Value> emitPayload(Element &node, ArrayRef<Value> point, Known &known);
  Value cloneScalar(Operation *op, IRMapping &mapping, ArrayRef<Value> loops);
  Value load(Value tensor, Value index);

  KernelFunction &function;
  ImplicitLocOpBuilder &b;
  IRMapping scalars;
  DenseMap<Value, Value> constants;
};

} // namespace mlir::epl
