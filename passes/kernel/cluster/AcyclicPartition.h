//===- AcyclicPartition.h - Joining nodes without making cycles ----*- C++ -*-===//
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace mlir::epl {

/// A partition of the nodes of an acyclic graph, whose parts have no cyclic dependencies either.
///
/// It keeps an order in which every part stands behind the parts that it reads; whoever has one has no cycle.
/// Parts that join make the order anew between their places, as D. Pearce and P. Kelly do for an edge ("A
/// dynamic topological sort algorithm for directed acyclic graphs", JEA 2006).
class AcyclicPartition {
public:
  /// Adds a node that reads nodes added before, and a part for it alone, of the same number.
  unsigned addNode(llvm::ArrayRef<unsigned> sources);

  unsigned getPart(unsigned node) const { return partOf[node]; }
  /// In the order in which they were added; none of a part that has joined another one.
  llvm::ArrayRef<unsigned> getNodes(unsigned part) const { return nodesOf[part]; }
  /// The nodes that read `node`.
  llvm::ArrayRef<unsigned> getUsers(unsigned node) const { return usersOf[node]; }

  /// Makes one part of two different ones, which has the number of one of them, unless a third part would be
  /// both before and behind it. Whether it did.
  bool tryJoin(unsigned a, unsigned b);

  /// The parts that have nodes, each behind all that it reads.
  llvm::SmallVector<unsigned> getOrder() const;

private:
  /// The parts before `last` that depend on `first`; none if `last` reads one of them.
  std::optional<llvm::DenseSet<unsigned>> findBetween(unsigned first, unsigned last) const;
  /// Puts `first`, and behind it those that depend on it, behind `last`.
  void moveBehind(unsigned first, unsigned last, const llvm::DenseSet<unsigned> &dependents);

  llvm::SmallVector<llvm::SmallVector<unsigned>> usersOf, nodesOf;
  llvm::SmallVector<unsigned> partOf;
  llvm::SmallVector<unsigned> order, positionOf; ///< of all parts; empty ones keep a place
};

} // namespace mlir::epl
