//===- BlockRows.h - A server's program on some rows of a tensor --*- C++ -*-===//
//
// Servers share a large parameter in blocks of rows (dimension 0) if no row's update reads another one.
// Whether that holds is a question of sharding: with the rows on an axis as long as the dimension,
// propagation and placement leave nothing to exchange. Blocks need not be equal, so the program is written
// anew for the rows of each, where localization would have equal parts.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/BitVector.h"

namespace mlir::epl {

/// The program of a group, as rows of it can be written.
class BlockRows {
public:
  /// Why a program has to be on all rows.
  struct Obstacle {
    Operation *op = nullptr; ///< of the clone that stays with this
    std::string reason;
  };

  /// Of `program`, a function of a module with stamped ops, by the rows of `parameter`, of which there are
  /// several. Works on a clone beside it, which goes with this.
  BlockRows(func::FuncOp program, BlockArgument parameter);
  ~BlockRows();

  /// Null if the program can be written for any number of rows.
  const Obstacle *getObstacle() const { return obstacle.op ? &obstacle : nullptr; }
  /// Whether a block has its rows of an argument, or the whole.
  bool isSliced(unsigned argument) const { return sliced.test(argument); }
  /// The program on `count` rows, beside the whole one.
  func::FuncOp write(int64_t count) const;

private:
  void place(BlockArgument parameter);
  void findObstacle();
  std::string findReason(Operation &op) const;

  func::FuncOp placed;
  int64_t rows;
  llvm::BitVector sliced;
  Obstacle obstacle;
};

} // namespace mlir::epl
