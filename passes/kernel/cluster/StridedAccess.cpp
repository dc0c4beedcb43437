//===- StridedAccess.cpp - Strided accesses over an iteration domain --------------------===//

#include "passes/kernel/cluster/StridedAccess.h"

#include <numeric>

using namespace mlir;
using namespace mlir::epl;

SmallVector<int64_t> mlir::epl::getStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t dim = int64_t(shape.size()) - 2; dim >= 0; --dim)
    strides[dim] = strides[dim + 1] * shape[dim + 1];
  return strides;
}

StridedAccess StridedAccess::along(size_t dim, size_t rank) {
  StridedAccess access = constant(0, rank);
  access.strides[dim] = 1;
  return access;
}

StridedAccess StridedAccess::identity(ArrayRef<int64_t> domain) { return {0, getStrides(domain)}; }

bool StridedAccess::isConstant() const {
  return llvm::all_of(strides, [](int64_t stride) { return stride == 0; });
}

StridedAccess StridedAccess::operator+(const StridedAccess &other) const {
  StridedAccess sum = *this;
  sum.offset += other.offset;
  for (auto [stride, term] : llvm::zip_equal(sum.strides, other.strides))
    stride += term;
  return sum;
}

StridedAccess StridedAccess::operator*(int64_t factor) const {
  StridedAccess product = *this;
  product.offset *= factor;
  for (int64_t &stride : product.strides)
    stride *= factor;
  return product;
}

bool StridedAccess::operator<(const StridedAccess &other) const {
  return std::tie(offset, strides) < std::tie(other.offset, other.strides);
}

// The dimension of the tensor that a stride moves along, or the last one whose stride it reaches.
static size_t findDim(int64_t stride, ArrayRef<int64_t> shape, ArrayRef<int64_t> tensorStrides) {
  for (size_t dim = 0; dim < shape.size(); ++dim)
    if (shape[dim] > 1 && std::abs(stride) >= tensorStrides[dim])
      return dim;
  return shape.size();
}

std::optional<SmallVector<StridedAccess>> mlir::epl::delinearize(const StridedAccess &access,
                                                                 ArrayRef<int64_t> domain,
                                                                 ArrayRef<int64_t> shape,
                                                                 std::optional<Split> &split) {
  if (llvm::is_contained(shape, 0))
    return std::nullopt;
  SmallVector<int64_t> tensorStrides = getStrides(shape);
  SmallVector<StridedAccess> positions(shape.size(), StridedAccess::constant(0, domain.size()));
  int64_t rest = access.offset;
  for (auto [position, stride] : llvm::zip_equal(positions, tensorStrides)) {
    position.offset = rest / stride;
    rest %= stride;
  }
  for (auto [d, stride] : llvm::enumerate(access.strides)) {
    if (stride == 0)
      continue;
    size_t dim = findDim(stride, shape, tensorStrides);
    if (dim == shape.size() || stride % tensorStrides[dim] != 0)
      return std::nullopt;
    int64_t step = stride / tensorStrides[dim], extent = shape[dim];
    positions[dim].strides[d] = step;
    // A loop that runs over several dimensions of the tensor at once must be two loops.
    if (step > 0 && step * (domain[d] - 1) >= extent) {
      if (step < extent && extent % step == 0 && domain[d] % (extent / step) == 0)
        split = Split{d, extent / step};
      return std::nullopt;
    }
  }
  for (auto [position, extent] : llvm::zip_equal(positions, shape)) {
    int64_t low = position.offset, high = position.offset;
    for (auto [stride, size] : llvm::zip_equal(position.strides, domain))
      (stride < 0 ? low : high) += stride * (size - 1);
    if (low < 0 || high >= extent)
      return std::nullopt;
  }
  return positions;
}

StridedAccess mlir::epl::linearize(ArrayRef<StridedAccess> positions, ArrayRef<int64_t> shape, size_t rank) {
  StridedAccess linear = StridedAccess::constant(0, rank);
  for (auto [position, stride] : llvm::zip_equal(positions, getStrides(shape)))
    linear = linear + position * stride;
  return linear;
}

std::optional<StridedAccess> mlir::epl::apply(AffineExpr expr, ArrayRef<StridedAccess> dims, size_t rank) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return StridedAccess::constant(constant.getValue(), rank);
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  std::optional<StridedAccess> lhs = apply(binary.getLHS(), dims, rank),
                               rhs = apply(binary.getRHS(), dims, rank);
  if (!lhs || !rhs)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add)
    return *lhs + *rhs;
  if (expr.getKind() == AffineExprKind::Mul && rhs->isConstant())
    return *lhs * rhs->offset;
  return std::nullopt;
}
