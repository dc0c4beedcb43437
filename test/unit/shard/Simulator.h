//===- Simulator.h - Runs sharded global programs on members ----*- C++ -*-===//
//
// Executes a function on the members of the axis "data" as its shardings say: every member runs every op on
// its own part, only `epl.reshard` looks at the parts of others. Numbers are those of a prime field, so that
// sums and products are exact in any order; the functions that are not linear are fixed polynomials.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cstdint>

namespace mlir::epl {

/// A tensor of field elements, row major.
struct Tensor {
  SmallVector<int64_t> shape;
  std::vector<int64_t> data;
  bool operator==(const Tensor &) const = default;
};

/// Random arguments for `function`, as global tensors.
std::vector<Tensor> makeArguments(func::FuncOp function, unsigned seed);

/// The global results of the program as it is on one device: shardings and reshards mean nothing.
std::vector<Tensor> runGlobal(func::FuncOp function, ArrayRef<Tensor> arguments);

/// The global results of the sharded program on `members` members. Fails the running test where members
/// differ in a replicated value.
std::vector<Tensor> runSharded(func::FuncOp function, ArrayRef<Tensor> arguments, int64_t members);

} // namespace mlir::epl
