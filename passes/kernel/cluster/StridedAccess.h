//===- StridedAccess.h - Strided accesses over an iteration domain --------*- C++ -*-===//
#pragma once

#include "mlir/IR/AffineExpr.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace mlir::epl {

/// The extents of a loop nest, outermost first.
using Extents = SmallVector<int64_t>;

/// Row-major strides, in elements.
SmallVector<int64_t> getStrides(ArrayRef<int64_t> shape);

/// An integer that depends on the point of a domain: `offset + sum of strides[d] * point[d]`. It names an
/// element of a tensor by its linear index, or a position along one dimension.
struct StridedAccess {
  int64_t offset = 0;
  SmallVector<int64_t> strides;

  /// The same for every point.
  static StridedAccess constant(int64_t value, size_t rank) { return {value, SmallVector<int64_t>(rank, 0)}; }
  /// The position along dimension `dim`.
  static StridedAccess along(size_t dim, size_t rank);
  /// The linear index of a row-major tensor that has the domain's shape.
  static StridedAccess identity(ArrayRef<int64_t> domain);

  bool isConstant() const;
  StridedAccess operator+(const StridedAccess &other) const;
  StridedAccess operator*(int64_t factor) const;
  bool operator==(const StridedAccess &other) const = default;
  bool operator<(const StridedAccess &other) const;
};

/// A dimension of the domain that must be split in two, the inner one of extent `inner`, before an access can
/// be taken apart.
struct Split {
  size_t dim;
  int64_t inner;
};

/// The positions along the dimensions of a row-major tensor of shape `shape` of the element with linear index
/// `access`. Nothing if they are not strided; then `split` may say what would help.
std::optional<SmallVector<StridedAccess>> delinearize(const StridedAccess &access, ArrayRef<int64_t> domain,
                                                      ArrayRef<int64_t> shape, std::optional<Split> &split);
/// The inverse.
StridedAccess linearize(ArrayRef<StridedAccess> positions, ArrayRef<int64_t> shape, size_t rank);
/// An affine expression of positions; nothing if it is not strided.
std::optional<StridedAccess> apply(AffineExpr expr, ArrayRef<StridedAccess> dims, size_t rank);

} // namespace mlir::epl
