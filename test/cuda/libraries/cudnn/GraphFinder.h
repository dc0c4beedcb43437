//===- GraphFinder.h - Graphs of operations that the stand-in of cuDNN follows -*- C++ -*-===//
#pragma once

#include "test/cuda/libraries/cudnn/DescriptorT.h"

#include <set>

namespace cudnn_double {

/// Follows operations back from what they make.
class GraphFinder {
public:
  explicit GraphFinder(const DescriptorT &graph)
      : operations(graph.list<Descriptor>(Attribute::graphOperations)) {}

  static const DescriptorT *x(const DescriptorT *operation) { return &operation->at(Attribute::pointwiseX); }
  static const DescriptorT *b(const DescriptorT *operation) { return &operation->at(Attribute::pointwiseB); }

  /// The operation of a kind that makes a tensor, or null.
  const DescriptorT *makerOf(const DescriptorT *tensor, Kind kind);
  const DescriptorT *product(const DescriptorT *tensor) { return makerOf(tensor, Kind::productOperation); }
  /// The pointwise of a mode that makes a tensor, or null.
  const DescriptorT *pointwise(const DescriptorT *tensor, PointwiseMode mode);
  /// Products whose results are in memory.
  std::vector<const DescriptorT *> lastProducts() const;
  bool isReduced(const DescriptorT *tensor, ReductionOperator by, const DescriptorT *of);
  /// Whether a condition holds up to the diagonal of some scores.
  bool isCausal(const DescriptorT *condition, const DescriptorT *scores);
  /// Whether each operation has been asked for.
  bool hasMetAll() const { return met.size() == operations.size(); }

protected:
  std::vector<Descriptor> operations;

private:
  std::set<const DescriptorT *> met;
};

} // namespace cudnn_double
