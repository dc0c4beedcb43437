//===- Clusters.cpp - Which ops share a kernel ----------------------------===//
//
// Problem: find few groups, each computable by one loop nest, without cycles between them.
// Method: greedy. Every op starts alone; in program order each op tries to join the groups of what it reads,
// then the groups of others that read the same.
// Two groups join if their domains fit (Clusters.h), every value between them is read where it is made, no
// path leads from one to the other through a third (AcyclicPartition.h), and the result is not too large. A
// value with many uses is shared: nothing but clones is ever computed twice. Compare `FusionPlanner` in
// XLA:GPU.
//
// In: a flat block. Out: a partition of its ops, acyclic.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/cluster/Clusters.h"

#include "passes/kernel/cluster/AcyclicPartition.h"
#include "passes/kernel/cluster/Iteration.h"
#include "passes/kernel/cluster/OpRoles.h"

using namespace mlir;
using namespace mlir::epl;

/// How many times as many ops a group may hold that reads nothing as large as what it makes.
static constexpr int64_t kGenerating = 4;

namespace {

/// An op that belongs to a group.
struct Node {
  Operation *op;
  OpRole role;
  Iteration iteration;
};

/// The loop nest that a group needs.
struct Nest {
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
  /// Joins groups that read each other's values, in program order.
  void joinMakersAndReaders();
  /// Joins groups of one shape that read each element of the same tensor, so that it is read once.
  void joinReaders();
  /// Joins the groups if they may.
  void tryJoin(unsigned a, unsigned b);
  /// Whether the two, which share a nest, are small enough to be one.
  bool fits(const Nest &nest, unsigned a, unsigned b) const;
  /// Whether each value that groups `a` and `b`, which share a nest, make and read is read where it is made.
  bool readsWhereMade(const Nest &nest, unsigned a, unsigned b) const;
  /// The node that makes what is read, if it does not come from outside of the block.
  std::optional<unsigned> findMaker(const Read &read) const;
  bool isIn(std::optional<unsigned> node, unsigned a, unsigned b) const;
  /// The nodes of both groups.
  auto getNodes(unsigned a, unsigned b) const {
    return llvm::concat<const unsigned>(parts.getNodes(a), parts.getNodes(b));
  }

  const GroupLimits limits;
  SmallVector<Node> nodes;
  AcyclicPartition parts;
  SmallVector<Nest> nests; ///< of each part
  DenseMap<Operation *, unsigned> nodeOf;
  DenseSet<std::pair<unsigned, unsigned>> refused; ///< groups that may not join as all groups are now
};

Grouping::Grouping(Block &body, const GroupLimits &limits) : limits(limits) {
  for (Operation &op : body.without_terminator())
    addNode(op);
}

void Grouping::addNode(Operation &op) {
  OpRole role = getOpRole(&op);
  if (role == OpRole::clone || role == OpRole::view)
    return;
  Iteration iteration = getIteration(&op);
  SmallVector<unsigned> sources;
  for (const Read &read : iteration.reads)
    if (std::optional<unsigned> maker = findMaker(read))
      sources.push_back(*maker);
  nodeOf[&op] = parts.addNode(sources);
  Nest nest{iteration.shape, {}, {}, role == OpRole::contraction};
  nest.opaque |= iteration.kind == Iteration::Kind::opaque;
  if (iteration.kind == Iteration::Kind::rowReduction)
    nest.rowSplit = iteration.split;
  if (iteration.kind == Iteration::Kind::colReduction)
    nest.colSplit = iteration.split;
  nests.push_back(std::move(nest));
  nodes.push_back({&op, role, std::move(iteration)});
}

/// The one of two optional numbers that is set, if they do not contradict.
bool unify(std::optional<unsigned> &into, std::optional<unsigned> other) {
  if (into && other && *into != *other)
    return false;
  if (other)
    into = other;
  return true;
}

/// The loop nest that both groups fit in, if there is one.
std::optional<Nest> joinNests(const Nest &a, const Nest &b) {
  if (a.opaque || b.opaque)
    return std::nullopt;
  if (a.shape.size() > b.shape.size())
    return joinNests(b, a);
  Nest joined = b;
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
  return joined;
}

std::optional<unsigned> Grouping::findMaker(const Read &read) const {
  auto it = nodeOf.find(read.source.getDefiningOp());
  return it == nodeOf.end() ? std::nullopt : std::optional(it->second);
}

bool Grouping::isIn(std::optional<unsigned> node, unsigned a, unsigned b) const {
  return node && (parts.getPart(*node) == a || parts.getPart(*node) == b);
}

bool Grouping::readsWhereMade(const Nest &nest, unsigned a, unsigned b) const {
  auto isReadWhereMade = [&](const Read &read) {
    std::optional<unsigned> maker = findMaker(read);
    return !isIn(maker, a, b) ||
           (nodes[*maker].iteration.kind != Iteration::Kind::colReduction && read.isPrefix() &&
            (read.loops.size() == nest.shape.size() || read.loops.size() == nest.rowSplit));
  };
  return llvm::all_of(getNodes(a, b), [&](unsigned node) {
    return llvm::all_of(nodes[node].iteration.reads, isReadWhereMade);
  });
}

/// A group that makes all of its elements of less, as random bits are made of a key, may be larger: cut in
/// two it would write and read tensors where it has none to read.
bool Grouping::fits(const Nest &nest, unsigned a, unsigned b) const {
  int64_t ops = 0, maxOps = kGenerating * limits.maxOps;
  llvm::SmallDenseSet<Value> operands;
  for (unsigned index : getNodes(a, b)) {
    const Node &node = nodes[index];
    node.op->walk([&](Operation *) { ++ops; });
    for (const Read &read : node.iteration.reads)
      if (!isIn(findMaker(read), a, b)) {
        operands.insert(read.source);
        if (read.loops.size() >= nest.shape.size() && !nest.shape.empty())
          maxOps = limits.maxOps;
      }
    if (!llvm::all_of(parts.getUsers(index), [&](unsigned user) { return isIn(user, a, b); }))
      operands.insert(node.op->getResult(0));
  }
  return ops <= maxOps && int64_t(operands.size()) <= limits.maxOperands;
}

void Grouping::tryJoin(unsigned a, unsigned b) {
  // Groups read the same tensor by many of their nodes, but one answer holds for all.
  if (a == b || !refused.insert(std::minmax({a, b})).second)
    return;
  std::optional<Nest> nest = joinNests(nests[a], nests[b]);
  if (!nest || !fits(*nest, a, b) || !readsWhereMade(*nest, a, b) || !parts.tryJoin(a, b))
    return;
  refused.clear();
  nests[a] = nests[b] = std::move(*nest); // the group has one of the numbers
}

void Grouping::joinMakersAndReaders() {
  for (unsigned node : llvm::seq<unsigned>(0, nodes.size()))
    for (const Read &read : nodes[node].iteration.reads)
      if (std::optional<unsigned> maker = findMaker(read))
        tryJoin(parts.getPart(*maker), parts.getPart(node));
}

void Grouping::joinReaders() {
  DenseMap<Value, SmallVector<unsigned>> readersOf;
  auto getShape = [&](unsigned node) { return ArrayRef(nests[parts.getPart(node)].shape); };
  for (unsigned node : llvm::seq<unsigned>(0, nodes.size())) {
    const Iteration &iteration = nodes[node].iteration;
    for (const Read &read : iteration.reads) {
      if (!read.isPrefix() || read.loops.empty() || read.loops.size() != iteration.shape.size())
        continue;
      SmallVector<unsigned> &readers = readersOf[read.source];
      for (unsigned other : readers)
        if (getShape(other) == getShape(node))
          tryJoin(parts.getPart(other), parts.getPart(node));
      readers.push_back(node);
    }
  }
}

KernelKind getKernelKind(OpRole role) {
  if (role == OpRole::contraction)
    return KernelKind::contraction;
  return role == OpRole::factorization ? KernelKind::factorization : KernelKind::fusion;
}

SmallVector<Group> Grouping::run() {
  joinMakersAndReaders();
  joinReaders();
  SmallVector<Group> groups;
  for (unsigned part : parts.getOrder()) {
    ArrayRef<unsigned> members = parts.getNodes(part);
    groups.push_back({getKernelKind(nodes[members.front()].role), {}});
    for (unsigned node : members)
      groups.back().ops.push_back(nodes[node].op);
  }
  return groups;
}

} // namespace

SmallVector<Group> mlir::epl::groupOps(Block &body, const GroupLimits &limits) {
  return Grouping(body, limits).run();
}
