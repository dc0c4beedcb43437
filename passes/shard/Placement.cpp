//===- Placement.cpp - Where pending sums are completed -------------------===//

#include "passes/shard/Placement.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::epl;

using llvm::BitVector;

/// Marks the inputs and outputs of a flow of which one input is complete. Whether there was one to mark.
static bool spread(const PlacementProblem::Flow &flow, BitVector &complete) {
  if (llvm::none_of(flow.inputs, [&](unsigned input) { return complete.test(input); }))
    return false;
  bool changed = false;
  for (unsigned value : llvm::concat<const unsigned>(flow.inputs, flow.outputs)) {
    changed |= !complete.test(value);
    complete.set(value);
  }
  return changed;
}

/// Complete is what an illegal use needs, and what shares a flow with something complete: the least set that
/// is closed under these. Of those, values that are still made partial must be completed.
BitVector mlir::epl::placeLate(const PlacementProblem &problem) {
  BitVector complete(problem.values.size());
  for (auto [index, value] : llvm::enumerate(problem.values))
    if (value.illegal)
      complete.set(index);
  bool changed = true;
  while (changed) {
    changed = false;
    for (const PlacementProblem::Flow &flow : problem.flows)
      changed |= spread(flow, complete);
  }
  BitVector resolved = getPending(problem, complete);
  resolved &= complete;
  return resolved;
}

BitVector mlir::epl::getPending(const PlacementProblem &problem, const BitVector &completed) {
  BitVector pending(problem.values.size());
  for (auto [index, value] : llvm::enumerate(problem.values))
    if (value.born)
      pending.set(index);
  for (const PlacementProblem::Flow &flow : problem.flows)
    if (llvm::all_of(flow.inputs,
                     [&](unsigned input) { return pending.test(input) && !completed.test(input); }))
      for (unsigned output : flow.outputs)
        pending.set(output);
  return pending;
}
