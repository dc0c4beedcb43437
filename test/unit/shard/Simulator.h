//===- Simulator.h - Runs sharded global programs on members ----*- C++ -*-===//
//
// Executes a function on all members of its mesh as its shardings say: every member runs every op on its own
// part, only `epl.reshard` looks at the parts of others. Numbers are those of a prime field: sums and
// products are exact in any order, and a pending sum may pass a product, so results are compared for
// equality. The functions that are not linear ("exp", "abs") are fixed polynomials of the field, which no sum
// may pass. Maxima are those of the numbers from 0 to the prime, less 1, which 0 is neutral for.
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

/// The global results of the sharded program on the members of the module's mesh. Fails the running test
/// where members differ in what they should have alike.
std::vector<Tensor> runSharded(func::FuncOp function, ArrayRef<Tensor> arguments);

} // namespace mlir::epl
