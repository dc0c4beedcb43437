//===- ExpandSegments.cpp - Segments become dimensions of their own -------===//
//
// Problem: of a dimension that holds several, queries, keys and values of one product for example, an axis
//   would take whole ones or cut across them, and every slice would be an exchange.
// Method: such dimensions (Segments.h) become two in the whole program: in parameters, in the optimizer's
//   state, in products, reductions and loops. Of equal segments they are (segments, extent of each): a slice
//   at the border of segments takes some of the outer dimension, a concatenation stacks along it, and the
//   order of elements is the same, so that the caller's array is. Of other parts, those of grouped queries,
//   they are (shares, extent of one), with a piece of each part in each share: slices and concatenations are
//   those of the inner dimension, and the caller's array has another order (SegmentShares.cpp). The argument
//   keeps its shape in `epl.caller_shape`, and what is needed for the order in `epl.caller_parts`. Where an
//   op has no such form, the tensor as it was is made for it, and its result is taken apart. All that follows
//   sees an ordinary program, in which segments and shares can be split like any other dimension.
// Invariant in: a global program; one mesh. Without an axis of a split nothing happens: nobody splits
//   parameters.
// Invariant out: the same program, with other shapes.
// Reference: docs/design.md, 4.3. Shoeybi et al., "Megatron-LM", 2019: permutes such parameters when they are
//   loaded.
//
//===----------------------------------------------------------------------===//

#include "dialect/Channels.h"
#include "dialect/Loops.h"
#include "passes/shard/Passes.h"
#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/analysis/ShardableOp.h"
#include "passes/shard/prepare/SegmentExpander.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-expand-segments"

namespace mlir::epl {
#define GEN_PASS_DEF_EXPANDSEGMENTSPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numExpanded, "Ops on segments as dimensions of their own");
ALWAYS_ENABLED_STATISTIC(numTogether, "Ops before which segments are put together");

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// What is done for an op is part of its work; for what has none, the return, of the first work there is.
Attribute SegmentExpander::getWork(Operation *op) {
  if (Attribute work = op->getAttr(EplDialect::kWorkAttr))
    return work;
  for (Operation &other : function.getBody().front())
    if (Attribute work = other.getAttr(EplDialect::kWorkAttr))
      return work;
  return {};
}

static void setWork(Operation *op, Attribute work) {
  if (work)
    op->setAttr(EplDialect::kWorkAttr, work);
}

namespace {
/// While it lives, what the builder makes is part of a work.
class WorkStamp : OpBuilder::Listener {
public:
  WorkStamp(OpBuilder &builder, Attribute work) : builder(builder), work(work) { builder.setListener(this); }
  ~WorkStamp() override { builder.setListener(nullptr); }

private:
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override { setWork(op, work); }

  OpBuilder &builder;
  Attribute work;
};
} // namespace

/// Which dimensions in the form `fine` are one in the form `coarse`, which has some of its segments.
static SmallVector<ReassociationIndices> getReassociation(ArrayRef<DimForm> fine, ArrayRef<DimForm> coarse) {
  SmallVector<ReassociationIndices> groups;
  int64_t next = 0;
  for (auto [dim, kept] : llvm::zip_equal(fine, coarse)) {
    groups.push_back({next++});
    if (!dim.isTwo())
      continue;
    if (kept.isTwo())
      groups.emplace_back();
    groups.back().push_back(next++);
  }
  return groups;
}

/// Where the order of elements stays: of equal segments.
Value SegmentExpander::reshapeSegments(Value value, RankedTensorType whole, ArrayRef<DimForm> from,
                                       ArrayRef<DimForm> to) {
  Form both;
  for (auto [before, after] : llvm::zip_equal(from, to))
    both.push_back(before == after ? before : DimForm());
  if (ArrayRef(both) != from)
    value = tensor::CollapseShapeOp::create(builder, value.getLoc(), expandSegments(whole, both), value,
                                            getReassociation(from, both));
  if (ArrayRef(both) != to)
    value = tensor::ExpandShapeOp::create(builder, value.getLoc(), expandSegments(whole, to), value,
                                          getReassociation(to, both));
  return value;
}

/// A tensor that is `whole` without its segments, in another form.
Value SegmentExpander::reshape(Value value, RankedTensorType whole, ArrayRef<DimForm> from,
                               ArrayRef<DimForm> to, Attribute work) {
  WorkStamp stamp(builder, work);
  Form now(from), next(to);
  for (unsigned dim = 0; dim < now.size(); ++dim) {
    if (now[dim] == to[dim])
      continue;
    if (now[dim].parts) {
      value = joinShares(builder, value, getPosition(now, dim), now[dim].parts);
      now[dim] = {};
    }
    if (to[dim].parts)
      next[dim] = {};
  }
  value = reshapeSegments(value, whole, now, next);
  for (unsigned dim = 0; dim < next.size(); ++dim)
    if (next[dim] != to[dim]) {
      value = dealShares(builder, value, getPosition(next, dim), to[dim].parts,
                         whole.getDimSize(dim) / to[dim].inner);
      next[dim] = to[dim];
    }
  return value;
}

/// What leaves a loop is brought into its form where it is made: other ops may leave the loop before `user`.
Value SegmentExpander::getAs(Value value, ArrayRef<DimForm> wanted, Operation *user) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return value;
  if (auto known = expanded.find(value); known != expanded.end()) {
    OpBuilder::InsertionGuard guard(builder);
    if (leavesLoop(user))
      builder.setInsertionPointAfterValue(known->second);
    return reshape(known->second, type, getForm(value), wanted, getWork(user));
  }
  if (!hasSegments(wanted))
    return value;
  if (isSameEverywhere(value))
    return rematerialize(value, wanted);
  return reshape(value, type, getForm(value), wanted, getWork(user));
}

bool SegmentExpander::expandPointwise(Operation *op, ArrayRef<DimForm> operandForm,
                                      ArrayRef<DimForm> resultForm) {
  IRMapping mapping;
  mapping.map(op->getOperand(0), getAs(op->getOperand(0), operandForm, op));
  Operation *made = builder.clone(*op, mapping);
  made->getResult(0).setType(expandSegments(cast<RankedTensorType>(op->getResult(0).getType()), resultForm));
  define(op->getResult(0), made->getResult(0), resultForm);
  return true;
}

void SegmentExpander::define(Value old, Value made, ArrayRef<DimForm> form) {
  Form own = getForm(old);
  Operation *op = old.getDefiningOp() ? old.getDefiningOp() : &function.getBody().front().front();
  Value value = made;
  if (auto type = dyn_cast<RankedTensorType>(old.getType()))
    value = reshape(made, type, form, own, getWork(op));
  if (hasSegments(own))
    expanded[old] = value;
  else if (value != old)
    old.replaceAllUsesWith(value);
}

Value SegmentExpander::rematerialize(Operation *op, RankedTensorType type, ArrayRef<DimForm> form,
                                     OpBuilder &at) {
  Location loc = op->getLoc();
  if (isa<tensor::EmptyOp>(op))
    return tensor::EmptyOp::create(at, loc, type.getShape(), type.getElementType());
  if (auto splat = dyn_cast<tensor::SplatOp>(op))
    return tensor::SplatOp::create(at, loc, type, splat.getInput(), ValueRange());
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return arith::ConstantOp::create(at, loc, cast<SplatElementsAttr>(constant.getValue()).resizeSplat(type));
  auto generic = cast<linalg::GenericOp>(op);
  SmallVector<AffineMap> maps;
  for (AffineMap map : ArrayRef(generic.getIndexingMapsArray()).drop_back())
    maps.push_back(AffineMap::get(type.getRank(), 0, map.getResults(), op->getContext()));
  maps.push_back(at.getMultiDimIdentityMap(type.getRank()));
  Value init = rematerialize(generic.getDpsInits()[0], form);
  SmallVector<utils::IteratorType> loops(type.getRank(), utils::IteratorType::parallel);
  auto made = linalg::GenericOp::create(at, loc, type, generic.getInputs(), init, maps, loops);
  IRMapping mapping;
  generic.getRegion().cloneInto(&made.getRegion(), mapping);
  return made.getResult(0);
}

/// What is the same everywhere is made once in each form: ops that share it have nothing else in common.
Value SegmentExpander::rematerialize(Value value, ArrayRef<DimForm> form) {
  for (auto &[as, known] : rematerialized[value])
    if (ArrayRef(as) == form)
      return known;
  Operation *op = value.getDefiningOp();
  OpBuilder at(op->getContext());
  at.setInsertionPointAfter(op);
  Value made = rematerialize(op, expandSegments(cast<RankedTensorType>(value.getType()), form), form, at);
  setWork(made.getDefiningOp(), op->getAttr(EplDialect::kWorkAttr));
  rematerialized[value].push_back({Form(form), made});
  return made;
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

std::optional<SmallVector<SmallVector<StringRef>>>
mlir::epl::expandSegments(ArrayRef<SmallVector<StringRef>> dimAxes, MeshOp mesh, RankedTensorType type,
                          ArrayRef<DimForm> form) {
  SmallVector<SmallVector<StringRef>> dims;
  for (auto [axes, extent, dim] : llvm::zip_equal(dimAxes, type.getShape(), form)) {
    dims.push_back(axes);
    if (!dim.isTwo())
      continue;
    int64_t split = dim.parts ? extent / dim.inner : dim.inner;
    if (split % getAxesSize(mesh, axes) != 0)
      return std::nullopt;
    dims.insert(dim.parts ? dims.end() : std::prev(dims.end()), SmallVector<StringRef>());
  }
  return dims;
}

ShardingAttr mlir::epl::expandSegments(ShardingAttr sharding, MeshOp mesh, RankedTensorType type,
                                       ArrayRef<DimForm> form) {
  SmallVector<SmallVector<StringRef>> axes = llvm::map_to_vector(
      llvm::seq(sharding.getRank()), [&](int64_t dim) { return sharding.getDimAxes(dim); });
  auto dims = expandSegments(axes, mesh, type, form);
  if (!dims)
    return {};
  return ShardingAttr::get(sharding.getContext(), sharding.getMesh(), *dims, sharding.getPartialAxes(),
                           sharding.getReduction());
}

/// A state has its segments between steps, too. The others are whole on every device, or a batch: they are
/// reshaped. Until the end, what comes in has a name of its own beside its type of old.
void SegmentExpander::enter(BlockArgument argument) {
  auto whole = cast<RankedTensorType>(argument.getType());
  Form form = getForm(argument), none(form.size());
  ShardingAttr sharding = getSharding(argument);
  bool isFree = !sharding || expandSegments(sharding, mesh, whole, form) != ShardingAttr();
  if (!keepsSegments(argument) || !isFree)
    return define(argument, argument, none);
  auto type = expandSegments(whole, form);
  auto cast =
      UnrealizedConversionCastOp::create(builder, argument.getLoc(), TypeRange(type), ValueRange(argument));
  entered.push_back({argument, cast});
  expanded[argument] = cast.getResult(0);
}

/// Whether an op sends each iteration's value by a channel, or takes what each receives: the channel is told
/// by that op, so nothing comes between.
static bool isEndOfChannel(Operation *op) {
  if (auto slice = dyn_cast<LoopSliceOp>(op))
    return isReceivedInMessages(slice.getOperand());
  return isa<LoopStackOp>(op) && getChannelLoop(op->getResult(0));
}

/// Gives an op its expanded form. One that has none keeps its own.
void SegmentExpander::process(Operation *op) {
  builder.setInsertionPoint(op);
  for (OpOperand *captured : getCapturedTensors(op))
    if (Value value = captured->get(); isSegmented(value))
      captured->set(getAs(value, Form(getForm(value).size()), op));
  auto isTouched = [&](Value value) { return isSegmented(value); };
  if (llvm::none_of(op->getOperands(), isTouched) && llvm::none_of(op->getResults(), isTouched))
    return;
  auto model = dyn_cast<ShardableOp>(op);
  if (model && !isEndOfChannel(op) && model.expandSegments(*this)) {
    dead.push_back(op);
    ++numExpanded;
    return;
  }
  LDBG() << op->getName() << " has no form on segments";
  ++numTogether;
  for (OpOperand &operand : op->getOpOperands())
    operand.set(getAs(operand.get(), Form(getForm(operand.get()).size()), op));
  builder.setInsertionPointAfter(op);
  for (Value result : op->getResults())
    define(result, result, Form(getForm(result).size()));
}

/// How the caller sees a state: its shape and, where the order of elements is another one, its parts.
SmallVector<NamedAttribute> SegmentExpander::getCallerAttrs(BlockArgument argument) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(argument.getType()).getShape();
  SmallVector<NamedAttribute> attrs = {
      builder.getNamedAttr(EplDialect::kCallerShapeAttr, builder.getDenseI64ArrayAttr(shape))};
  SmallVector<Attribute> parts;
  for (DimForm dim : getForm(argument)) {
    parts.push_back(dim.parts ? dim.parts : builder.getDenseI64ArrayAttr({}));
    if (dim.isTwo())
      parts.push_back(builder.getDenseI64ArrayAttr({}));
  }
  if (llvm::any_of(getForm(argument), [](DimForm dim) { return dim.parts != nullptr; }))
    attrs.push_back(builder.getNamedAttr(EplDialect::kCallerPartsAttr, builder.getArrayAttr(parts)));
  return attrs;
}

void SegmentExpander::returnResults() {
  Operation *terminator = function.getBody().front().getTerminator();
  for (OpOperand &result : terminator->getOpOperands()) {
    if (isSentInMessages(result))
      continue; // has its own form
    BlockArgument argument = getUpdatedArgument(function, result.getOperandNumber());
    bool hasEntered = argument && llvm::is_contained(llvm::make_first_range(entered), argument);
    Form form = getForm(hasEntered ? argument : result.get());
    if (hasEntered)
      for (NamedAttribute seen : getCallerAttrs(argument))
        function.setResultAttr(result.getOperandNumber(), seen.getName(), seen.getValue());
    else
      llvm::fill(form, DimForm());
    // What another mesh waits for is there when it is made.
    auto made = expanded.find(result.get());
    if (made != expanded.end() && function.getResultAttr(result.getOperandNumber(), EplDialect::kChannelAttr))
      builder.setInsertionPointAfterValue(made->second);
    else
      builder.setInsertionPoint(terminator);
    result.set(getAs(result.get(), form, terminator));
  }
}

void SegmentExpander::finishArguments() {
  for (auto [argument, cast] : entered) {
    auto whole = llvm::cast<RankedTensorType>(argument.getType());
    for (NamedAttribute seen : getCallerAttrs(argument))
      function.setArgAttr(argument.getArgNumber(), seen.getName(), seen.getValue());
    ShardingAttr sharding = getSharding(argument);
    argument.setType(cast.getResult(0).getType());
    if (sharding)
      setSharding(argument, expandSegments(sharding, mesh, whole, segments.getForm(argument)));
    cast.getResult(0).replaceAllUsesWith(argument);
    cast.erase();
  }
  Block &body = function.getBody().front();
  function.setType(FunctionType::get(function.getContext(), body.getArgumentTypes(),
                                     body.getTerminator()->getOperandTypes()));
}

void SegmentExpander::eraseDead() {
  for (Operation *op : llvm::reverse(dead))
    op->erase();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
    if (op.getNumResults() == 1 && op.use_empty() && isSameEverywhere(op.getResult(0)))
      op.erase();
}

void SegmentExpander::run() {
  SmallVector<Operation *> ops =
      llvm::map_to_vector(function.getBody().front().without_terminator(), [](Operation &op) { return &op; });
  for (BlockArgument argument : function.getArguments())
    if (isSegmented(argument) && !getChannelLoop(argument)) {
      Operation *reader = isReceived(argument) ? getFirstReader(argument) : nullptr;
      builder.setInsertionPoint(reader ? reader : &function.getBody().front().front());
      enter(argument);
    }
  for (Operation *op : ops)
    process(op);
  returnResults();
  eraseDead();
  finishArguments();
}

namespace {
struct ExpandSegmentsPass : epl::impl::ExpandSegmentsPassBase<ExpandSegmentsPass> {
  void runOnOperation() override {
    FailureOr<SmallVector<Program>> programs = getPrograms(getOperation());
    if (failed(programs))
      return signalPassFailure();
    for (const Program &program : *programs)
      run(program);
  }

  static void run(Program program) {
    SmallVector<int64_t> sizes;
    for (AxisAttr axis : program.mesh.getAxes().getAsRange<AxisAttr>())
      if (axis.isModel() && axis.getSize() > 1)
        sizes.push_back(axis.getSize());
    if (sizes.empty())
      return;
    Segments segments(program.function, sizes);
    if (!segments.isEmpty())
      SegmentExpander(program.function, program.mesh, segments).run();
  }
};
} // namespace
