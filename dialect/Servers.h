//===- Servers.h - A step whose parameters servers hold ---------*- C++ -*-===//
//
// With parameter servers a step is a worker's program, which pulls parameters and pushes what their updates
// are made of, and programs of servers, each of which updates a block of a parameter. `epl-split-roles`
// (passes/shard/servers) makes these of one step and says by these attributes what goes between them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Epl.h"

namespace mlir::epl {

/// Argument attribute of a worker's program, i64: the argument of the step that this one, a constant, is
/// pulled from servers for. In the plan it comes while the step runs.
inline constexpr llvm::StringLiteral kPullAttr = "epl.pull";

/// Result attribute of a worker's program, an array of i64: the groups whose servers the value is pushed to.
inline constexpr llvm::StringLiteral kPushAttr = "epl.push";

/// Module attribute, a dictionary: the groups, blocks and programs of a step that is split, as design 7 has
/// it.
inline constexpr llvm::StringLiteral kServersAttr = "epl.servers";

} // namespace mlir::epl
