//===- TaskGraphs.h - The task graphs of a function, by scopes --*- C++ -*-===//

#ifndef EPL_PASSES_ANNOTATE_TASK_GRAPHS_H
#define EPL_PASSES_ANNOTATE_TASK_GRAPHS_H

#include "dialect/Epl.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <utility>

namespace mlir::epl {

/// What makes two scopes the same: the name, or else the entry and the calls above it.
using ScopeKey = std::pair<Attribute, Attribute>;

/// The task graphs of a function, numbered in order of first use.
struct TaskGraphs {
  llvm::DenseMap<ScopeKey, unsigned> indices;
  SmallVector<ScopeAttr> scopes;
  SmallVector<int64_t> stages; ///< into how many each is to be cut
  SmallVector<Operation *> firstOps;

  /// The number of the task graph of `scope`; `op` is its first op if it is new.
  unsigned getOrCreate(ScopeAttr scope, int64_t count, ScopeKey key, Operation *op) {
    auto [it, inserted] = indices.try_emplace(key, scopes.size());
    if (inserted) {
      scopes.push_back(scope);
      stages.push_back(count);
      firstOps.push_back(op);
    }
    return it->second;
  }
};

} // namespace mlir::epl

#endif // EPL_PASSES_ANNOTATE_TASK_GRAPHS_H
