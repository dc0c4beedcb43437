//===- NameStack.h - Scopes and phases in the names of locations -*- C++ -*-===//
//
// A front end that traces (JAX) leaves on every op a location whose name is the stack of scopes and program
// transformations that the op was traced under: "jit(step)/transpose(jvp(epl.s0))/mul". This is the only
// place where an op says in which scope it was written and whether it computes a gradient.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

namespace mlir::epl {

/// What the markers of automatic differentiation say about an op.
enum class AutodiffPhase {
  none,     ///< no marker: preprocessing, evaluation, the optimizer
  forward,  ///< the outermost marker is `jvp`
  backward, ///< the outermost marker is `transpose`
  recompute ///< backward, and inside `rematted_computation`
};

/// One entry into a scope: `id` is what stands behind "epl.". `callPath` tells apart the entries of one
/// function that is called from several places: the frames of the calls above it, outermost first.
struct ScopeEntry {
  StringRef id;
  ArrayAttr callPath;
  bool operator==(const ScopeEntry &) const = default;
};

/// The name stack of a location.
struct NameStack {
  AutodiffPhase phase = AutodiffPhase::none;
  /// The scopes that the op belongs to, outermost first, without repeats. More than one means that scopes
  /// are nested, which users may not do.
  SmallVector<ScopeEntry, 1> scopes;
  /// Whether the op, or what it is the gradient of, stands in "epl.per_micro_batch".
  bool perMicroBatch = false;
};

/// Reads the name stack of `loc`. `isScope` says which ids are scopes: "epl.x" may also be the user's own
/// name. The ids point into the location.
NameStack parseNameStack(Location loc, function_ref<bool(StringRef id)> isScope);

/// `location` with another primitive at the end of its name stack, for an op that stands beside one.
Location renamePrimitive(Location location, StringRef primitive);

} // namespace mlir::epl
