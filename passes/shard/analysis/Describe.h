//===- Describe.h - Shardings as people read them ---------------*- C++ -*-===//
//
// Reports write a sharding into the type: `f32[8/data, 16, 32/model]` is a tensor of 8 x 16 x 32, of which a
// device holds a part of dimensions 0 and 2; behind it stands what is pending, `sum over model`.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/shard/analysis/AxisState.h"

namespace mlir::epl {

/// A tensor with its sharding, none if it is null. With `callerShape`, dimensions of segments stand in the
/// dimension that the caller sees: `f32[32, 3x32/model]` is [32, 96] to the caller.
std::string describeTensor(RankedTensorType type, ShardingAttr sharding, DenseI64ArrayAttr callerShape = {});

/// A value of a global program with a sharding; an argument as the caller sees it.
std::string describeTensor(Value value, ShardingAttr sharding);

/// The type that the caller of the function sees.
RankedTensorType getCallerType(BlockArgument argument);

/// The parts that the caller sees in dimension `dim` of a function's argument and the next one; empty if
/// these are no shares of parts.
ArrayRef<int64_t> getCallerParts(BlockArgument argument, int64_t dim);

/// What the caller calls a dimension of an argument: "dimension 1"; one of segments "dimension 1 in each of 3
/// segments".
std::string describeDim(BlockArgument argument, int64_t dim);

/// How errors and remarks call arguments of one kind: numbers in which their names differ are "*".
std::string describeArguments(func::FuncOp function, ArrayRef<BlockArgument> arguments);

/// Who makes a value: `dot_general model.py:12`, or the name of an argument.
std::string describeMaker(Value value);

/// The name of a result of the function, as the caller knows it.
std::string getResultName(func::FuncOp function, unsigned result);

} // namespace mlir::epl
