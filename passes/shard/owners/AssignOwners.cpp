//===- AssignOwners.cpp - Parameters belong to one device -----------------===//
//
// Problem: under data parallelism every device keeps and updates a copy of the optimizer's state. ZeRO shares
// it in slices (SeedZero.cpp), which an update of whole matrices (Muon, Shampoo) puts together again.
// Method: what leads to the new values of one group of states only (OwnerGroups.h) is done by one device.
// Groups are dealt out greedily, as Paddle's Reduce mode does: in the order of their gradients, each to the
// coordinate with the fewest elements of parameters so far, unless `epl.owner` of a state says which; of
// several axes of role data on the longest. The program then says by types who has what:
//
//     all_reduce that only owned work reads     reduce to the owner
//     owned op                                  its result has the owner in its sharding
//     state that only owned work reads          so has the argument, and the result that updates it
//     new value that others read, too           broadcast
//
// Invariant in: the output of `epl-localize`. Invariant out: the same; what has an owner is read by work of
// that owner and by broadcasts only. Reference: S. Rajbhandari et al., "ZeRO", 2020; PaddlePaddle 2.6,
// BuildStrategy.ReduceStrategy.Reduce.
//
//===----------------------------------------------------------------------===//

#include "dialect/Sharding.h"
#include "passes/shard/Passes.h"
#include "passes/shard/owners/OwnerGroups.h"
#include "passes/shard/tasks/TaskPartition.h"

#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/analysis/Describe.h"

#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-assign-owners"

namespace mlir::epl {
#define GEN_PASS_DEF_ASSIGNOWNERSPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numGroups, "Groups of states that have an owner");
ALWAYS_ENABLED_STATISTIC(numHeld, "States that only their owner has");
ALWAYS_ENABLED_STATISTIC(numReduces, "Sums that only an owner gets");

/// The verifier of plans tells no more ranks apart (runtime/plan/model/CaseMap.h).
static constexpr int64_t kMostOwners = 64;

/// The coordinate of each group: what its states say, or that with the fewest elements so far, the first of
/// equal ones.
static SmallVector<int64_t> dealOut(ArrayRef<OwnerGroup> groups, int64_t numMembers) {
  SmallVector<int64_t> loads(numMembers), coordinates;
  for (const OwnerGroup &group : groups) {
    coordinates.push_back(group.owner.value_or(llvm::min_element(loads) - loads.begin()));
    loads[coordinates.back()] += group.numElements;
  }
  return coordinates;
}

namespace {
/// Gives the groups of one function their owners.
class OwnerWriter {
public:
  OwnerWriter(func::FuncOp function, MeshOp mesh, AxisAttr axis)
      : function(function), body(function.front()), groups(function, mesh, axis.getName()) {
    for (int64_t coordinate : dealOut(groups.getGroups(), axis.getSize()))
      owners.push_back(OwnerAttr::get(function.getContext(), axis.getName(), coordinate));
  }

  void run(bool explains) {
    for (Operation &op : body.without_terminator())
      if (OwnerAttr owner = getOwner(&op))
        setOwner(op, owner);
    for (auto sum : llvm::make_early_inc_range(body.getOps<AllReduceOp>()))
      if (std::optional<unsigned> reader = groups.getReader(sum))
        reduce(sum, owners[*reader]);
    for (auto [group, owner] : llvm::zip_equal(groups.getGroups(), owners)) {
      ++numGroups;
      LDBG() << group.results.size() << " states, " << group.numElements << " elements of parameters: \""
             << owner.getAxis() << "\" = " << owner.getCoordinate();
      if (explains) // while each result has the type of the state that it updates
        remark(group, owner);
      for (unsigned result : group.results)
        giveState(result, owner);
    }
    for (unsigned index = 0; index < function.getNumArguments(); ++index)
      function.removeArgAttr(index, EplDialect::kOwnerAttr);
    function.setType(FunctionType::get(function.getContext(), body.getArgumentTypes(),
                                       body.getTerminator()->getOperandTypes()));
  }

private:
  OwnerAttr getOwner(Operation *op) const {
    std::optional<unsigned> group = groups.getGroup(op);
    return group ? owners[*group] : OwnerAttr();
  }

  static DistType withOwner(Type type, OwnerAttr owner) {
    auto dist = cast<DistType>(type);
    return DistType::get(type.getContext(), dist.getGlobal(), dist.getSharding().withOwner(owner));
  }

  static void setOwner(Operation &op, OwnerAttr owner) {
    for (Value result : op.getResults())
      if (isa<DistType>(result.getType()))
        result.setType(withOwner(result.getType(), owner));
    auto shardings = op.getAttrOfType<ArrayAttr>(EplDialect::kShardingAttr);
    if (!shardings)
      return;
    auto owned = llvm::map_to_vector(shardings.getAsRange<ShardingAttr>(), [&](ShardingAttr sharding) {
      return Attribute(sharding.withOwner(owner));
    });
    op.setAttr(EplDialect::kShardingAttr, ArrayAttr::get(op.getContext(), owned));
  }

  /// Only the owner completes the sum over its axis; over other axes those that it is complete it then.
  void reduce(AllReduceOp sum, OwnerAttr owner) {
    OpBuilder builder(sum);
    auto from = cast<DistType>(sum.getOperand(0).getType()), to = cast<DistType>(sum.getResult(0).getType());
    SmallVector<StringRef> left = llvm::filter_to_vector(
        from.getSharding().getPartialAxes(), [&](StringRef axis) { return axis != owner.getAxis(); });
    auto owned =
        ShardingAttr::get(sum.getContext(), to.getSharding().getMesh(), to.getSharding().getDims(),
                          builder.getStrArrayAttr(left),
                          left.empty() ? ReductionKind::sum : from.getSharding().getReduction(), owner);
    auto type = DistType::get(sum.getContext(), to.getGlobal(), owned);
    auto reduced = ReduceOp::create(builder, sum.getLoc(), TypeRange{type}, sum.getOperands());
    reduced->setDiscardableAttrs(sum->getDiscardableAttrDictionary());
    Value result = reduced.getResult(0);
    if (DistType whole = withOwner(to, owner); whole != type) {
      auto rest = AllReduceOp::create(builder, sum.getLoc(), TypeRange{whole}, result);
      rest->setDiscardableAttrs(sum->getDiscardableAttrDictionary());
      result = rest.getResult(0);
    }
    sum.getResult(0).replaceAllUsesWith(result);
    sum.erase();
    ++numReduces;
  }

  /// The state and its new value are the owner's, or all members get the new value.
  void giveState(unsigned result, OwnerAttr owner) {
    if (groups.isHeldByOwner(result)) {
      BlockArgument state = getUpdatedArgument(function, result);
      state.setType(withOwner(state.getType(), owner));
      ++numHeld;
      return;
    }
    Value sent = broadcast(groups.getNewValue(result));
    body.getTerminator()->setOperand(result, sent);
  }

  /// What all members have of an owned tensor. Those who read it there read that, but for its owner.
  Value broadcast(Value owned) {
    Value &sent = broadcasts[owned];
    if (sent)
      return sent;
    auto cast = *llvm::find_if(owned.getUsers(), [&](Operation *user) {
      return isa<FromLocalOp>(user) && getOwner(user) &&
             llvm::any_of(user->getUsers(), llvm::IsaPred<func::ReturnOp>);
    });
    Value source = cast->getResult(0);
    OpBuilder builder(cast->getContext());
    builder.setInsertionPointAfter(owned.getDefiningOp());
    cast->moveBefore(builder.getInsertionBlock(), builder.getInsertionPoint());
    builder.setInsertionPointAfter(cast);
    auto op =
        BroadcastOp::create(builder, owned.getLoc(), TypeRange{withOwner(source.getType(), {})}, source);
    copyWork(owned.getDefiningOp(), op);
    sent = op.getResult(0);
    SmallVector<OpOperand *> others;
    for (OpOperand &use : owned.getUses())
      if (!getOwner(body.findAncestorOpInBlock(*use.getOwner())))
        others.push_back(&use);
    if (!others.empty()) {
      auto local = ToLocalOp::create(builder, owned.getLoc(), owned.getType(), sent);
      llvm::for_each(others, [&](OpOperand *use) { use->set(local); });
    }
    return sent;
  }

  void remark(const OwnerGroup &group, OwnerAttr owner) {
    std::string names;
    for (unsigned result : group.results)
      names += (names.empty() ? "" : ", ") + describeMaker(getUpdatedArgument(function, result));
    function.emitRemark() << "\"" << owner.getAxis() << "\" = " << owner.getCoordinate() << " owns " << names
                          << ": " << group.numElements << " elements of parameters";
  }

  func::FuncOp function;
  Block &body;
  OwnerGroups groups;
  SmallVector<OwnerAttr> owners; ///< of each group
  DenseMap<Value, Value> broadcasts;
};

struct AssignOwnersPass : epl::impl::AssignOwnersPassBase<AssignOwnersPass> {
  using AssignOwnersPassBase::AssignOwnersPassBase;

  void runOnOperation() override {
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && failed(assignOwners(function)))
        return signalPassFailure();
  }

  LogicalResult assignOwners(func::FuncOp function) {
    FailureOr<MeshOp> mesh = getMesh(function);
    if (failed(mesh))
      return failure();
    auto axes = llvm::filter_to_vector(mesh->getAxes().getAsRange<AxisAttr>(),
                                       [](AxisAttr axis) { return axis.isData() && axis.getSize() > 1; });
    if (axes.empty())
      return success();
    AxisAttr axis =
        *llvm::max_element(axes, [](AxisAttr a, AxisAttr b) { return a.getSize() < b.getSize(); });
    if (axis.getSize() > kMostOwners)
      return function.emitOpError() << "is on mesh \"" << mesh->getSymName() << "\" with axis \""
                                    << axis.getName() << "\" of size " << axis.getSize()
                                    << ", expected at most " << kMostOwners
                                    << ": a plan is proved for each owner by itself";
    if (failed(checkOwners(function, axis)))
      return failure();
    OwnerWriter(function, *mesh, axis).run(explain);
    return success();
  }

  /// What the input says of owners is on the axis.
  static LogicalResult checkOwners(func::FuncOp function, AxisAttr axis) {
    for (unsigned index = 0; index < function.getNumArguments(); ++index)
      if (auto owner = function.getArgAttrOfType<IntegerAttr>(index, EplDialect::kOwnerAttr);
          owner && (owner.getInt() < 0 || owner.getInt() >= axis.getSize()))
        return function.emitOpError() << "state \"" << describeMaker(function.getArgument(index))
                                      << "\" has owner " << owner.getInt() << ", expected 0 to "
                                      << axis.getSize() - 1 << " on axis \"" << axis.getName() << "\"";
    return success();
  }
};
} // namespace
