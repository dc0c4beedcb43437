//===- Clusters.cpp - Which ops share a kernel ----------------------------===//

#include "passes/kernel/Clusters.h"
#include "passes/kernel/OpRoles.h"

using namespace mlir;
using namespace mlir::epl;

SmallVector<Group> mlir::epl::groupOps(Block &body) {
  SmallVector<Group> groups;
  for (Operation &op : body.without_terminator()) {
    OpRole role = getOpRole(&op);
    if (role == OpRole::contraction)
      groups.push_back({KernelKind::contraction, {&op}});
    else if (role == OpRole::fusion)
      groups.push_back({KernelKind::fusion, {&op}});
  }
  return groups;
}
