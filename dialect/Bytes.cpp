//===- Bytes.cpp - The memory that tensors take ---------------------------===//

#include "dialect/Bytes.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

bool mlir::epl::hasTooManyElements(RankedTensorType type) {
  int64_t count = 1;
  for (int64_t extent : type.getShape())
    if (llvm::MulOverflow(count, std::max<int64_t>(extent, 1), count) || count > kMostElements)
      return true;
  return false;
}

int64_t mlir::epl::getElementBytes(Type element) {
  return element.isIntOrFloat() ? int64_t(llvm::divideCeil(element.getIntOrFloatBitWidth(), 8)) : 8;
}

int64_t mlir::epl::getBytes(RankedTensorType type) {
  return type.hasStaticShape() ? type.getNumElements() * getElementBytes(type.getElementType()) : 0;
}

int64_t mlir::epl::getBytes(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? getBytes(type) : 0;
}
