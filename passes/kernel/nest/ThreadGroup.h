//===- ThreadGroup.h - Threads of a GPU that share a slice ---------*- C++ -*-===//
#pragma once

#include "passes/kernel/nest/KernelFunction.h"

namespace mlir::epl {

/// The threads of a warp, which run together and can read each other's registers.
constexpr int64_t kWarp = 32;
/// Threads of a block that has a chunk, or whose threads have nothing to do with each other; and of one of
/// several groups.
constexpr int64_t kBlockThreads = 128, kGroupsThreads = 256;

/// The largest power of two up to `most`, which is one, that divides a size: runs that begin at multiples of
/// it.
int64_t getRunOf(int64_t size, int64_t most);

/// The threads that run a slice together: a part of a warp, a warp, or a block. Along the innermost loop of a
/// stage thread t takes runs of `run` elements, which lie `size * run` apart, so that what all of them load
/// or store at once lies together:
///
///   element   0 1 2 3 4 5 6 7 8 9 ..      size = 2, run = 2
///   thread    0 0 1 1 0 0 1 1 0 0
class ThreadGroup {
public:
  /// `size` and `groups` are powers of two: threads of a group, and groups of a block that share a slice,
  /// which is more than one for parts of warps and warps only.
  ThreadGroup(KernelFunction &function, int64_t size, int64_t groups, int64_t run);

  int64_t getSize() const { return size; }
  int64_t getGroups() const { return groups; }
  int64_t getRun() const { return run; }
  /// The number of this thread in the group, and of the group among those that share a slice, as `index`.
  Value getThread() { return thread; }
  Value getGroup() { return group; }
  /// Whether that is number 0.
  Value isFirst();
  Value isFirstGroup();
  /// All accesses of the group's threads to memory before it come before those behind it. All of them come
  /// here.
  void synchronize();
  /// Combines the values of all threads, in the same order in each of them: all get the same bits. All of
  /// them come here.
  Value combine(Value value, function_ref<Value(Value, Value)> combiner);
  /// The same for the threads with the same number of all groups that share a slice, lane by lane; the first
  /// group gets it. `shared` has room for all lanes of all threads. All of them come here.
  SmallVector<Value> combineGroups(ArrayRef<Value> lanes, Value shared,
                                   function_ref<Value(Value, Value)> combiner);
  /// The same as `synchronize` for all groups that share a slice.
  void synchronizeGroups();

private:
  Value call(StringRef intrinsic, Type result, ValueRange operands);
  Value getInt(int64_t value, unsigned bits);
  Value getLaneMask();
  Value shuffle(Value value, int64_t distance);
  void awaitRowBefore();
  Value combineWarps(Value value, function_ref<Value(Value, Value)> combiner);

  KernelFunction &function;
  ImplicitLocOpBuilder &b;
  int64_t size, groups, run;
  Value thread, group, inBlock;
  Operation *rowBarrier = nullptr; // before the one sum of a row
  Block *rowOfSums = nullptr;      // that has several
  DenseSet<Value> used;            // memory that groups have shared
};

} // namespace mlir::epl
