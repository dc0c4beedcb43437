//===- ScopePath.h - The named scopes of an op ------------------*- C++ -*-===//
#pragma once

#include "mlir/IR/Location.h"

#include <string>

namespace mlir::epl {

/// The named scopes and functions that an op was written in, as a path: "encoder/Dense_0/relu"; "" if there
/// are none. They come from the name stacks in the locations of front ends that trace: the user's scopes,
/// modules of the model, functions that are compiled by themselves.
std::string getScopePath(Location location);

} // namespace mlir::epl
