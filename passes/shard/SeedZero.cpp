//===- SeedZero.cpp - Devices share state instead of copying it -----------===//
//
// Problem: under data parallelism every device keeps and updates all of the optimizer's state, and all of the
//   parameters.
// Method: seeds; propagation and placement do the rest. v1: each state of the optimizer is sharded over the
//   axis "data", along its outermost dimension that the axis divides and no other axis shards. So the sum of
//   a gradient is scattered into the parts that devices update, and parameters are gathered when they are
//   returned. v2: gradients are resharded so where they are summed, whatever reads them. v3: parameters are
//   sharded so too, and gathered for each work that reads them with the batch: what is gathered for the
//   forward work is not kept for the backward work, since that is what memory is short of. The optimizer's
//   are the states that nothing reads which is computed on parts of the batch.
// Invariant in: `epl-seed-batch` has run: every tensor argument has a sharding.
// Invariant out: the same; states are sharded over "data" as well, if there is such an axis.
// Reference: Rajbhandari et al., "ZeRO: memory optimizations toward training trillion parameter models",
// 2020.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/Passes.h"
#include "passes/shard/Propagation.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::epl {
#define GEN_PASS_DEF_SEEDZEROPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

namespace {
/// A step under data parallelism as it is without seeds of ours.
class Model {
public:
  Model(const FunctionRules &rules, AxisAttr axis);

  /// The states of floating point; others, keys and counters, are small.
  ArrayRef<BlockArgument> getStates() const { return states; }
  /// Whether a user of a value computes on parts of the batch, or makes something for one that does. What
  /// becomes the next value of a state is followed no further.
  bool isReadBy(Operation *user) const;
  bool isRead(Value value) const {
    return llvm::any_of(value.getUsers(), [&](Operation *user) { return isReadBy(user); });
  }
  /// The sums over the batch that the next value of `parameter` is made of, each as early as it is one sum.
  llvm::SmallSetVector<Value, 2> getGradients(BlockArgument parameter) const;
  /// The op of the step in which `user` stands.
  Operation *getOp(Operation *user) const { return body.findAncestorOpInBlock(*user); }

private:
  Value getOrigin(Value sum) const;
  bool isPending(Value value) const {
    return isa<RankedTensorType>(value.getType()) && program.getState(value).partial == ReductionKind::sum;
  }

  const FunctionRules &rules;
  Block &body;
  Propagation program;
  SmallVector<BlockArgument> states;
  DenseSet<Value> read; ///< results of ops that are read so
};

/// Seeds one step.
class Seeder {
public:
  Seeder(const FunctionRules &rules, AxisAttr axis) : rules(rules), axis(axis), model(rules, axis) {}

  void run(ZeroLevel level);

private:
  bool shardState(BlockArgument state);
  void shardGradients(BlockArgument parameter);
  void gatherWhereRead(BlockArgument parameter);
  ShardingAttr getSharded(BlockArgument state) const;
  ReshardOp createReshard(OpBuilder &builder, Value value, ShardingAttr sharding, Operation *work) const;
  void remarkWhole(ArrayRef<BlockArgument> whole) const;

  const FunctionRules &rules;
  AxisAttr axis;
  Model model;
};
} // namespace

//===----------------------------------------------------------------------===//
// What is what
//===----------------------------------------------------------------------===//

Model::Model(const FunctionRules &rules, AxisAttr axis)
    : rules(rules), body(rules.getFunction().getBody().front()), program(rules, axis, {}) {
  program.run();
  DenseSet<Value> updates;
  for (BlockArgument argument : body.getArguments())
    if (isFloatState(argument)) {
      states.push_back(argument);
      updates.insert(rules.getUpdate(argument));
    }
  for (Operation &op : llvm::reverse(body.without_terminator()))
    for (Value result : op.getResults())
      if (!updates.contains(result) && isRead(result))
        read.insert(result);
}

bool Model::isReadBy(Operation *user) const {
  Operation *op = getOp(user);
  if (op == body.getTerminator())
    return false;
  return program.getChoice(op) != FactorRule::kBlocked ||
         llvm::any_of(op->getResults(), [&](Value result) { return read.contains(result); });
}

/// Back through ops that pass one sum on, element by element.
Value Model::getOrigin(Value sum) const {
  while (Operation *op = sum.getDefiningOp()) {
    llvm::SmallSetVector<Value, 2> passed;
    for (auto [operand, factors] : llvm::zip_equal(op->getOperands(), rules.getRule(op).operands))
      if (isPending(operand) && factors == rules.getRule(op).results[cast<OpResult>(sum).getResultNumber()])
        passed.insert(operand);
      else if (isPending(operand))
        return sum;
    if (passed.size() != 1)
      return sum;
    sum = passed.front();
  }
  return sum;
}

llvm::SmallSetVector<Value, 2> Model::getGradients(BlockArgument parameter) const {
  llvm::SmallSetVector<Value, 2> gradients;
  llvm::SetVector<Value> made;
  auto shape = cast<RankedTensorType>(parameter.getType()).getShape();
  auto visit = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || type.getShape() != shape)
      return;
    if (isPending(value))
      gradients.insert(getOrigin(value));
    else
      made.insert(value);
  };
  if (Value update = rules.getUpdate(parameter))
    visit(update);
  for (size_t next = 0; next < made.size(); ++next)
    if (Operation *op = made[next].getDefiningOp(); op && program.getChoice(op) == FactorRule::kBlocked)
      llvm::for_each(op->getOperands(), visit);
  return gradients;
}

//===----------------------------------------------------------------------===//
// Seeds
//===----------------------------------------------------------------------===//

void Seeder::run(ZeroLevel level) {
  SmallVector<BlockArgument> whole;
  for (BlockArgument state : model.getStates()) {
    bool isParameter = model.isRead(state);
    if (isParameter && level >= ZeroLevel::v2)
      shardGradients(state);
    if (isParameter && level < ZeroLevel::v3)
      continue;
    if (!shardState(state))
      whole.push_back(state);
    else if (isParameter)
      gatherWhereRead(state);
  }
  if (!whole.empty())
    remarkWhole(whole);
}

/// The sharding of a state with the axis on the outermost dimension that can have it; null if none can.
ShardingAttr Seeder::getSharded(BlockArgument state) const {
  auto type = cast<RankedTensorType>(state.getType());
  ShardingAttr sharding = getSharding(state);
  if (sharding.getDimOf(axis.getName()) >= 0)
    return sharding;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (sharding.getDimAxes(dim).empty() && !type.isDynamicDim(dim) &&
        type.getDimSize(dim) % axis.getSize() == 0)
      return withAxisState(sharding, rules.getMesh(), axis.getName(), AxisState::sharded(dim));
  return {};
}

/// Whether the state is sharded now. A scalar has nothing to be sharded.
bool Seeder::shardState(BlockArgument state) {
  ShardingAttr sharding = getSharded(state);
  if (sharding)
    setSharding(state, sharding);
  return sharding || getSharding(state).getRank() == 0;
}

/// A reshard in the work of `work`.
ReshardOp Seeder::createReshard(OpBuilder &builder, Value value, ShardingAttr sharding,
                                Operation *work) const {
  auto reshard = ReshardOp::create(builder, value.getLoc(), value.getType(), value, sharding);
  if (Attribute attribute = work->getAttr(EplDialect::kWorkAttr))
    reshard->setAttr(EplDialect::kWorkAttr, attribute);
  return reshard;
}

void Seeder::shardGradients(BlockArgument parameter) {
  ShardingAttr sharding = getSharded(parameter);
  if (!sharding)
    return;
  for (Value gradient : model.getGradients(parameter)) {
    OpBuilder builder(parameter.getContext());
    builder.setInsertionPointAfterValue(gradient);
    auto reshard = createReshard(builder, gradient, sharding, gradient.getDefiningOp());
    gradient.replaceAllUsesExcept(reshard, reshard);
  }
}

/// Once for each work, before the first op of it that reads the parameter.
void Seeder::gatherWhereRead(BlockArgument parameter) {
  ShardingAttr sharding = getSharding(parameter);
  ShardingAttr whole = withAxisState(sharding, rules.getMesh(), axis.getName(), AxisState());
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : parameter.getUses())
    if (model.isReadBy(use.getOwner()))
      uses.push_back(&use);
  llvm::sort(uses, [&](OpOperand *a, OpOperand *b) {
    return model.getOp(a->getOwner())->isBeforeInBlock(model.getOp(b->getOwner()));
  });
  DenseMap<Attribute, Value> gathered;
  for (OpOperand *use : uses) {
    Operation *op = model.getOp(use->getOwner());
    Value &copy = gathered[op->getAttr(EplDialect::kWorkAttr)];
    if (!copy) {
      OpBuilder builder(op);
      copy = createReshard(builder, parameter, whole, op);
    }
    use->set(copy);
  }
}

/// Says which states every device keeps whole although there are copies.
void Seeder::remarkWhole(ArrayRef<BlockArgument> whole) const {
  int64_t bytes = 0;
  for (BlockArgument state : whole)
    bytes += getBytes(state);
  func::FuncOp function = rules.getFunction();
  InFlightDiagnostic remark = function.emitRemark()
                              << "every device keeps all of " << whole.size() << " states of " << bytes
                              << " bytes: no dimension is left that axis \"" << axis.getName()
                              << "\" of size " << axis.getSize() << " divides";
  for (BlockArgument state : whole)
    remark.attachNote() << describeArgument(function, state.getArgNumber()) << " of " << state.getType();
}

namespace {
struct SeedZero : epl::impl::SeedZeroPassBase<SeedZero> {
  using SeedZeroPassBase::SeedZeroPassBase;

  void runOnOperation() override {
    FailureOr<MeshOp> mesh = getSpatialMesh(getOperation());
    FailureOr<SmallVector<func::FuncOp>> programs = getPrograms(getOperation());
    if (failed(mesh) || failed(programs))
      return signalPassFailure();
    AxisAttr axis = mesh->getAxis(kDataAxis);
    if (level == ZeroLevel::off || !axis || axis.getSize() == 1)
      return;
    for (func::FuncOp program : *programs) {
      FunctionRules rules(program, *mesh);
      Seeder(rules, axis).run(level);
    }
  }
};
} // namespace
