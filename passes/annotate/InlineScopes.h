//===- InlineScopes.h - Inlining of region scopes ---------------*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"

namespace mlir::epl {

/// The region scope that an op stood in. `ordinal` counts the scopes of the function from 0; `stages` is into
/// how many it is to be cut.
struct RegionScope {
  int64_t ordinal;
  ScopeAttr scope;
  int64_t stages;
};

/// Replaces every scope of `block` by the ops in it. Returns where those ops were.
llvm::DenseMap<Operation *, RegionScope> inlineScopes(Block &block);

/// Takes the ops `epl.checkpoint` out: what makes a named value has an attribute of that name.
void markCheckpoints(Block &block);

} // namespace mlir::epl
