//===- Listing.h - A sharded program for reading ----------------*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"

namespace mlir::epl {

/// Prints the global programs of a placed module, a line for each op: what it reads by name, the tensor that
/// it makes with its sharding, and the source line; what moves between devices stands out, with the reason.
/// Constants stand where they are read. It is for people: no program can be read from it.
void printListing(ModuleOp module, raw_ostream &os);

} // namespace mlir::epl
