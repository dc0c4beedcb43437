//===- ConvolutionAxes.cpp - The axes of a convolution ---------------------===//

#include "passes/kernel/match/ConvolutionAxes.h"

#include "passes/kernel/cluster/OpRoles.h"
#include "passes/kernel/cluster/StridedAccess.h"

using namespace mlir;
using namespace mlir::epl;
using linalg::GenericOp;

namespace {

/// A dimension of a tensor. Its element i is what the loops read, or write, where modulus * i = position.
struct Dim {
  size_t tensor;
  StridedAccess position;
  int64_t modulus, extent, stride;

  bool has(size_t loop) const { return position.strides[loop] != 0; }
  SmallVector<size_t> loops() const {
    SmallVector<size_t> found;
    for (size_t loop = 0; loop < position.strides.size(); ++loop)
      if (has(loop))
        found.push_back(loop);
    return found;
  }
  /// Whether it follows one loop, step by step.
  bool isPlain() const {
    SmallVector<size_t> found = loops();
    return modulus == 1 && position.offset == 0 && found.size() == 1 && position.strides[found[0]] == 1;
  }
};

/// Takes a contraction apart.
class AxisFinder {
public:
  explicit AxisFinder(GenericOp op) : op(op), extents(op.getStaticLoopRanges()) {}

  std::optional<ContractionAxes> find() {
    if (!addDims())
      return std::nullopt;
    ContractionAxes axes;
    llvm::BitVector done(extents.size());
    for (const Dim &dim : dims) {
      SmallVector<size_t> loops = dim.loops();
      if (dim.isPlain() || (!loops.empty() && done[loops[0]]))
        continue;
      std::optional<BoundDims> bound = bind(grow(loops));
      if (!bound)
        return std::nullopt;
      axes.bound.push_back(*bound);
      for (size_t loop : grow(loops))
        done.set(loop);
    }
    for (size_t loop = 0; loop < extents.size(); ++loop)
      if (!done[loop] && extents[loop] != 1 && !addPlain(loop, axes))
        return std::nullopt;
    return axes;
  }

private:
  /// All dimensions that have something to do with a loop; false if one has not what `Dim` can say.
  bool addDims() {
    for (auto [tensor, operand] : llvm::enumerate(op->getOperands())) {
      AffineMap map = op.getIndexingMapsArray()[tensor];
      tensor::InsertSliceOp dilation = getDilation(operand);
      auto type = cast<RankedTensorType>((dilation ? dilation.getSource() : operand).getType());
      SmallVector<StridedAccess> along;
      for (unsigned loop = 0; loop < map.getNumDims(); ++loop) // a loop of one iteration is at 0
        along.push_back(extents[loop] == 1 ? StridedAccess::constant(0, map.getNumDims())
                                           : StridedAccess::along(loop, map.getNumDims()));
      SmallVector<int64_t> strides = getStrides(type.getShape());
      for (auto [number, expr] : llvm::enumerate(map.getResults())) {
        std::optional<StridedAccess> position = apply(expr, along, map.getNumDims());
        if (!position)
          return false;
        Dim dim{tensor, *position, 1, type.getDimSize(number), strides[number]};
        if (dilation) {
          dim.modulus = dilation.getStaticStride(number);
          dim.position.offset -= dilation.getStaticOffset(number);
        }
        bool isOnlyFirst = dim.position.isConstant() && dim.position.offset == 0;
        if (!isOnlyFirst)
          dims.push_back(dim);
      }
    }
    return true;
  }

  /// The loops that dimensions bind to some of them, which are no more than two in what we know.
  SmallVector<size_t> grow(SmallVector<size_t> loops) const {
    for (size_t before = 0; before != loops.size();) {
      before = loops.size();
      for (const Dim &dim : dims)
        if (llvm::any_of(loops, [&](size_t loop) { return dim.has(loop); }))
          for (size_t loop : dim.loops())
            if (!llvm::is_contained(loops, loop))
              loops.push_back(loop);
    }
    return loops;
  }

  /// What some loops, and no others, walk.
  std::optional<BoundDims> bind(ArrayRef<size_t> loops) const {
    if (loops.empty() || loops.size() > 2)
      return std::nullopt;
    std::array<const Dim *, 3> walked{};
    for (const Dim &dim : dims) {
      if (llvm::none_of(loops, [&](size_t loop) { return dim.has(loop); }))
        continue;
      if (walked[dim.tensor])
        return std::nullopt;
      walked[dim.tensor] = &dim;
    }
    return eliminate(loops, walked);
  }

  /// Of one dimension that depends on all loops, and for each loop another one that follows it alone: the
  /// equation of their positions, without the loops.
  std::optional<BoundDims> eliminate(ArrayRef<size_t> loops, std::array<const Dim *, 3> walked) const {
    const Dim **window = llvm::find_if(walked, [&](const Dim *dim) {
      return dim && dim->loops().size() == loops.size() && (loops.size() == 2 || !dim->isPlain());
    });
    if (window == walked.end())
      return std::nullopt;
    BoundDims bound;
    if (!setDim(bound, **window, (*window)->extent, -(*window)->modulus))
      return std::nullopt;
    bound.constant = -(*window)->position.offset;
    for (size_t loop : loops) {
      const Dim **single = llvm::find_if(walked, [&](const Dim *dim) {
        return dim && dim != *window && dim->loops().size() == 1 && dim->position.strides[loop] == 1;
      });
      if (single == walked.end())
        return std::nullopt;
      // modulus * i = loop + offset, so loop = modulus * i - offset.
      const Dim &dim = **single;
      int64_t factor = (*window)->position.strides[loop];
      if (!setDim(bound, dim, countElements(dim, extents[loop]), factor * dim.modulus))
        return std::nullopt;
      bound.constant += factor * dim.position.offset;
      *single = nullptr;
    }
    bool isAll = llvm::all_of(walked, [&](const Dim *dim) { return !dim || dim == *window; });
    return isAll ? std::optional(bound) : std::nullopt;
  }

  /// How many elements of a dimension a loop meets that it follows alone, from the first one on; 0 if not
  /// from there.
  static int64_t countElements(const Dim &dim, int64_t iterations) {
    if (dim.position.offset > 0)
      return 0;
    return std::min<int64_t>(
        dim.extent, llvm::divideCeil(std::max<int64_t>(iterations + dim.position.offset, 0), dim.modulus));
  }

  static bool setDim(BoundDims &bound, const Dim &dim, int64_t extent, int64_t coefficient) {
    bound.extents[dim.tensor] = extent;
    bound.strides[dim.tensor] = dim.stride;
    bound.coefficients[dim.tensor] = coefficient;
    return extent > 0;
  }

  /// A loop that binds no dimensions; false if a tensor walks it in two of them.
  bool addPlain(size_t loop, ContractionAxes &axes) const {
    PlainLoop plain{extents[loop], {0, 0, 0}};
    for (const Dim &dim : dims) {
      if (!dim.has(loop))
        continue;
      if (plain.strides[dim.tensor] != 0)
        return false;
      plain.strides[dim.tensor] = dim.stride;
    }
    axes.plain.push_back(plain);
    return true;
  }

  GenericOp op;
  SmallVector<int64_t> extents;
  SmallVector<Dim> dims;
};

} // namespace

std::optional<ContractionAxes> mlir::epl::findAxes(GenericOp contraction) {
  return AxisFinder(contraction).find();
}
