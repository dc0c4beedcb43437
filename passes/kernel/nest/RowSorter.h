//===- RowSorter.h - Sorts a row in the workspace ------------------*- C++ -*-===//
#pragma once

#include "passes/kernel/nest/SortOrder.h"

namespace mlir::epl {

/// A row of a sort while it is sorted: what is compared, then what moves along, each in a buffer of its own
/// that has room for two copies of the row. Slices of a kernel have copies of their own.
class RowSorter {
public:
  /// Takes workspace for `slices` rows of up to `capacity` elements: the values that `order` compares and
  /// elements of the types `carried`. The sorted row ends where it began if `inPlace`.
  RowSorter(const SortOrder &order, ArrayRef<Type> carried, int64_t capacity, int64_t slices, bool inPlace,
            KernelFunction &function);

  /// Chooses the row of slice `slice` (an index).
  void openSlice(Value slice);
  /// Stores an element of a row that is to be sorted at `position`: first what is compared.
  void store(Value position, ArrayRef<Value> compared, ArrayRef<Value> carried);
  /// Sorts the elements [0, size), a stable sort; `size` is at most the capacity.
  void sort(Value size);
  /// The element at `position`, after a sort: first what is compared.
  SmallVector<Value> load(Value position);

private:
  void sortRunByRank(Value low, Value high, Value from, Value to);
  void storeRanks(Value first, Value count);
  void sortRunByInsertion(Value low, Value high, Value from, Value to);
  void insert(ArrayRef<Value> bits, Value first, Value position);
  void mergeRuns(Value level, Value size, Value from, Value to);
  void merge(Value low, Value middle, Value high, Value from, Value to);
  /// The elements of all columns at `index`, as integers of their bits.
  SmallVector<Value> loadBits(Value index);
  void storeBits(ArrayRef<Value> bits, Value index);
  Value encode(Value value);
  Value decode(Value bits, Type type);
  /// Whether the element `left` comes before `right`, both as `loadBits` gives them.
  Value comesBefore(ArrayRef<Value> left, ArrayRef<Value> right);
  Value getBound(Value run, Value level, Value size);

  Value add(Value x, Value y);
  Value sub(Value x, Value y);
  SmallVector<Value> select(Value condition, ArrayRef<Value> x, ArrayRef<Value> y);
  Value toIndex(Value boolean);
  /// A loop from `begin` to `end` that carries `inits`; gives their last values.
  SmallVector<Value> loop(Value begin, Value end, ValueRange inits,
                          function_ref<SmallVector<Value>(Value iv, ValueRange carried)> body);

  const SortOrder &order;
  KernelFunction &function;
  ImplicitLocOpBuilder &b;
  int64_t capacity, levels;
  bool ranks; ///< runs are sorted by ranks
  size_t numCompared;
  SmallVector<Type> types;
  SmallVector<Value> columns;
  Value rankBuffer;
  Value base, rankBase; ///< where the slice's first copy and its ranks are
};

} // namespace mlir::epl
