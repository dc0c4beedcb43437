//===- FormKernels.cpp - Tasks to clusters --------------------------------===//
//
// Problem: a task is a flat list of small ops; one launch for each would spend the step on memory traffic.
// Method: `groupOps` decides which ops share a kernel (Clusters.h). Here each group becomes an isolated
// `epl.cluster`, in an order that `orderGroups` finds anew: what it reads is built before it, what is cheap
// is cloned into it.
//
// In: tasks with flat bodies of pure ops on local tensors. Out: task bodies hold clusters and views only.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/Passes.h"
#include "passes/kernel/cluster/Clusters.h"
#include "passes/kernel/cluster/OpRoles.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::epl {
#define GEN_PASS_DEF_FORMKERNELS
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

namespace {

/// The body of a cluster in the making.
class BodyBuilder {
public:
  BodyBuilder(MLIRContext *context, function_ref<bool(Value)> isInside)
      : block(new Block), builder(context), isInside(isInside) {
    builder.setInsertionPointToStart(block.get());
  }

  /// The value inside that takes the place of `value`: computed here, or a block argument.
  Value inside(Value value) {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    if (isInside(value))
      clone(value.getDefiningOp());
    else
      mapping.map(value, addInput(value));
    return mapping.lookup(value);
  }

  /// Adds a copy of `op`, after what it reads. Work and shardings are facts of the place, not of the kernel.
  void clone(Operation *op) {
    if (mapping.contains(op))
      return;
    for (Value read : getReadValues(op))
      inside(read);
    Operation *copy = builder.clone(*op, mapping);
    copy->setDiscardableAttrs(DictionaryAttr::get(op->getContext()));
    mapping.map(op, copy);
  }

  /// The same for a contraction: each operand is an argument of its own, in order, so that a library can be
  /// called with them. Only dilations, and an init made of constants, are made here.
  void cloneContraction(linalg::GenericOp op) {
    SmallVector<Value> operands =
        llvm::map_to_vector(op.getInputs(), [&](Value input) { return addOperand(input); });
    Value init = op.getDpsInits()[0];
    operands.push_back(isCheapConstant(init) ? inside(init) : addInput(init));
    Operation *copy = builder.clone(*op, mapping);
    copy->setOperands(operands);
    copy->setDiscardableAttrs(DictionaryAttr::get(op.getContext()));
  }

  /// The same for a factorization, whose operands are a library's.
  void cloneFactorization(Operation *op) {
    SmallVector<Value> operands =
        llvm::map_to_vector(op->getOperands(), [&](Value input) { return addInput(input); });
    Operation *copy = builder.clone(*op, mapping);
    copy->setOperands(operands);
    copy->setDiscardableAttrs(DictionaryAttr::get(op->getContext()));
  }

  /// Ends the block with `results` and gives it away.
  Block *finish(ArrayRef<Value> results, Location loc) {
    YieldOp::create(builder, loc, llvm::map_to_vector(results, [&](Value result) { return inside(result); }));
    return block.release();
  }

  /// What the block arguments stand for.
  SmallVector<Value> inputs;

private:
  /// What a contraction reads: an argument, dilated here if `value` is something dilated.
  Value addOperand(Value value) {
    auto dilation = value.getDefiningOp<tensor::InsertSliceOp>();
    if (!dilation || getOpRole(dilation) != OpRole::clone)
      return addInput(value);
    IRMapping operands;
    operands.map(dilation.getSource(), addInput(dilation.getSource()));
    operands.map(dilation.getDest(), inside(dilation.getDest()));
    Operation *copy = builder.clone(*dilation, operands);
    copy->setDiscardableAttrs(DictionaryAttr::get(dilation->getContext()));
    return copy->getResult(0);
  }

  Value addInput(Value value) {
    inputs.push_back(value);
    return block->addArgument(value.getType(), value.getLoc());
  }

  std::unique_ptr<Block> block;
  OpBuilder builder;
  function_ref<bool(Value)> isInside;
  IRMapping mapping;
};

/// Replaces the ops of a task body by clusters.
class ClusterBuilder {
public:
  explicit ClusterBuilder(Block &body) : body(body), builder(body.getTerminator()) {}
  /// Builds the groups, each of which stands behind those that it reads.
  void run(ArrayRef<const Group *> groups);

private:
  void build(const Group &group);
  /// The value, outside of all clusters, that takes the place of `value`.
  Value outside(Value value);
  /// Whether the cluster of `group` computes `value`.
  bool isInside(Value value, const Group &group);
  /// Whether anything but `group` reads `value`, also through clones and views.
  bool escapes(Value value, const Group &group);

  Block &body;
  OpBuilder builder;
  DenseMap<Operation *, const Group *> groupOf;
  IRMapping mapping;
};

bool ClusterBuilder::isInside(Value value, const Group &group) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (auto it = groupOf.find(op); it != groupOf.end())
    return it->second == &group;
  return getOpRole(op) == OpRole::clone || isInside(op->getOperand(0), group);
}

bool ClusterBuilder::escapes(Value value, const Group &group) {
  llvm::SetVector<Operation *> readers;
  auto addReaders = [&](Value read) {
    for (Operation *user : read.getUsers())
      readers.insert(body.findAncestorOpInBlock(*user));
  };
  addReaders(value);
  for (size_t next = 0; next < readers.size(); ++next) { // which grows
    Operation *reader = readers[next];
    auto it = groupOf.find(reader);
    if (reader == body.getTerminator() || (it != groupOf.end() && it->second != &group))
      return true;
    if (it == groupOf.end())
      llvm::for_each(reader->getResults(), addReaders);
  }
  return false;
}

void ClusterBuilder::build(const Group &group) {
  auto inThisGroup = [&](Value value) { return isInside(value, group); };
  BodyBuilder cluster(body.getParentOp()->getContext(), inThisGroup);
  SmallVector<Value> results;
  for (Operation *op : group.ops) {
    if (group.kind == KernelKind::contraction)
      cluster.cloneContraction(cast<linalg::GenericOp>(op));
    else if (group.kind == KernelKind::factorization)
      cluster.cloneFactorization(op);
    else
      cluster.clone(op);
    llvm::copy_if(op->getResults(), std::back_inserter(results), [&](Value result) {
      return group.kind == KernelKind::factorization || escapes(result, group); // a library writes them all
    });
  }
  Operation *first = group.ops.front();
  Block *block = cluster.finish(results, first->getLoc());
  SmallVector<Value> inputs =
      llvm::map_to_vector(cluster.inputs, [&](Value input) { return outside(input); });
  auto op = ClusterOp::create(builder, first->getLoc(), ValueRange(results).getTypes(), group.kind, inputs);
  op.getBody().push_back(block);
  if (Attribute work = first->getDiscardableAttr(EplDialect::kWorkAttr))
    op->setDiscardableAttr(EplDialect::kWorkAttr, work);
  mapping.map(results, op.getResults());
}

Value ClusterBuilder::outside(Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  if (!op)
    return value;
  if (getOpRole(op) == OpRole::view) {
    mapping.map(op->getOperand(0), outside(op->getOperand(0)));
    builder.clone(*op, mapping);
  } else { // cheap, but a result of the task
    build({KernelKind::fusion, {op}});
  }
  return mapping.lookup(value);
}

/// Nothing reads the result of these, so they must not count as readers.
void eraseDeadOps(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

void ClusterBuilder::run(ArrayRef<const Group *> groups) {
  SmallVector<Operation *> old =
      llvm::map_to_vector(body.without_terminator(), [](Operation &op) { return &op; });
  for (const Group *group : groups)
    for (Operation *op : group->ops)
      groupOf[op] = group;
  for (const Group *group : groups)
    build(*group);
  for (OpOperand &result : body.getTerminator()->getOpOperands())
    result.set(outside(result.get()));
  for (Operation *op : llvm::reverse(old))
    op->erase();
}

/// A kernel is a function of its inputs whose loops are known when it is compiled.
LogicalResult verifyBody(Block &body) {
  for (Operation &op : body.without_terminator()) {
    if (!isMemoryEffectFree(&op))
      return op.emitOpError() << "has side effects, expected a function of its operands";
    for (Type type : op.getResultTypes())
      if (auto tensor = dyn_cast<ShapedType>(type); tensor && !tensor.hasStaticShape())
        return op.emitOpError() << "has type " << type << ", expected a static shape";
  }
  return success();
}

struct FormKernelsPass : epl::impl::FormKernelsBase<FormKernelsPass> {
  using FormKernelsBase::FormKernelsBase;

  void runOnOperation() override {
    SmallVector<TaskOp> tasks;
    getOperation().walk([&](TaskOp task) { tasks.push_back(task); });
    if (llvm::any_of(tasks, [&](TaskOp task) { return failed(formClusters(task)); }))
      signalPassFailure();
  }

private:
  LogicalResult formClusters(TaskOp task) {
    Block &body = task.getBody().front();
    if (failed(verifyBody(body)))
      return failure();
    eraseDeadOps(body);
    SmallVector<Group> groups = groupOps(body, {maxOps, maxOperands});
    FailureOr<SmallVector<const Group *>> order = orderGroups(body, groups);
    if (failed(order))
      return task.emitOpError() << "has clusters that need one another: this is a bug of EPL";
    ClusterBuilder(body).run(*order);
    return success();
  }
};

} // namespace
