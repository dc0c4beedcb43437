//===- SumMemory.cpp - Memory of numbers that are widened for sums ---------------===//

#include "passes/kernel/nest/SumMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::epl;

int64_t mlir::epl::getSize(Value buffer) { return cast<MemRefType>(buffer.getType()).getNumElements(); }

// Null for a whole vector.
Value SumMemory::getMask(int64_t columns) {
  if (columns >= vectorType.getNumElements())
    return Value();
  return vector::ConstantMaskOp::create(b, vectorType.clone(b.getI1Type()),
                                        b.getDenseI64ArrayAttr({columns}));
}

Value SumMemory::load(Value buffer, Value index, int64_t columns) {
  VectorType type = vectorType.clone(getElementTypeOrSelf(buffer));
  return convertTo(loadVector(b, type, buffer, index, getMask(columns)), vectorType.getElementType());
}

void SumMemory::store(Value value, Value buffer, Value index, int64_t columns) {
  storeVector(b, convertTo(value, getElementTypeOrSelf(buffer)), buffer, index, getMask(columns));
}

void SumMemory::copyElement(Value source, Value from, Value target, Value to) {
  Value element = loadElement(b, source, from, getElementTypeOrSelf(source));
  storeElement(b, convertTo(element, getElementTypeOrSelf(target)), target, to);
}

Value SumMemory::makeVector(TypedAttr number) {
  Attribute element = number;
  if (auto real = dyn_cast<FloatAttr>(element))
    element = FloatAttr::get(vectorType.getElementType(), real.getValueAsDouble());
  return arith::ConstantOp::create(b, DenseElementsAttr::get(vectorType, element));
}

Value SumMemory::allocate(int64_t size) {
  return function.allocate(RankedTensorType::get({size}, vectorType.getElementType()));
}

Value SumMemory::widen(Value buffer) {
  if (getElementTypeOrSelf(buffer) == vectorType.getElementType())
    return buffer;
  Value &copy = widened[buffer];
  if (!copy) {
    copy = allocate(getSize(buffer));
    convert(buffer, copy);
  }
  return copy;
}

void SumMemory::convert(Value source, Value target) {
  emitVectors(getSize(target), [&](Value index, int64_t columns) {
    store(load(source, index, columns), target, index, columns);
  });
}

void SumMemory::fill(Value buffer, TypedAttr number) {
  Value vector = makeVector(number);
  emitVectors(getSize(buffer), [&](Value index, int64_t columns) { store(vector, buffer, index, columns); });
}

// All vectors of a buffer, then what is left.
void SumMemory::emitVectors(int64_t size, function_ref<void(Value index, int64_t columns)> body) {
  int64_t lanes = vectorType.getNumElements(), left = size % lanes;
  emitLoop(b, function.getIndex(0), function.getIndex(size - left), function.getIndex(lanes),
           [&](Value index) { body(index, lanes); });
  if (left != 0)
    body(function.getIndex(size - left), left);
}

// A number or vector of numbers with elements of type `element`, rounded if that is narrower.
Value SumMemory::convertTo(Value value, Type element) {
  Type from = getElementTypeOrSelf(value);
  if (from == element)
    return value;
  auto vector = dyn_cast<VectorType>(value.getType());
  Type type = vector ? vector.clone(element) : element;
  if (from.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(b, type, value);
  return arith::TruncFOp::create(b, type, value);
}
