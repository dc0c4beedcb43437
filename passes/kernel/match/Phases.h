//===- Phases.h - Loops over what has zeros between its elements ---*- C++ -*-===//
#pragma once

#include "passes/kernel/cluster/StridedAccess.h"

#include <vector>

namespace mlir::epl {

/// Loops and the elements of tensors that they name, but for gaps.
struct StridedNest {
  /// A tensor is zero wherever `position`, which depends on the loops, is no multiple of `modulus`; where it
  /// is `modulus * i`, the access of the tensor goes `i * stride` further.
  struct Gap {
    size_t access;
    StridedAccess position;
    int64_t modulus, stride;
  };

  Extents extents;
  SmallVector<StridedAccess> accesses; ///< the last one is of the result
  SmallVector<Gap> gaps;
};

/// The iterations of a nest that meet no gap, as nests for different elements of the result.
struct PhasedNests {
  std::vector<StridedNest> nests;
  bool coversResult = true; ///< whether each element of the result has such iterations
};

/// Takes `nest` apart. Nothing if a gap depends on several loops of a kind (of those that the result depends
/// on, or of the others), or if there would be too many nests.
std::optional<PhasedNests> skipGaps(const StridedNest &nest);

} // namespace mlir::epl
