//===- StackRows.cpp - Stacked parameters and who reads their rows --------===//

#include "passes/shard/stages/StackRows.h"

#include "dialect/Sharding.h"
#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/analysis/Elementwise.h"
#include "passes/shard/analysis/Rules.h"
#include "passes/shard/analysis/TaskGraphAxes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <numeric>

using namespace mlir;
using namespace mlir::epl;

int64_t Stacks::getRowsOfMember() const {
  int64_t size = rows;
  for (int64_t row = 1; row < rows; ++row)
    if (meshes[row] != meshes[row - 1])
      size = std::gcd(size, row);
  return size;
}

namespace {
/// Finds who reads the rows of arguments.
class RowReaders {
public:
  explicit RowReaders(Block &body) : body(body) {}

  /// The op that reads each row first, null for rows that nobody reads. Nothing if the user says that devices
  /// have some rows each.
  SmallVector<Operation *> find(BlockArgument argument);

private:
  void visit(Value stack, SmallVectorImpl<Operation *> &readers);
  void visit(tensor::ExtractSliceOp slice, SmallVectorImpl<Operation *> &readers);
  Operation *getReader(Operation *form) const;

  Block &body;
  bool isConstrained = false;
};
} // namespace

/// What reads a row, where that is brought into another form first: a reshape, a cast.
Operation *RowReaders::getReader(Operation *form) const {
  auto isForm = [](Operation *op) {
    return isElementwise(op) && llvm::count_if(op->getOperands(), [](Value operand) {
                                  return isa<RankedTensorType>(operand.getType()) &&
                                         !operand.getDefiningOp<tensor::EmptyOp>();
                                }) == 1;
  };
  while (!form->use_empty() && (isa<tensor::ExtractSliceOp>(form) || isForm(form))) {
    Operation *first = nullptr;
    for (Operation *user : form->getUsers())
      if (Operation *reader = body.findAncestorOpInBlock(*user); !first || reader->isBeforeInBlock(first))
        first = reader;
    if (getWorkKind(first) != WorkKind::forward)
      break;
    form = first;
  }
  return form;
}

void RowReaders::visit(tensor::ExtractSliceOp slice, SmallVectorImpl<Operation *> &readers) {
  int64_t row = slice.getStaticOffset(0), step = slice.getStaticStride(0);
  if (ShapedType::isDynamic(row) || ShapedType::isDynamic(step) || getWorkKind(slice) != WorkKind::forward)
    return;
  Operation *reader = getReader(slice);
  for (int64_t taken = 0; taken < slice.getStaticSize(0); ++taken, row += step)
    if (!readers[row] || reader->isBeforeInBlock(readers[row]))
      readers[row] = reader;
}

/// The stack in another form, such as that of a narrower type, has the same rows.
void RowReaders::visit(Value stack, SmallVectorImpl<Operation *> &readers) {
  for (OpOperand &use : stack.getUses()) {
    Operation *user = use.getOwner();
    if (auto constrain = dyn_cast<ConstrainOp>(user))
      isConstrained |= !constrain.getConstraint().getDimAxes(0).empty();
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(user)) {
      visit(slice, readers);
      continue;
    }
    if (user->getBlock() != &body || getWorkKind(user) != WorkKind::forward || !isElementwise(user))
      continue;
    FactorRule rule = getFactorRule(user);
    ArrayRef<int64_t> factors = rule.operands[use.getOperandNumber()];
    for (auto [result, own] : llvm::zip_equal(user->getResults(), rule.results))
      if (!factors.empty() && !own.empty() && factors[0] != FactorRule::kBlocked && own[0] == factors[0])
        visit(result, readers);
  }
}

SmallVector<Operation *> RowReaders::find(BlockArgument argument) {
  auto type = cast<RankedTensorType>(argument.getType());
  SmallVector<Operation *> readers(type.getDimSize(0), nullptr);
  visit(argument, readers);
  return isConstrained ? SmallVector<Operation *>() : readers;
}

/// More rows than any model has layers: a reader is looked for for each.
static constexpr int64_t kMostRows = int64_t(1) << 16;

/// Whether an argument may be one of rows: what the user has sharded is as they say.
static bool mayBeStack(BlockArgument argument) {
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  return type && type.getRank() > 0 && type.getDimSize(0) > 1 && type.getDimSize(0) <= kMostRows &&
         !isBatch(argument) && !getSharding(argument) &&
         !function.getArgAttr(argument.getArgNumber(), EplDialect::kArrivesAttr) &&
         !function.getArgAttr(argument.getArgNumber(), EplDialect::kCallerRowsAttr);
}

/// Rows that nobody reads are with the one before, the first ones with the one behind.
static void fillGaps(SmallVectorImpl<Operation *> &readers) {
  for (size_t row = 1; row < readers.size(); ++row)
    readers[row] = readers[row] ? readers[row] : readers[row - 1];
  for (size_t row = readers.size() - 1; row-- > 0;)
    readers[row] = readers[row] ? readers[row] : readers[row + 1];
}

SmallVector<Operation *> mlir::epl::findRowReaders(BlockArgument argument) {
  if (!mayBeStack(argument))
    return {};
  SmallVector<Operation *> readers = RowReaders(*argument.getOwner()).find(argument);
  if (readers.empty())
    return {};
  fillGaps(readers);
  return readers.front() ? readers : SmallVector<Operation *>();
}

SmallVector<Stacks> mlir::epl::findStacks(func::FuncOp function) {
  WorkMeshes workMeshes(function->getParentOfType<ModuleOp>());
  SmallVector<Stacks> found;
  for (BlockArgument argument : function.getArguments()) {
    SmallVector<Operation *> readers = findRowReaders(argument);
    auto meshes = llvm::map_to_vector(readers, [&](Operation *op) { return workMeshes.get(op); });
    if (llvm::all_equal(meshes))
      continue;
    auto isAlike = [&](const Stacks &stacks) { return stacks.meshes == meshes; };
    auto *stacks = llvm::find_if(found, isAlike);
    if (stacks == found.end()) {
      auto taskgraphs = llvm::map_to_vector(readers, [](Operation *op) {
        return op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr).getTaskgraph();
      });
      found.push_back({{}, int64_t(readers.size()), std::move(taskgraphs), std::move(meshes)});
      stacks = std::prev(found.end());
    }
    stacks->arguments.push_back(argument);
  }
  return found;
}
