//===- ShardableOp.cpp - What an op means for sharding --------------------===//

#include "passes/shard/analysis/ShardableOp.h"

using namespace mlir;

#include "passes/shard/analysis/ShardableOp.cpp.inc"
