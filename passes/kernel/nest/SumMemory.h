//===- SumMemory.h - Memory of numbers that are widened for sums ---*- C++ -*-===//
#pragma once

#include "passes/kernel/nest/KernelFunction.h"

namespace mlir::epl {

/// The buffers of a kernel, whose elements are loaded and stored in the type of its sums, by vectors of
/// `lanes` elements: narrow ones are widened, and rounded when they are stored.
class SumMemory {
public:
  SumMemory(KernelFunction &function, Type sumType, int64_t lanes)
      : function(function), b(function.getBuilder()), vectorType(VectorType::get({lanes}, sumType)) {}

  /// A vector of sums.
  VectorType getVectorType() const { return vectorType; }
  /// Loads or stores the vector from `index` on, or its first `columns` elements if they are fewer.
  Value load(Value buffer, Value index, int64_t columns);
  void store(Value value, Value buffer, Value index, int64_t columns);
  /// Copies one element.
  void copyElement(Value source, Value from, Value target, Value to);
  /// A vector that repeats a number, rounded to an element of the type of sums.
  Value makeVector(TypedAttr number);

  /// Room in the workspace for so many sums.
  Value allocate(int64_t size);
  /// `buffer`, or what it holds in the type of sums, which the first call for it copies.
  Value widen(Value buffer);
  /// Copies all elements.
  void convert(Value source, Value target);
  /// Makes all elements `number`.
  void fill(Value buffer, TypedAttr number);

private:
  Value convertTo(Value value, Type element);
  Value getMask(int64_t columns);
  void emitVectors(int64_t size, function_ref<void(Value index, int64_t columns)> body);

  KernelFunction &function;
  ImplicitLocOpBuilder &b;
  VectorType vectorType;
  DenseMap<Value, Value> widened;
};

/// The elements of a linear buffer.
int64_t getSize(Value buffer);

} // namespace mlir::epl
