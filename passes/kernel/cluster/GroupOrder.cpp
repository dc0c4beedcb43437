//===- GroupOrder.cpp - In which order groups can be computed -------------===//

#include "passes/kernel/cluster/Clusters.h"
#include "passes/kernel/cluster/OpRoles.h"

#include "llvm/ADT/SCCIterator.h"

#include <deque>

using namespace mlir;
using namespace mlir::epl;

namespace {
/// A group, or an op of none: one that is cloned into its readers, a view, the block's terminator.
struct Unit {
  const Group *group = nullptr;
  llvm::SetVector<Unit *> reads;
};
} // namespace

template <> struct llvm::GraphTraits<Unit *> {
  using NodeRef = Unit *;
  using ChildIteratorType = llvm::SetVector<Unit *>::const_iterator;
  static NodeRef getEntryNode(Unit *unit) { return unit; }
  static ChildIteratorType child_begin(NodeRef unit) { return unit->reads.begin(); }
  static ChildIteratorType child_end(NodeRef unit) { return unit->reads.end(); }
};

namespace {
/// What the ops of a block read of each other, the ops of a group taken together.
class UnitGraph {
public:
  UnitGraph(Block &body, ArrayRef<Group> groups) {
    for (const Group &group : groups) {
      units.push_back({&group, {}});
      for (Operation *op : group.ops)
        unitOf[op] = &units.back();
    }
    for (Operation &op : body) {
      Unit *&unit = unitOf[&op];
      if (!unit)
        unit = &units.emplace_back();
      for (Value value : getReadValues(&op))
        if (Operation *source = value.getDefiningOp(); source && source->getBlock() == &body)
          unit->reads.insert(unitOf.at(source));
    }
  }

  Unit *getUnit(Operation *op) const { return unitOf.at(op); }

private:
  std::deque<Unit> units;
  DenseMap<Operation *, Unit *> unitOf;
};
} // namespace

FailureOr<SmallVector<const Group *>> mlir::epl::orderGroups(Block &body, ArrayRef<Group> groups) {
  UnitGraph graph(body, groups);
  SmallVector<const Group *> order;
  for (auto it = llvm::scc_begin(graph.getUnit(body.getTerminator())); !it.isAtEnd(); ++it) {
    // A group may read itself by way of what is cloned into it.
    size_t before = order.size();
    for (Unit *unit : *it)
      if (unit->group)
        order.push_back(unit->group);
    if (order.size() > before + 1)
      return failure();
  }
  return order;
}
