//===- SeedZero.cpp - Devices share state instead of copying it -----------===//
//
// Problem: under data parallelism every device keeps and updates a copy of the optimizer's state, and of the
//   parameters.
// Method: seeds; propagation and placement do the rest.
//
//     level   seeded on "data"                      what follows
//     v1      the states of the optimizer           a gradient's sum is scattered into the parts that devices
//                                                   update; parameters are gathered when they are returned
//     v2      gradients where they are summed, too  the same, even if something reads whole gradients
//     v3      parameters, too                       they, or what is rounded of them, is gathered for each
//     work
//                                                   with the batch, and not kept from forward to backward
//                                                   work
//
//   A state is sharded along its outermost dimension that the axis divides and no other axis shards; along
//   one that loops take apart, or that its update sums over, only if there is no other (CutDims.h). States of
//   the optimizer are those that nothing reads which is computed on parts of the batch. Where task graphs
//   share devices, a state that is read only by task graphs which shard their batch over another axis as well
//   is sharded over that axis, too.
// Invariant in: `epl-seed-batch` has run: every tensor argument has a sharding.
// Invariant out: the same; states are sharded over "data" as well, if there is such an axis.
// Reference: Rajbhandari et al., "ZeRO: memory optimizations toward training trillion parameter models",
//   2020.
//
//===----------------------------------------------------------------------===//

#include "dialect/Bytes.h"
#include "passes/shard/Passes.h"
#include "passes/shard/analysis/CutDims.h"
#include "passes/shard/analysis/Propagation.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-seed-zero"

namespace mlir::epl {
#define GEN_PASS_DEF_SEEDZEROPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numShared, "States that devices share");
ALWAYS_ENABLED_STATISTIC(numWhole, "States of which no dimension could be shared");
ALWAYS_ENABLED_STATISTIC(numGathered, "Copies of parameters that are gathered for a work");

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
  /// Whether an op computes on parts of the batch.
  bool isOfBatch(Operation *op) const { return program.getChoice(op) != FactorRule::kBlocked; }
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
  /// Over the axes in `axes`, each of more than one device.
  Seeder(const FunctionRules &rules, ArrayRef<AxisAttr> axes);

  void run(ZeroLevel level);

private:
  /// A step on one axis.
  struct Sharing {
    AxisAttr axis;
    Model model;
    SmallVector<BlockArgument> whole; ///< states that the axis shards no dimension of
  };

  using UsesOfValues = llvm::MapVector<Value, SmallVector<OpOperand *>>;
  SmallVector<Sharing *> getSharings(BlockArgument state);
  SmallVector<OpOperand *> getReads(BlockArgument state, ArrayRef<Sharing *> own) const;
  SmallVector<int64_t> getDims(BlockArgument state) const;
  ShardingAttr getSharded(BlockArgument state, ArrayRef<Sharing *> own) const;
  ShardingAttr getWhole(BlockArgument state, ArrayRef<Sharing *> own) const;
  void shardState(BlockArgument state, ArrayRef<Sharing *> own);
  void shardGradients(BlockArgument parameter, ArrayRef<Sharing *> own);
  Value getNarrowed(OpOperand &read) const;
  UsesOfValues getGathered(BlockArgument parameter, ArrayRef<OpOperand *> reads) const;
  void gather(Value parameter, ShardingAttr whole, ArrayRef<OpOperand *> reads) const;
  ReshardOp createReshard(OpBuilder &builder, Value value, ShardingAttr sharding, Operation *work) const;
  void remarkWhole(const Sharing &sharing) const;

  const FunctionRules &rules;
  CutDims cuts;
  std::vector<Sharing> sharings;
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
  bool isNew = !rules.hasPosition(op); // a gather of another state
  return isNew || isOfBatch(op) ||
         llvm::any_of(op->getResults(), [&](Value result) { return read.contains(result); });
}

/// Whether two tensors have one shape: a concatenation passes a sum on, but as a part of another tensor.
static bool isSameShape(Value a, Value b) {
  return cast<RankedTensorType>(a.getType()).getShape() == cast<RankedTensorType>(b.getType()).getShape();
}

/// Back through ops that pass one sum on, element by element.
Value Model::getOrigin(Value sum) const {
  while (Operation *op = sum.getDefiningOp()) {
    llvm::SmallSetVector<Value, 2> passed;
    for (auto [operand, factors] : llvm::zip_equal(op->getOperands(), rules.getRule(op).operands))
      if (isPending(operand) && isSameShape(operand, sum) &&
          factors == rules.getRule(op).results[cast<OpResult>(sum).getResultNumber()])
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
  for (size_t next = 0; next < made.size(); ++next) {
    Operation *op = made[next].getDefiningOp();
    // A gather of another state, which is new, has no gradient behind it.
    if (op && rules.hasPosition(op) && !isOfBatch(op))
      llvm::for_each(op->getOperands(), visit);
  }
  return gradients;
}

//===----------------------------------------------------------------------===//
// Seeds
//===----------------------------------------------------------------------===//

Seeder::Seeder(const FunctionRules &rules, ArrayRef<AxisAttr> axes) : rules(rules), cuts(rules) {
  for (AxisAttr axis : axes)
    sharings.push_back({axis, Model(rules, axis), {}});
}

void Seeder::run(ZeroLevel level) {
  for (BlockArgument state : llvm::to_vector(sharings.front().model.getStates())) {
    SmallVector<Sharing *> own = getSharings(state);
    SmallVector<OpOperand *> reads = getReads(state, own);
    bool isParameter = !reads.empty();
    if (isParameter && level >= ZeroLevel::v2)
      shardGradients(state, own);
    if (isParameter && level < ZeroLevel::v3)
      continue;
    ShardingAttr whole = getWhole(state, own);
    shardState(state, own);
    if (getSharding(state) != whole)
      for (const auto &[value, uses] : getGathered(state, reads))
        gather(value, whole, uses);
  }
  for (const Sharing &sharing : sharings)
    if (!sharing.whole.empty())
      remarkWhole(sharing);
}

/// Whether the axis shards a dimension of a state that others shard as well: experts, which stay where they
/// are.
static bool isSpread(BlockArgument state, AxisAttr axis) {
  int64_t dim = getSharding(state).getDimOf(axis.getName());
  return dim >= 0 && getSharding(state).getDimAxes(dim).size() > 1;
}

/// The axes along which there are copies of a state: those of role `data`, and those that it is not split
/// over.
SmallVector<Seeder::Sharing *> Seeder::getSharings(BlockArgument state) {
  SmallVector<Sharing *> own;
  for (Sharing &sharing : sharings)
    if (!isSpread(state, sharing.axis) &&
        (sharing.axis.isData() || getSharding(state).getDimOf(sharing.axis.getName()) < 0))
      own.push_back(&sharing);
  return own;
}

/// The uses of a state that make it a parameter.
SmallVector<OpOperand *> Seeder::getReads(BlockArgument state, ArrayRef<Sharing *> own) const {
  SmallVector<OpOperand *> reads;
  for (OpOperand &use : state.getUses())
    if (llvm::any_of(own, [&](Sharing *sharing) { return sharing->model.isReadBy(use.getOwner()); }))
      reads.push_back(&use);
  return reads;
}

/// The dimensions of a state, those first that are best sharded: not what its update sums over, and not what
/// layers are stacked along; else the outermost.
SmallVector<int64_t> Seeder::getDims(BlockArgument state) const {
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, cast<RankedTensorType>(state.getType()).getRank()));
  auto getRank = [&](int64_t dim) {
    return std::tuple(cuts.isContracted(state, dim), cuts.isCut(state, dim), dim);
  };
  llvm::sort(dims, [&](int64_t a, int64_t b) { return getRank(a) < getRank(b); });
  return dims;
}

/// The sharding of a state with each axis on the first of these dimensions that can have it, if one can.
ShardingAttr Seeder::getSharded(BlockArgument state, ArrayRef<Sharing *> own) const {
  auto type = cast<RankedTensorType>(state.getType());
  ShardingAttr given = getSharding(state), sharding = given;
  SmallVector<int64_t> dims = getDims(state);
  for (Sharing *sharing : own) {
    auto canHaveIt = [&](int64_t dim) {
      int64_t parts = sharing->axis.getSize() * getAxesSize(rules.getMesh(), sharding.getDimAxes(dim));
      return given.getDimAxes(dim).empty() && !type.isDynamicDim(dim) && type.getDimSize(dim) % parts == 0;
    };
    const auto *dim = llvm::find_if(dims, canHaveIt);
    if (sharding.getDimOf(sharing->axis.getName()) < 0 && dim != dims.end())
      sharding = withAxisState(sharding, rules.getMesh(), sharing->axis.getName(), AxisState::sharded(*dim));
  }
  return sharding;
}

/// The sharding of a state that no axis shares.
ShardingAttr Seeder::getWhole(BlockArgument state, ArrayRef<Sharing *> own) const {
  ShardingAttr sharding = getSharding(state);
  for (Sharing *sharing : own)
    sharding = withAxisState(sharding, rules.getMesh(), sharing->axis.getName(), AxisState());
  return sharding;
}

/// A scalar has nothing to be sharded.
void Seeder::shardState(BlockArgument state, ArrayRef<Sharing *> own) {
  ShardingAttr sharding = getSharded(state, own);
  for (Sharing *sharing : own)
    if (sharding.getRank() > 0 && sharding.getDimOf(sharing->axis.getName()) < 0)
      sharing->whole.push_back(state);
  LDBG() << "state " << state.getArgNumber() << " " << sharding;
  ++(sharding == getSharding(state) ? numWhole : numShared);
  setSharding(state, sharding);
}

/// A reshard in the work of `work`.
ReshardOp Seeder::createReshard(OpBuilder &builder, Value value, ShardingAttr sharding,
                                Operation *work) const {
  auto reshard = ReshardOp::create(builder, value.getLoc(), value.getType(), value, sharding);
  copyWork(work, reshard);
  return reshard;
}

void Seeder::shardGradients(BlockArgument parameter, ArrayRef<Sharing *> own) {
  ShardingAttr sharding = getSharded(parameter, own);
  if (sharding == getWhole(parameter, own))
    return;
  llvm::SmallSetVector<Value, 2> gradients;
  for (Sharing *sharing : own)
    gradients.insert_range(sharing->model.getGradients(parameter));
  for (Value gradient : gradients) {
    OpBuilder builder(parameter.getContext());
    builder.setInsertionPointAfterValue(gradient);
    auto reshard = createReshard(builder, gradient, sharding, gradient.getDefiningOp());
    gradient.replaceAllUsesExcept(reshard, reshard);
  }
}

/// What an op makes of a parameter, element by element and on no batch, in fewer bytes: rounded to 16 bits.
/// Null if it makes anything else of it, or if the step returns that.
Value Seeder::getNarrowed(OpOperand &read) const {
  Operation *op = read.getOwner();
  if (!rules.hasPosition(op) || op->getNumResults() != 1 ||
      llvm::any_of(op->getUsers(), llvm::IsaPred<func::ReturnOp>) ||
      llvm::any_of(sharings, [&](const Sharing &sharing) { return sharing.model.isOfBatch(op); }))
    return {};
  Value result = op->getResult(0);
  const FactorRule &rule = rules.getRule(op);
  bool isAlike = isSameShape(read.get(), result) && rule.operands[read.getOperandNumber()] == rule.results[0];
  return isAlike && getBytes(result) < getBytes(read.get()) ? result : Value();
}

/// What is gathered for the reads of a parameter, and its uses.
Seeder::UsesOfValues Seeder::getGathered(BlockArgument parameter, ArrayRef<OpOperand *> reads) const {
  UsesOfValues gathered;
  for (OpOperand *read : reads)
    if (Value narrowed = getNarrowed(*read); !narrowed)
      gathered[parameter].push_back(read);
    else
      for (OpOperand &use : narrowed.getUses())
        gathered[narrowed].push_back(&use);
  return gathered;
}

/// Once for each work, before the first op of it that reads the parameter.
void Seeder::gather(Value parameter, ShardingAttr whole, ArrayRef<OpOperand *> reads) const {
  const Model &model = sharings.front().model;
  SmallVector<OpOperand *> uses(reads);
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
      ++numGathered;
    }
    use->set(copy);
  }
}

/// Says which states every device keeps whole although there are copies.
void Seeder::remarkWhole(const Sharing &sharing) const {
  int64_t bytes = 0;
  for (BlockArgument state : sharing.whole)
    bytes += getBytes(state);
  func::FuncOp function = rules.getFunction();
  InFlightDiagnostic remark =
      function.emitRemark() << "every device keeps all of " << sharing.whole.size() << " states of " << bytes
                            << " bytes: no dimension is left that axis \"" << sharing.axis.getName()
                            << "\" of size " << sharing.axis.getSize() << " divides";
  for (BlockArgument state : sharing.whole)
    remark.attachNote() << describeArgument(function, state.getArgNumber()) << " of " << state.getType();
}

namespace {
struct SeedZero : epl::impl::SeedZeroPassBase<SeedZero> {
  using SeedZeroPassBase::SeedZeroPassBase;

  void runOnOperation() override {
    FailureOr<SmallVector<Program>> programs = getPrograms(getOperation(), Shardings::ofArguments);
    if (failed(programs))
      return signalPassFailure();
    if (level == ZeroLevel::off)
      return;
    for (auto [function, mesh] : *programs) {
      FunctionRules rules(function, mesh);
      auto isShared = [&](AxisAttr axis) { return axis.getSize() > 1 && rules.isOfBatch(axis); };
      auto axes = llvm::filter_to_vector(mesh.getAxes().getAsRange<AxisAttr>(), isShared);
      if (!axes.empty())
        Seeder(rules, axes).run(level);
    }
  }
};
} // namespace
