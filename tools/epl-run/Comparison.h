// A plan's results against those of its reference.

#ifndef EPL_TOOLS_EPL_RUN_COMPARISON_H
#define EPL_TOOLS_EPL_RUN_COMPARISON_H

#include "runtime/session/State.h"

#include <ostream>

namespace epl::runtime::tool {

/// How far results may differ: |found - expected| <= absolute + relative |expected|. NaN equals NaN.
struct Tolerance {
  double relative, absolute;
};

/// The largest differences of every result over all steps.
class Comparison {
public:
  /// Throws Error if the plans do not take and give the same tensors.
  Comparison(const plan::PlanT &plan, const plan::PlanT &reference, Tolerance tolerance);

  /// Compares one result of one step (from 1).
  void add(size_t slot, int step, const HostTensor &found, const HostTensor &expected);

  /// One line for each result; whether all are within the tolerance.
  bool report(std::ostream &stream) const;

private:
  struct Difference {
    double largest = 0;
    int step = 0;
    size_t element = 0;
    double found = 0, expected = 0;
    size_t beyond = 0; // elements, over all steps
  };

  const plan::PlanT &plan;
  Tolerance tolerance;
  std::vector<Difference> differences; // of every slot
};

} // namespace epl::runtime::tool

#endif // EPL_TOOLS_EPL_RUN_COMPARISON_H
