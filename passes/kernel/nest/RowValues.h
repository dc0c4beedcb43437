//===- RowValues.h - What a thread has of a row, in registers ------*- C++ -*-===//
#pragma once

#include "passes/kernel/cluster/FusionPlan.h"

namespace mlir::epl {

/// The elements of a tensor that a thread loads or stores in a stage: its access, with dimensions of rows
/// joined that it steps through as through one. No dimensions where it does not move. Those of the row itself
/// say which thread has which elements.
struct RowElements {
  Value tensor;
  int64_t offset;
  SmallVector<std::pair<int64_t, int64_t>> rows, inner; // extent and stride of each dimension

  RowElements(Value tensor, const StridedAccess &access, const Stage &stage);
  /// Whether they are the same in each row.
  bool isOfAllRows() const { return rows.empty(); }
  bool operator==(const RowElements &other) const = default;
};

/// Values that a thread has loaded, computed or stored for the row it is at.
class RowValues {
public:
  /// Null if it is not there.
  Value find(const RowElements &elements) const;
  void add(const RowElements &elements, Value value);
  /// Of a tensor of which other elements are stored: some may be the same.
  void forget(Value tensor) { known.erase(tensor); }

private:
  DenseMap<Value, SmallVector<std::pair<RowElements, Value>>> known;
};

} // namespace mlir::epl
