//===- RowBlocks.cpp - In which blocks rows of stacks are -----------------===//

#include "passes/shard/stages/RowBlocks.h"

#include "dialect/Additions.h"
#include "passes/shard/analysis/Rules.h"
#include "passes/shard/stages/StackRows.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::epl;

RowBlocks::RowBlocks(func::FuncOp function, const WorkChain &work) : work(work) {
  for (BlockArgument argument : function.getArguments())
    visit(argument);
  if (!extents.empty())
    for (Operation *op : work.getOps())
      if (!work.isApplied(op))
        visit(op);
}

const RowWork *RowBlocks::getWork(Operation *op) const {
  auto known = works.find(op);
  return known == works.end() ? nullptr : &known->second;
}

bool RowBlocks::isReadByRow(Value value) const {
  return hasRows(value) && llvm::all_of(value.getUsers(), [&](Operation *user) {
           return !work.isForward(user) || works.contains(user) || isSliceOfRows(user);
         });
}

void RowBlocks::visit(BlockArgument argument) {
  Rows found{0, {}};
  for (Operation *reader : findRowReaders(argument))
    found.blocks.push_back(work.isForward(reader) ? std::optional(work.getBlock(reader)) : std::nullopt);
  if (llvm::all_equal(found.blocks))
    return;
  extents.insert(int64_t(found.blocks.size()));
  rows[argument] = std::move(found);
}

/// Whether an op takes some of the rows of a stack.
bool RowBlocks::isSliceOfRows(Operation *op) const {
  auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
  auto known = slice ? rows.find(slice.getSource()) : rows.end();
  return known != rows.end() &&
         slice.getStaticSize(known->second.dim) < int64_t(known->second.blocks.size()) &&
         !ShapedType::isDynamic(slice.getStaticOffset(known->second.dim));
}

/// Whether an op puts gradients of rows together that several blocks make: each stays where it is made.
bool RowBlocks::joinRows(Operation *op) {
  auto getExtent = [](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return type.getRank() > 0 ? type.getDimSize(0) : 0;
  };
  auto concatenate = dyn_cast<ConcatenateOp>(op);
  auto pad = dyn_cast<tensor::PadOp>(op);
  if (!work.isBackward(op) || (!concatenate && !pad) || !extents.contains(getExtent(op->getResult(0))))
    return false;
  Rows joined{0, {}};
  auto append = [&](Value value) {
    joined.blocks.append(getExtent(value), work.getBlock(value.getDefiningOp()));
  };
  if (concatenate && concatenate.getDim() == 0)
    llvm::for_each(concatenate.getOperands(), append);
  if (pad && !ShapedType::isDynamic(pad.getStaticLow()[0])) {
    joined.blocks.append(pad.getStaticLow()[0], std::nullopt);
    append(pad.getSource());
    joined.blocks.resize(pad.getResultType().getDimSize(0));
  }
  if (joined.blocks.empty() || llvm::all_equal(joined.blocks))
    return false;
  works[op] = {int64_t(joined.blocks.size()), {}};
  rows[op->getResult(0)] = std::move(joined);
  return true;
}

/// Whether an op adds up rows: it does nothing where one of them is zero.
static bool addsRows(Operation *op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return generic && isAddition(generic);
}

/// Of each row the block of the first operand that has one: rows of an op are where those are that it reads.
SmallVector<std::optional<unsigned>> RowBlocks::merge(ArrayRef<const Rows *> operands) {
  SmallVector<std::optional<unsigned>> merged = operands.front()->blocks;
  for (const Rows *operand : operands.drop_front())
    for (auto [block, other] : llvm::zip_equal(merged, operand->blocks))
      block = block ? block : other;
  return merged;
}

/// The operands that have rows, if the op does all of these by row: a rule says so. None if it takes rows
/// together.
SmallVector<const RowBlocks::Rows *> RowBlocks::getOperands(Operation *op, const FactorRule &rule,
                                                            int64_t &factor) const {
  SmallVector<const Rows *> operands;
  for (auto [operand, factors] : llvm::zip_equal(op->getOperands(), rule.operands)) {
    auto known = rows.find(operand);
    if (known == rows.end())
      continue;
    int64_t own = factors[known->second.dim];
    if (own == FactorRule::kBlocked || (!operands.empty() && own != factor))
      return {};
    factor = own;
    operands.push_back(&known->second);
  }
  return operands;
}

void RowBlocks::visit(Operation *op) {
  if (joinRows(op) || isSliceOfRows(op) ||
      llvm::none_of(op->getOperands(), [&](Value value) { return hasRows(value); }))
    return;
  FactorRule rule = getFactorRule(op);
  int64_t factor = 0;
  SmallVector<const Rows *> operands = getOperands(op, rule, factor);
  if (operands.empty())
    return;
  SmallVector<std::optional<unsigned>> merged = merge(operands);
  RowWork own{int64_t(merged.size()), {}};
  for (auto [row, block] : llvm::enumerate(merged)) {
    auto isZero = [&, row = row](const Rows *operand) { return !operand->blocks[row]; };
    if (block && !(addsRows(op) && llvm::any_of(operands, isZero)))
      own.blocks.push_back(*block);
  }
  works[op] = std::move(own);
  for (auto [result, factors] : llvm::zip_equal(op->getResults(), rule.results))
    if (const int64_t *dim = llvm::find(factors, factor); dim != factors.end())
      rows[result] = {dim - factors.begin(), merged};
}
