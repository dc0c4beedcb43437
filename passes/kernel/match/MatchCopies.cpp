//===- MatchCopies.cpp - Slices and concatenations that the runtime copies ------===//
//
// Problem: an unrolled loop over layers takes each layer's parameters out of their stacks, each from another
// place, and puts what it gets into stacks again: kernels compiled for nothing but an offset.
// Method: a kernel that does nothing but take a slice, or join its inputs, is a copy of each input if the
// elements of the slice, or of each part of the result, lie side by side in memory, reshaped or not. So
// distinct code does not grow with depth.
//
// In: kernels of kind fusion. Out: `copies` on those that are copies; no code is made for them.
//
//===----------------------------------------------------------------------===//

#include "dialect/Bytes.h"
#include "passes/kernel/Passes.h"
#include "passes/kernel/cluster/Expression.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::epl {
#define GEN_PASS_DEF_MATCHCOPIES
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

/// How many bytes into its source the elements of a slice begin that lie side by side there; none otherwise.
static std::optional<int64_t> getOffset(tensor::ExtractSliceOp slice) {
  auto isDynamic = [](ArrayRef<int64_t> values) { return llvm::any_of(values, ShapedType::isDynamic); };
  if (isDynamic(slice.getStaticOffsets()) || !slice.hasUnitStride())
    return std::nullopt;
  int64_t offset = 0, stride = getElementBytes(slice.getSourceType().getElementType());
  bool isWhole = true; // all dimensions so far, from the last one on
  for (int64_t dim = slice.getSourceType().getRank() - 1; dim >= 0; --dim) {
    int64_t extent = slice.getSourceType().getDimSize(dim), size = slice.getStaticSizes()[dim];
    if (!isWhole && size != 1)
      return std::nullopt;
    isWhole &= size == extent;
    offset += slice.getStaticOffsets()[dim] * stride;
    stride *= extent;
  }
  return offset;
}

/// The copy that a kernel with one input is whose result is `slice`, or none.
static SmallVector<Attribute> getCopies(Block &body, tensor::ExtractSliceOp slice) {
  std::optional<int64_t> from = getOffset(slice);
  if (!from || body.getNumArguments() != 1 || stripViews(slice.getSource()) != body.getArgument(0))
    return {};
  return {CopyAttr::get(slice.getContext(), *from, 0, getBytes(slice.getType()))};
}

/// The same for a concatenation of the kernel's inputs, in order.
static SmallVector<Attribute> getCopies(Block &body, ConcatenateOp concat) {
  auto type = cast<RankedTensorType>(concat.getResult().getType());
  bool isOutermost =
      llvm::all_of(type.getShape().take_front(concat.getDim()), [](int64_t n) { return n == 1; });
  auto isInput = [](auto pair) { return stripViews(std::get<0>(pair)) == std::get<1>(pair); };
  if (!isOutermost || concat->getNumOperands() != body.getNumArguments() ||
      !llvm::all_of(llvm::zip(concat->getOperands(), body.getArguments()), isInput))
    return {};
  SmallVector<Attribute> copies;
  int64_t to = 0;
  for (Value part : concat->getOperands()) {
    int64_t size = getBytes(cast<RankedTensorType>(part.getType()));
    copies.push_back(CopyAttr::get(concat.getContext(), 0, to, size));
    to += size;
  }
  return copies;
}

static SmallVector<Attribute> getCopies(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  Operation *yield = body.getTerminator();
  Value result = yield->getNumOperands() == 1 ? stripViews(yield->getOperand(0)) : Value();
  if (!result || !cast<RankedTensorType>(result.getType()).getElementType().isIntOrFloat())
    return {};
  if (auto slice = result.getDefiningOp<tensor::ExtractSliceOp>())
    return getCopies(body, slice);
  auto concat = result.getDefiningOp<ConcatenateOp>();
  return concat ? getCopies(body, concat) : SmallVector<Attribute>();
}

namespace {
struct MatchCopiesPass : epl::impl::MatchCopiesBase<MatchCopiesPass> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<KernelOp>())
      if (SmallVector<Attribute> copies = getCopies(kernel); !copies.empty())
        kernel.setCopiesAttr(ArrayAttr::get(&getContext(), copies));
  }
};
} // namespace
