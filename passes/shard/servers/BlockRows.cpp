//===- BlockRows.cpp - A server's program on some rows of a tensor --------===//

#include "passes/shard/servers/BlockRows.h"

#include "passes/shard/analysis/Describe.h"
#include "passes/shard/analysis/Elementwise.h"
#include "passes/shard/analysis/TensorType.h"
#include "passes/shard/place/PlaceOnAxis.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::epl;

/// Of the axis and of its mesh, while the rows are looked at.
static constexpr llvm::StringLiteral kRows = "rows";

BlockRows::BlockRows(func::FuncOp program, BlockArgument parameter)
    : placed(program.clone()), rows(getTensorType(parameter).getDimSize(0)),
      sliced(program.getNumArguments()) {
  OpBuilder(program).insert(placed);
  place(parameter);
  findObstacle();
}

BlockRows::~BlockRows() { placed.erase(); }

/// The dimension of a value that counts rows; -1 if none does.
static int64_t getRowDim(Value value) {
  ShardingAttr sharding = getSharding(value);
  return sharding ? getAxisState(sharding, kRows).dim : -1;
}

/// Shards the clone over an axis of rows, from the tensors with the parameter's shape on. Others with as many
/// rows may become sharded. The axis goes again, the shardings stay at the ops.
void BlockRows::place(BlockArgument parameter) {
  auto module = placed->getParentOfType<ModuleOp>();
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto axis = AxisAttr::get(module.getContext(), kRows, rows, AxisRole::none);
  auto mesh = MeshOp::create(builder, module.getLoc(), kRows, builder.getArrayAttr(axis));
  SymbolTable(module).insert(mesh); // under another name if that one is taken
  SmallVector<BlockArgument> open;
  for (BlockArgument argument : placed.getArguments()) {
    RankedTensorType type = getTensorType(argument);
    bool isSeed = type.getShape() == getTensorType(parameter).getShape();
    if (!isSeed && type.getRank() > 0 && type.getDimSize(0) == rows)
      open.push_back(argument);
    auto sharding =
        ShardingAttr::getReplicated(FlatSymbolRefAttr::get(mesh.getSymNameAttr()), type.getRank());
    setSharding(argument, withAxisState(sharding, mesh, kRows, AxisState::sharded(isSeed ? 0 : -1)));
  }
  FunctionRules rules(placed, mesh);
  placeOnAxis(rules, axis, open);
  mesh.erase();
  for (BlockArgument argument : placed.getArguments())
    if (getRowDim(argument) >= 0)
      sliced.set(argument.getArgNumber());
}

/// Whether `write` knows what the op is on other numbers of rows.
static bool isWritable(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  return isa<linalg::GenericOp, tensor::EmptyOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp,
             tensor::ExtractSliceOp, ConcatenateOp, LoopCarryOp, LoopLastOp>(op) ||
         isElementwise(op);
}

/// The factor of an op that rows are; -1 if there is none.
static int64_t getRowFactor(Operation *op) {
  auto factors = op->getAttrOfType<DictionaryAttr>(EplDialect::kFactorsAttr);
  auto factor = factors ? factors.getAs<IntegerAttr>(kRows) : IntegerAttr();
  return factor ? factor.getInt() : -1;
}

/// Why an op needs all rows; empty if it does not.
std::string BlockRows::findReason(Operation &op) const {
  if (auto reshard = dyn_cast<ReshardOp>(op))
    return "rows come together in " + describeMaker(reshard.getOperand());
  int64_t factor = getRowFactor(&op);
  auto countsRows = [&](linalg::IndexOp index) { return int64_t(index.getDim()) == factor; };
  bool counts = false;
  op.walk([&](linalg::IndexOp index) { counts |= countsRows(index); });
  if (counts)
    return "an element depends on the number of its row";
  bool hasRows = llvm::any_of(op.getResults(), [](Value value) { return getRowDim(value) >= 0; });
  return hasRows && !isWritable(&op)
             ? "\"" + op.getName().getStringRef().str() + "\" takes no part of the rows"
             : "";
}

void BlockRows::findObstacle() {
  for (Operation &op : placed.front().without_terminator())
    if (std::string reason = findReason(op); !reason.empty()) {
      obstacle = {&op, reason};
      return;
    }
}

//===----------------------------------------------------------------------===//
// The program on some rows
//===----------------------------------------------------------------------===//

namespace {
/// Writes ops on tensors of `count` rows of those of `rows`.
class RowWriter {
public:
  RowWriter(Block *body, int64_t rows, int64_t count)
      : builder(OpBuilder::atBlockEnd(body)), rows(rows), count(count) {}

  Type getType(Value value) const {
    int64_t dim = getRowDim(value);
    if (dim < 0)
      return value.getType();
    RankedTensorType type = getTensorType(value);
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = shape[dim] / rows * count;
    return type.clone(shape);
  }

  void write(Operation *op) {
    Operation *made = create(op);
    if (!made) {
      made = builder.clone(*op, values);
      for (auto [from, to] : llvm::zip_equal(op->getResults(), made->getResults()))
        to.setType(getType(from));
    }
    made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    values.map(op->getResults(), made->getResults());
  }

  IRMapping values;

private:
  /// An op that says extents by itself; null for others.
  Operation *create(Operation *op) {
    Location loc = op->getLoc();
    auto type =
        op->getNumResults() == 1 ? dyn_cast<RankedTensorType>(getType(op->getResult(0))) : RankedTensorType();
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
      return tensor::ExpandShapeOp::create(builder, loc, type, values.lookup(expand.getSrc()),
                                           expand.getReassociationIndices());
    if (auto constant = dyn_cast<arith::ConstantOp>(op); constant && type) {
      auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
      return elements && elements.isSplat()
                 ? arith::ConstantOp::create(builder, loc, elements.resizeSplat(type))
                 : nullptr;
    }
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
      SmallVector<OpFoldResult> sizes = slice.getMixedSizes();
      if (int64_t dim = getRowDim(slice.getSource()); dim >= 0)
        sizes[dim] = builder.getIndexAttr(cast<RankedTensorType>(getType(slice.getSource())).getDimSize(dim));
      return tensor::ExtractSliceOp::create(builder, loc, type, values.lookup(slice.getSource()),
                                            slice.getMixedOffsets(), sizes, slice.getMixedStrides());
    }
    return nullptr;
  }

  OpBuilder builder;
  int64_t rows, count;
};
} // namespace

func::FuncOp BlockRows::write(int64_t count) const {
  func::FuncOp whole = placed;
  OpBuilder builder(whole);
  func::FuncOp made = builder.cloneWithoutRegions(whole);
  Block *body = builder.createBlock(&made.getBody());
  RowWriter writer(body, rows, count);
  for (BlockArgument argument : whole.getArguments()) {
    writer.values.map(argument, body->addArgument(writer.getType(argument), argument.getLoc()));
    made.removeArgAttr(argument.getArgNumber(), EplDialect::kShardingAttr);
  }
  for (Operation &op : whole.front())
    writer.write(&op);
  made.setType(builder.getFunctionType(body->getArgumentTypes(), body->getTerminator()->getOperandTypes()));
  return made;
}
