//===- PlanLoops.cpp - The iterations of loops ----------------------------===//
//
// Problem: the program has the ops of one iteration; devices keep one schedule, in which every iteration has
// commands of its own, so that iterations overlap as far as what they carry lets them. Method: the ops of a
// loop stand together, in one over micro-batches those of each loop that is in it. For each iteration their
// values are bound to buffers anew: a carried value to what the iteration before made of it, so that nothing
// is copied. A stack that only slices read is never made: a slice is the buffer that was to be its part. Of
// other stacks each iteration writes its part. A slice of any other tensor is a view of its buffer, as
// iterations are its outermost dimension.
//
//===----------------------------------------------------------------------===//

#include "dialect/Channels.h"
#include "passes/emit/PlanBuilder.h"

using namespace mlir;
using namespace mlir::epl;

LogicalResult PlanBuilder::addOps(Block &body) {
  Loops loops(body);
  auto getOutermost = [&](Operation &op) {
    LoopAttr loop = loops.getLoop(&op), outer = getMicroBatchLoop(loop);
    return outer ? outer : loop;
  };
  for (auto op = body.begin(); op != body.end();) {
    LoopAttr loop = getOutermost(*op);
    SmallVector<Operation *> ops;
    do
      ops.push_back(&*op++);
    while (loop && op != body.end() && getOutermost(*op) == loop);
    llvm::for_each(ops, [&](Operation *each) { addReceives(each); });
    if (failed(loop ? addLoop(ops, loop, loops) : addOp(ops.front())))
      return failure();
    for (Operation *each : ops)
      for (Value result : each->getResults())
        addSends(result, each->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr));
  }
  return success();
}

LogicalResult PlanBuilder::addLoop(ArrayRef<Operation *> ops, LoopAttr loop, const Loops &loops) {
  if (isOfMicroBatches(loop))
    return addMicroBatches(loop, loops);
  for (int64_t iteration = 0; iteration < loop.getTripCount(); ++iteration) {
    beginIteration(ops, loop, loops, iteration == 0);
    for (Operation *op : ops)
      if (failed(addIterationOp(op, iteration)))
        return failure();
  }
  return success();
}

/// Binds all carried values at once: one may become what another one was.
void PlanBuilder::beginIteration(ArrayRef<Operation *> ops, LoopAttr loop, const Loops &loops, bool isFirst) {
  SmallVector<std::pair<Value, uint32_t>> carried;
  for (Operation *op : ops)
    if (auto carry = dyn_cast<LoopCarryOp>(op); carry && carry.getLoop() == loop)
      carried.push_back(
          {carry, buffers.lookup(isFirst ? carry.getInit() : loops.getLast(carry).getOperand())});
  for (auto [value, buffer] : carried) {
    buffers[value] = buffer;
    if (isFirst)
      beginning.insert(value);
    else
      beginning.erase(value);
  }
}

LogicalResult PlanBuilder::addIterationOp(Operation *op, int64_t iteration) {
  setGuards(op);
  auto getPart = [&](auto edge) {
    return edge.getReverse() ? edge.getLoop().getTripCount() - 1 - iteration : iteration;
  };
  if (isa<LoopStackOp>(op) && iteration == 0) // that of the micro-batch before is another one
    buffers.erase(op->getResult(0));
  if (auto slice = dyn_cast<LoopSliceOp>(op))
    addSlice(slice, getPart(slice));
  else if (auto stack = dyn_cast<LoopStackOp>(op))
    addPart(stack, getPart(stack));
  else if (auto last = dyn_cast<LoopLastOp>(op))
    buffers[last] = buffers.lookup(last.getOperand());
  else if (!isa<LoopCarryOp>(op))
    return addOp(op);
  return success();
}

void PlanBuilder::addSlice(LoopSliceOp op, int64_t part) {
  if (isReceivedInMessages(op.getOperand()))
    return receivePart(op, part);
  if (auto parts = stacks.find(op.getOperand()); parts != stacks.end()) {
    buffers[op] = parts->second[part];
    return;
  }
  uint64_t size = getBytes(getLocalType(op, cast<DistType>(op.getType())));
  buffers[op] = builder.addView("slice", buffers.lookup(op.getOperand()), uint64_t(part) * size, size);
}

void PlanBuilder::addPart(LoopStackOp op, int64_t part) {
  uint32_t made = buffers.lookup(op.getOperand());
  if (getChannelLoop(op.getResult())) {
    sendPart(op, part);
    setGuards(op); // a message is sent in any case
    if (llvm::all_of(op.getResult().getUses(), isSentInMessages))
      return;
  }
  if (llvm::all_of(op.getResult().getUsers(), llvm::IsaPred<LoopSliceOp>)) {
    stacks[op].resize(op.getLoop().getTripCount());
    stacks[op][part] = made;
    return;
  }
  if (!buffers.contains(op))
    addBuffer(op, getLocalType(op, cast<DistType>(op.getType())), "stack");
  plan::CopyT copy;
  copy.source = made;
  copy.target = buffers.lookup(op);
  copy.size = getBytes(getLocalType(op, cast<DistType>(op.getOperand().getType())));
  copy.to = part * copy.size;
  addCopy(op, "stack", copy);
}

void PlanBuilder::addCopy(Operation *op, StringRef name, plan::CopyT copy) {
  setGuards(op); // others than those of the command before
  if (copy.size > 0)
    builder.copy(getInfo(op, name, {}), copy);
}
