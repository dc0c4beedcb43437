//===- SplitSearch.h - Which dimension of each parameter is split --*- C++ -*-===//
//
// A choice of dimensions is worth what the propagated program costs (StepCost.h). Parameters of equal types
// that are used alike (ParameterReads.h), those of a model's layers, are decided together, one kind after the
// other; what earlier choices shard by propagation
// follows, and products that only what is undecided yet can split count as split. Then single choices are
// changed as long as that is better. What is decided first counts most, so two orders are tried: that in
// which the program first multiplies by them, and most work first. A user constraint is no choice; what it
// costs is known as for one.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/shard/analysis/StepCost.h"

#include <map>
#include <memory>

namespace mlir::epl {

/// Parameters that are decided together.
struct ParameterKind {
  unsigned number = 0; ///< among all kinds
  SmallVector<BlockArgument> members;
  SmallVector<int64_t> dims;                 ///< those that the axis can split
  int64_t firstUse = 0;                      ///< the position of the first op that multiplies by a member
  int64_t multiplyAdds = 0;                  ///< of the forward products with members
  DenseSet<Operation *> products = {};       ///< that are split if nothing but this kind is
  std::optional<int64_t> constraint = {};    ///< the one that the user wants
  std::optional<int64_t> split = {};         ///< the one that was chosen; none if propagation decides
  std::optional<int64_t> bytes = {};         ///< that the program exchanges as chosen
  std::optional<int64_t> runnerUp = {};      ///< the next best dimension, where there is a choice
  std::optional<int64_t> runnerUpBytes = {}; ///< that the program would exchange then
};

/// The search on one axis.
class SplitSearch {
public:
  /// The arguments in `open` may be split, those in `constraints`, which are open, too, are along that
  /// dimension.
  SplitSearch(const FunctionRules &rules, AxisAttr axis, ArrayRef<BlockArgument> open,
              const DenseMap<BlockArgument, int64_t> &constraints);

  /// Chooses; returns the propagated program, with a state for each argument.
  Propagation run();

  ArrayRef<ParameterKind> getKinds() const { return kinds; }
  /// How many choices were evaluated, and how often an op was looked at for them.
  int64_t getNumChoices() const { return known.size(); }
  int64_t getNumSteps() const { return steps + seeded.getNumSteps(); }

private:
  void collectKinds(const DenseMap<BlockArgument, int64_t> &constraints);
  SmallVector<int64_t> getSplittableDims(BlockArgument argument, ParameterKind &kind) const;
  void findProducts();
  /// A choice: the states of open arguments that follow from it, and what it costs.
  struct Outcome {
    DenseMap<BlockArgument, AxisState> states;
    StepCost cost;
  };
  using Candidate = std::shared_ptr<const Outcome>;

  /// The program with all kinds split as they say.
  Propagation propagate();
  /// What becomes of it. Every choice is evaluated once.
  Candidate evaluate();
  /// The program if `kind` is split along `dim`, and all else is as it is.
  Candidate tryDim(ParameterKind &kind, int64_t dim);
  /// Splits `kind` along `dim`, and then those that were split because others asked for it, and are not now.
  Candidate change(ParameterKind &kind, int64_t dim);
  void decideOpen(Candidate &now);
  void decide(ParameterKind &kind, Candidate &now);
  bool improve(ParameterKind &kind, Candidate &now);
  /// Decides all kinds in their order; the program as chosen.
  Candidate search();

  const FunctionRules &rules;
  AxisAttr axis;
  ArrayRef<BlockArgument> open;
  StepCosts costs;
  DenseMap<Operation *, int64_t> positions; ///< of all ops in the program
  std::vector<ParameterKind> kinds;
  Propagation seeded; ///< what follows from the splits of all kinds, before further arguments are found
  int64_t steps = 0;  ///< of propagations that start from `seeded`
  std::map<std::vector<int64_t>, Candidate> known; ///< by the split of each kind, -1 for none
};

} // namespace mlir::epl
