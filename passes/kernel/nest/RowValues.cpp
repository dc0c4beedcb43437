#include "passes/kernel/nest/RowValues.h"

using namespace mlir;
using namespace mlir::epl;

using Dims = SmallVector<std::pair<int64_t, int64_t>>;

static bool staysAt(ArrayRef<int64_t> strides) {
  return llvm::all_of(strides, [](int64_t stride) { return stride == 0; });
}

// Dimensions of rows, however a stage has taken them apart.
static Dims joinRows(ArrayRef<int64_t> extents, ArrayRef<int64_t> strides) {
  Dims dims;
  for (auto [extent, stride] : llvm::zip_equal(extents, strides)) {
    if (extent == 1)
      continue;
    if (!dims.empty() && dims.back().second == stride * extent)
      dims.back() = {dims.back().first * extent, stride};
    else
      dims.push_back({extent, stride});
  }
  return staysAt(strides) ? Dims() : dims;
}

RowElements::RowElements(Value tensor, const StridedAccess &access, const Stage &stage)
    : tensor(tensor), offset(access.offset) {
  ArrayRef<int64_t> extents(stage.domain), strides(access.strides);
  rows = joinRows(extents.take_front(stage.rowRank), strides.take_front(stage.rowRank));
  extents = extents.drop_front(stage.rowRank);
  strides = strides.drop_front(stage.rowRank);
  for (size_t dim = 0; dim < strides.size() && !staysAt(strides); ++dim)
    inner.emplace_back(extents[dim], strides[dim]);
}

Value RowValues::find(const RowElements &elements) const {
  auto found = known.find(elements.tensor);
  if (found == known.end())
    return Value();
  for (const auto &[known, value] : found->second)
    if (known == elements)
      return value;
  return Value();
}

void RowValues::add(const RowElements &elements, Value value) {
  if (!find(elements))
    known[elements.tensor].emplace_back(elements, value);
}
