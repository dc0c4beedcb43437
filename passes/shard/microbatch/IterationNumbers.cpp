//===- IterationNumbers.cpp - Positions along the samples of a step -------===//
//
// What counts samples (`linalg.index`) counts those of one micro-batch in an iteration, and adds where they
// begin: a multiple of the iteration's number. That is a tensor without dimensions, the iteration's part of
// the numbers of all:
//
//   %numbers = arith.constant dense<[0, 1, 2, 3]> : tensor<4xi64>
//   %number = epl.loop_slice <0, trip_count = 4> %numbers : tensor<4xi64> -> tensor<i64>
//
//===----------------------------------------------------------------------===//

#include "passes/shard/microbatch/LoopWriter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::epl;

/// The number of the iteration, before `reader` and of its work.
static Value createNumber(Operation *reader, LoopAttr loop) {
  OpBuilder builder(reader);
  auto numbers = llvm::to_vector(llvm::seq<int64_t>(0, loop.getTripCount()));
  auto type = RankedTensorType::get({loop.getTripCount()}, builder.getI64Type());
  auto all = arith::ConstantOp::create(builder, reader->getLoc(), DenseIntElementsAttr::get(type, numbers));
  auto part = RankedTensorType::get({}, builder.getI64Type());
  auto number =
      LoopSliceOp::create(builder, reader->getLoc(), part, loop, /*reverse=*/UnitAttr(), all.getResult());
  for (Operation *op : {all.getOperation(), number.getOperation()})
    copyWork(reader, op);
  return number;
}

/// Rebuilds `op`, whose body reads `index`, with the number as an input.
static void addInput(linalg::GenericOp op, Value number, Value index) {
  OpBuilder builder(op);
  auto inputs = llvm::to_vector(op.getInputs());
  inputs.push_back(number);
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps.insert(maps.begin() + op.getNumDpsInputs(), AffineMap::get(op.getNumLoops(), 0, op.getContext()));
  auto made = linalg::GenericOp::create(builder, op.getLoc(), op.getResultTypes(), inputs, op.getOutputs(),
                                        maps, op.getIteratorTypesArray());
  made.getRegion().takeBody(op.getRegion());
  Value element = made.getBody()->insertArgument(inputs.size() - 1, builder.getI64Type(), op.getLoc());
  OpBuilder inner = OpBuilder::atBlockBegin(made.getBody());
  Value position = arith::IndexCastOp::create(inner, op.getLoc(), inner.getIndexType(), element);
  index.replaceUsesWithIf(position, [&](OpOperand &use) { return made->isAncestor(use.getOwner()); });
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op.replaceAllUsesWith(made.getResults());
  op.erase();
}

void mlir::epl::passIterationNumber(Value index, LoopAttr loop) {
  Block *body = index.getParentBlock();
  llvm::SetVector<Operation *> found;
  for (Operation *user : index.getUsers())
    found.insert(body->findAncestorOpInBlock(*user));
  SmallVector<Operation *> readers = found.takeVector();
  llvm::sort(readers, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  DenseMap<Attribute, Value> numbers; // of each work
  for (Operation *reader : readers) {
    Value &number = numbers[reader->getAttr(EplDialect::kWorkAttr)];
    if (!number)
      number = createNumber(reader, loop);
    addInput(cast<linalg::GenericOp>(reader), number, index);
  }
  index.getDefiningOp()->erase();
}
