//===- Placement.cpp - Where pending sums are completed -------------------===//

#include "passes/shard/Placement.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SetVector.h"

#include <limits>

using namespace mlir;
using namespace mlir::epl;

using llvm::BitVector;

namespace {
using Flow = PlacementProblem::Flow;

/// A set of values that are complete. It is closed: if one input of a flow is complete, so are its other
/// inputs and its outputs.
class CompleteValues {
public:
  /// The least set that has the illegal uses satisfied.
  explicit CompleteValues(const PlacementProblem &problem);

  bool contains(unsigned value) const { return complete.test(value); }

  /// Completes `value` and what has to be complete with it, if that is better. Whether it did.
  bool completeIfBetter(unsigned value);

  /// Those of the set that are still made partial.
  BitVector getResolved() const;

private:
  using Values = llvm::SmallSetVector<unsigned, 8>;
  /// A difference in what completing values costs.
  struct Cost {
    int64_t bytes = 0, sums = 0, crossings = 0;

    /// Less, without more of what costs time; crossings count where the rest is equal.
    bool isGain() const { return bytes <= 0 && sums <= 0 && (bytes < 0 || sums < 0 || crossings < 0); }
  };

  /// Gains are a few ops away. The limit keeps the search linear in sums of thousands of terms.
  static constexpr size_t kMaxClosure = 1000;

  Values close(unsigned value, size_t limit = std::numeric_limits<size_t>::max()) const;
  Cost getAddedCost(const Values &closure) const;
  void add(const Values &closure) {
    for (unsigned value : closure)
      complete.set(value);
  }

  const PlacementProblem &problem;
  SmallVector<SmallVector<const Flow *, 2>> readers; ///< the flows that read a value
  SmallVector<const Flow *> makers;                  ///< the flow that a value comes from, or null
  BitVector complete;
};
} // namespace

CompleteValues::CompleteValues(const PlacementProblem &problem)
    : problem(problem), readers(problem.values.size()), makers(problem.values.size()),
      complete(problem.values.size()) {
  for (const Flow &flow : problem.flows) {
    for (unsigned input : flow.inputs)
      readers[input].push_back(&flow);
    for (unsigned output : flow.outputs)
      makers[output] = &flow;
  }
  for (auto [index, value] : llvm::enumerate(problem.values))
    if (value.illegal)
      add(close(index));
}

/// The values that become complete with `value`, itself first; not all of them if they are more than `limit`.
CompleteValues::Values CompleteValues::close(unsigned value, size_t limit) const {
  Values closure;
  auto insert = [&](unsigned other) {
    if (!complete.test(other))
      closure.insert(other);
  };
  insert(value);
  for (unsigned next = 0; next < closure.size() && closure.size() <= limit; ++next)
    for (const Flow *flow : readers[closure[next]])
      for (unsigned other : llvm::concat<const unsigned>(flow->inputs, flow->outputs))
        insert(other);
  return closure;
}

/// Sums stand where the set begins. Those at outputs of flows into which the closure extends it are saved.
CompleteValues::Cost CompleteValues::getAddedCost(const Values &closure) const {
  Cost cost;
  auto count = [&](unsigned value, int64_t sign) {
    cost.bytes += sign * problem.values[value].bytes;
    cost.sums += sign;
    cost.crossings += sign * problem.values[value].crossings;
  };
  for (unsigned value : closure) {
    if (!makers[value] || !closure.contains(makers[value]->inputs.front()))
      count(value, 1);
    for (const Flow *flow : readers[value])
      if (flow->inputs.front() == value) // Each flow once: the closure has all of its inputs.
        for (unsigned output : flow->outputs)
          if (complete.test(output))
            count(output, -1);
  }
  return cost;
}

bool CompleteValues::completeIfBetter(unsigned value) {
  Values closure = close(value, kMaxClosure);
  if (closure.size() > kMaxClosure || !getAddedCost(closure).isGain())
    return false;
  add(closure);
  return true;
}

BitVector CompleteValues::getResolved() const {
  BitVector resolved = getPending(problem, complete);
  resolved &= complete;
  return resolved;
}

BitVector mlir::epl::placeLate(const PlacementProblem &problem) {
  return CompleteValues(problem).getResolved();
}

/// From "late" on, until no value is left that should be complete too: each one may make room for another.
BitVector mlir::epl::placeSums(const PlacementProblem &problem) {
  CompleteValues complete(problem);
  bool changed = true;
  while (changed) {
    changed = false;
    for (unsigned value : llvm::reverse(llvm::seq<unsigned>(0, problem.values.size())))
      changed |= !complete.contains(value) && complete.completeIfBetter(value);
  }
  return complete.getResolved();
}

BitVector mlir::epl::getPending(const PlacementProblem &problem, const BitVector &completed) {
  BitVector pending(problem.values.size());
  for (auto [index, value] : llvm::enumerate(problem.values))
    if (value.born)
      pending.set(index);
  for (const Flow &flow : problem.flows)
    if (llvm::all_of(flow.inputs,
                     [&](unsigned input) { return pending.test(input) && !completed.test(input); }))
      for (unsigned output : flow.outputs)
        pending.set(output);
  return pending;
}
