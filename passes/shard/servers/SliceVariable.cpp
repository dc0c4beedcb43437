//===- SliceVariable.cpp - How a parameter is cut into blocks -------------===//

#include "passes/shard/servers/SliceVariable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

SmallVector<int64_t> mlir::epl::sliceVariable(ArrayRef<int64_t> shape, int64_t sliceCount,
                                              int64_t minBlockSize) {
  assert(sliceCount >= 1 && minBlockSize >= 1 && "a server, and an element");
  int64_t elements = llvm::product_of(shape, int64_t(1));
  if (elements == 0)
    return {0};
  int64_t count = std::min(sliceCount, std::max(elements / minBlockSize, int64_t(1)));
  int64_t block = llvm::divideCeilSigned(elements, count);
  if (shape.size() >= 2)
    block = llvm::alignTo(block, elements / shape.front());
  SmallVector<int64_t> sizes;
  for (int64_t begin = 0; begin < elements; begin += block)
    sizes.push_back(std::min(block, elements - begin));
  return sizes;
}
