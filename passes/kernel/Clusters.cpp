//===- Clusters.cpp - Which ops share a kernel ----------------------------===//
//
// Problem: find few groups, each computable by one loop nest, without cycles between them.
// Method: greedy. Every op starts alone; in program order each op tries to join the groups of what it reads,
// then the groups of others that read the same.
// Two groups join if their domains fit (Clusters.h), every value between them is read where it is made, no
// path leads from one to the other through a third, and the result is not too large. A value with many uses
// is shared: nothing but clones is ever computed twice. Compare `FusionPlanner` in XLA:GPU.
//
// In: a flat block. Out: a partition of its ops, acyclic.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/Clusters.h"
#include "passes/kernel/Iteration.h"
#include "passes/kernel/OpRoles.h"

using namespace mlir;
using namespace mlir::epl;

namespace {

/// An op that belongs to a group.
struct Node {
  Operation *op;
  OpRole role;
  Iteration iteration;
  SmallVector<unsigned> users; ///< nodes that read its results
};

/// A group in the making and the loop nest that it needs.
struct Cluster {
  SmallVector<unsigned> nodes; ///< sorted
  SmallVector<int64_t> shape;
  std::optional<unsigned> rowSplit, colSplit; ///< set by reductions, rowSplit by values of rows too; equal
  bool opaque = false;
};

class Grouping {
public:
  Grouping(Block &body, const GroupLimits &limits);
  SmallVector<Group> run();

private:
  void addNode(Operation &op);
  /// Joins clusters that read each other's values, in program order.
  void joinMakersAndReaders();
  /// Joins clusters of one shape that read each element of the same tensor, so that it is read once.
  void joinReaders();
  /// Joins the clusters if they may.
  void tryJoin(unsigned a, unsigned b);
  bool fits(const Cluster &joined) const;
  /// Whether each value that `joined` makes and reads is read where it is made.
  bool readsWhereMade(const Cluster &joined, unsigned node) const;
  bool dependsThroughOther(unsigned from, unsigned to) const;
  /// The node of `joined` that makes what is read, or null if that comes from outside.
  const Node *getMaker(const Cluster &joined, const Read &read) const;

  const GroupLimits limits;
  SmallVector<Node> nodes;
  SmallVector<Cluster> clusters;   ///< by their first node; joined ones are empty
  SmallVector<unsigned> clusterOf; ///< of each node
  DenseMap<Operation *, unsigned> nodeOf;
  DenseSet<std::pair<unsigned, unsigned>> refused; ///< clusters that may not join as all clusters are now
};

Grouping::Grouping(Block &body, const GroupLimits &limits) : limits(limits) {
  for (Operation &op : body.without_terminator())
    addNode(op);
}

void Grouping::addNode(Operation &op) {
  OpRole role = getOpRole(&op);
  if (role == OpRole::clone || role == OpRole::view)
    return;
  unsigned index = nodes.size();
  nodeOf[&op] = index;
  clusterOf.push_back(index);
  Iteration iteration = getIteration(&op);
  for (const Read &read : iteration.reads)
    if (Operation *source = read.source.getDefiningOp())
      nodes[nodeOf.lookup(source)].users.push_back(index);
  Cluster cluster{{index}, iteration.shape, {}, {}, role == OpRole::contraction};
  cluster.opaque |= iteration.kind == Iteration::Kind::opaque;
  if (iteration.kind == Iteration::Kind::rowReduction)
    cluster.rowSplit = iteration.split;
  if (iteration.kind == Iteration::Kind::colReduction)
    cluster.colSplit = iteration.split;
  clusters.push_back(std::move(cluster));
  nodes.push_back({&op, role, std::move(iteration), {}});
}

/// The one of two optional numbers that is set, if they do not contradict.
bool unify(std::optional<unsigned> &into, std::optional<unsigned> other) {
  if (into && other && *into != *other)
    return false;
  if (other)
    into = other;
  return true;
}

/// The loop nest that both clusters fit in, if there is one.
std::optional<Cluster> joinNests(const Cluster &a, const Cluster &b) {
  if (a.opaque || b.opaque)
    return std::nullopt;
  if (a.shape.size() > b.shape.size())
    return joinNests(b, a);
  Cluster joined = b;
  if (!ArrayRef(b.shape).take_front(a.shape.size()).equals(a.shape))
    return std::nullopt;
  if (a.shape.size() < b.shape.size()) { // a computes values of b's rows
    if (a.rowSplit || a.colSplit || (a.shape.empty() && b.rowSplit != 0u))
      return std::nullopt;
    joined.rowSplit = a.shape.size();
  }
  if (!unify(joined.rowSplit, a.rowSplit) || !unify(joined.rowSplit, b.rowSplit) ||
      !unify(joined.colSplit, a.colSplit))
    return std::nullopt;
  std::optional<unsigned> split = joined.rowSplit; // what is reduced by columns are the same rows
  if (!unify(split, joined.colSplit))
    return std::nullopt;
  joined.nodes.append(a.nodes);
  llvm::sort(joined.nodes);
  return joined;
}

const Node *Grouping::getMaker(const Cluster &joined, const Read &read) const {
  auto it = nodeOf.find(read.source.getDefiningOp());
  return it != nodeOf.end() && llvm::is_contained(joined.nodes, it->second) ? &nodes[it->second] : nullptr;
}

bool Grouping::readsWhereMade(const Cluster &joined, unsigned node) const {
  return llvm::all_of(nodes[node].iteration.reads, [&](const Read &read) {
    const Node *maker = getMaker(joined, read);
    return !maker || (maker->iteration.kind != Iteration::Kind::colReduction && read.isPrefix() &&
                      (read.loops.size() == joined.shape.size() || read.loops.size() == joined.rowSplit));
  });
}

bool Grouping::fits(const Cluster &joined) const {
  int64_t ops = 0;
  llvm::SmallDenseSet<Value> operands;
  for (unsigned index : joined.nodes) {
    const Node &node = nodes[index];
    node.op->walk([&](Operation *) { ++ops; });
    for (const Read &read : node.iteration.reads)
      if (!getMaker(joined, read))
        operands.insert(read.source);
    if (!llvm::all_of(node.users, [&](unsigned user) { return llvm::is_contained(joined.nodes, user); }))
      operands.insert(node.op->getResult(0));
  }
  return ops <= limits.maxOps && int64_t(operands.size()) <= limits.maxOperands;
}

bool Grouping::dependsThroughOther(unsigned from, unsigned to) const {
  // Users stand behind what they read, so that nothing behind the last node of `to` matters.
  unsigned last = clusters[to].nodes.back();
  SmallVector<unsigned> work{from};
  llvm::SmallDenseSet<unsigned> seen{from};
  while (!work.empty()) {
    unsigned current = work.pop_back_val();
    for (unsigned node : clusters[current].nodes) {
      for (unsigned user : nodes[node].users) {
        unsigned next = clusterOf[user];
        if (next == to && current != from)
          return true;
        if (next != to && clusters[next].nodes.front() < last && seen.insert(next).second)
          work.push_back(next);
      }
    }
  }
  return false;
}

void Grouping::tryJoin(unsigned a, unsigned b) {
  // Clusters read the same tensor by many of their nodes, but one answer holds for all.
  if (a == b || !refused.insert(std::minmax({a, b})).second)
    return;
  std::optional<Cluster> joined = joinNests(clusters[a], clusters[b]);
  if (!joined || !fits(*joined) ||
      !llvm::all_of(joined->nodes, [&](unsigned node) { return readsWhereMade(*joined, node); }) ||
      dependsThroughOther(a, b) || dependsThroughOther(b, a))
    return;
  refused.clear();
  unsigned into = std::min(a, b);
  for (unsigned node : joined->nodes)
    clusterOf[node] = into;
  clusters[std::max(a, b)].nodes.clear();
  clusters[into] = std::move(*joined);
}

void Grouping::joinMakersAndReaders() {
  for (unsigned node : llvm::seq<unsigned>(0, nodes.size()))
    for (const Read &read : nodes[node].iteration.reads)
      if (Operation *source = read.source.getDefiningOp())
        tryJoin(clusterOf[nodeOf.lookup(source)], clusterOf[node]);
}

void Grouping::joinReaders() {
  DenseMap<Value, SmallVector<unsigned>> readersOf;
  for (unsigned node : llvm::seq<unsigned>(0, nodes.size())) {
    const Iteration &iteration = nodes[node].iteration;
    for (const Read &read : iteration.reads) {
      if (!read.isPrefix() || read.loops.empty() || read.loops.size() != iteration.shape.size())
        continue;
      SmallVector<unsigned> &readers = readersOf[read.source];
      for (unsigned other : readers)
        if (clusters[clusterOf[other]].shape == clusters[clusterOf[node]].shape)
          tryJoin(clusterOf[other], clusterOf[node]);
      readers.push_back(node);
    }
  }
}

SmallVector<Group> Grouping::run() {
  joinMakersAndReaders();
  joinReaders();
  SmallVector<Group> groups;
  for (const Cluster &cluster : clusters) {
    if (cluster.nodes.empty())
      continue;
    bool alone = nodes[cluster.nodes.front()].role == OpRole::contraction;
    groups.push_back({alone ? KernelKind::contraction : KernelKind::fusion, {}});
    for (unsigned node : cluster.nodes)
      groups.back().ops.push_back(nodes[node].op);
  }
  return groups;
}

} // namespace

SmallVector<Group> mlir::epl::groupOps(Block &body, const GroupLimits &limits) {
  return Grouping(body, limits).run();
}
