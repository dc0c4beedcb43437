//===- Manifest.h - Who holds what, as an attribute -------------*- C++ -*-===//
#pragma once

#include "passes/shard/servers/ServerPrograms.h"

namespace mlir::epl {

/// What a front end needs to know of a step that is split, as `epl.servers` of a module has it
/// (docs/design.md, 7): what the arguments and results of the worker's program are, and for each group the
/// arguments of its programs and its blocks.
DictionaryAttr getManifest(const StepSplit &split, ArrayRef<GroupPlan> plans);

} // namespace mlir::epl
