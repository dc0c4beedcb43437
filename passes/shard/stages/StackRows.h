//===- StackRows.h - Stacked parameters and who reads their rows -*- C++ -*-===//
//
// The parameters of layers that are alike often are one tensor, of which each layer reads a row:
//
//   w: tensor<6x64x64>     rows  0  1  2  3  4  5       read by layers, in the order of the model
//                          mesh  a  a  b  b  b  b       of the stage that a layer is in
//   members of the axis         0     1     2           as many rows each as fit all places where the mesh
//   changes
//
// A *stack* is an argument, no batch, whose rows are read by the forward work of several meshes. Stacks with
// equal rows on equal meshes are cut together.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Epl.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::epl {

/// Arguments whose rows are cut alike.
struct Stacks {
  SmallVector<BlockArgument> arguments;
  int64_t rows; ///< extent of dimension 0
  /// For each row the task graph that reads it first, and its mesh.
  SmallVector<FlatSymbolRefAttr> taskgraphs;
  SmallVector<StringAttr> meshes;

  /// How many rows a member has: the most that are on one mesh for each.
  int64_t getRowsOfMember() const;
  int64_t getNumMembers() const { return rows / getRowsOfMember(); }
  FlatSymbolRefAttr getTaskGraph(int64_t member) const { return taskgraphs[member * getRowsOfMember()]; }
};

/// The op of forward work that reads each row of an argument first; that of the row before, or else behind,
/// for rows that nobody reads. Nothing if the argument can be no stack, or nobody reads rows of it.
SmallVector<Operation *> findRowReaders(BlockArgument argument);

/// The stacks of a global program with several meshes, in the order of their first arguments.
SmallVector<Stacks> findStacks(func::FuncOp function);

} // namespace mlir::epl
