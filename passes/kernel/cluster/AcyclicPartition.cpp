//===- AcyclicPartition.cpp - Joining nodes without making cycles ---------===//

#include "passes/kernel/cluster/AcyclicPartition.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir::epl;
using llvm::ArrayRef;
using llvm::DenseSet;
using llvm::SmallVector;

unsigned AcyclicPartition::addNode(ArrayRef<unsigned> sources) {
  unsigned node = partOf.size();
  for (unsigned source : sources) {
    assert(source < node && "what a node reads was added before it");
    usersOf[source].push_back(node);
  }
  usersOf.emplace_back();
  nodesOf.push_back({node});
  partOf.push_back(node);
  positionOf.push_back(order.size());
  order.push_back(node);
  return node;
}

std::optional<DenseSet<unsigned>> AcyclicPartition::findBetween(unsigned first, unsigned last) const {
  SmallVector<unsigned> work{first};
  DenseSet<unsigned> seen{first};
  while (!work.empty()) {
    unsigned current = work.pop_back_val();
    for (unsigned node : nodesOf[current]) {
      for (unsigned user : usersOf[node]) {
        unsigned next = partOf[user];
        if (next == last && current != first)
          return std::nullopt;
        // What stands behind `last` leads to nothing before it.
        if (positionOf[next] < positionOf[last] && seen.insert(next).second)
          work.push_back(next);
      }
    }
  }
  return seen;
}

void AcyclicPartition::moveBehind(unsigned first, unsigned last, const DenseSet<unsigned> &dependents) {
  unsigned begin = positionOf[first], end = positionOf[last] + 1;
  SmallVector<unsigned> stay, move;
  for (unsigned part : ArrayRef(order).slice(begin, end - begin))
    (dependents.contains(part) ? move : stay).push_back(part);
  llvm::copy(llvm::concat<unsigned>(stay, move), order.begin() + begin);
  for (unsigned position = begin; position < end; ++position)
    positionOf[order[position]] = position;
}

bool AcyclicPartition::tryJoin(unsigned a, unsigned b) {
  assert(a != b && !nodesOf[a].empty() && !nodesOf[b].empty() && "two parts that have nodes");
  auto [first, last] = positionOf[a] < positionOf[b] ? std::pair(a, b) : std::pair(b, a);
  std::optional<DenseSet<unsigned>> dependents = findBetween(first, last);
  if (!dependents)
    return false;
  moveBehind(first, last, *dependents); // now nothing is between them
  for (unsigned node : nodesOf[last])
    partOf[node] = first;
  SmallVector<unsigned> &nodes = nodesOf[first];
  nodes.append(nodesOf[last]);
  llvm::sort(nodes);
  nodesOf[last].clear();
  return true;
}

SmallVector<unsigned> AcyclicPartition::getOrder() const {
  SmallVector<unsigned> parts;
  llvm::copy_if(order, std::back_inserter(parts), [&](unsigned part) { return !nodesOf[part].empty(); });
  return parts;
}
