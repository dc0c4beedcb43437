//===- Causes.cpp - Why values change their distribution ------------------===//
//
// Problem: a collective stands where a tensor moves; people ask which of their lines made it necessary.
// Method: of each reshard, one sentence: the tensor as it is and as it is to be; who made it so, for a
//   pending sum the op that summed first, seen through what passes the sum on; who reads it, seen through
//   further reshards, or which mesh it is sent to. Equal ops of one line are one reader.
// Invariant in: the program is placed. Invariant out: the same, with an `epl.cause` on each reshard.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/explain/Causes.h"

#include "dialect/SourceLocation.h"
#include "passes/shard/analysis/Describe.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::epl;

using Axes = SmallVector<StringRef>;

namespace {
/// One reshard, with the axes on which it changes something.
class Cause {
public:
  Cause(ReshardOp op, MeshOp mesh)
      : before(op.getOperand()), after(op.getResult()), from(getSharding(before)), to(op.getSharding()) {
    for (AxisAttr axis : mesh.getAxes().getAsRange<AxisAttr>())
      if (getAxisState(from, axis.getName()) != getAxisState(to, axis.getName()))
        changed.push_back(axis.getName());
  }

  std::string describe() const {
    return describeChange() + ": " + describeMaker(findMaker()) + " " + describeBefore() + "; " +
           describeReaders() + " " + describeAfter();
  }

private:
  /// The tensor, and what becomes of its parts.
  std::string describeChange() const {
    std::string text = describeTensor(before, from.withoutPartial());
    return from.getDims() == to.getDims() ? text
                                          : text + " -> " + describeTensor(before, to.withoutPartial());
  }

  template <typename Predicate> Axes filter(ShardingAttr sharding, Predicate predicate) const {
    Axes found;
    llvm::copy_if(changed, std::back_inserter(found),
                  [&](StringRef axis) { return predicate(getAxisState(sharding, axis)); });
    return found;
  }
  Axes getPending(ShardingAttr sharding) const {
    return filter(sharding, [](AxisState state) { return state.partial.has_value(); });
  }
  Axes getSplitting(ShardingAttr sharding) const {
    return filter(sharding, [](AxisState state) { return state.isSharded(); });
  }

  /// Where the value got what is changed here: of a pending one the op that reduces.
  Value findMaker() const {
    Axes pending = getPending(from);
    auto isPendingToo = [&](Value value) {
      ShardingAttr sharding = isa<RankedTensorType>(value.getType()) ? getSharding(value) : ShardingAttr();
      return sharding && llvm::any_of(sharding.getPartialAxes(),
                                      [&](StringRef axis) { return llvm::is_contained(pending, axis); });
    };
    Value value = before;
    llvm::SmallPtrSet<Operation *, 8> seen;
    while (Operation *maker = value.getDefiningOp()) {
      auto isEarlier = [&](Value operand) {
        return isPendingToo(operand) && !operand.getDefiningOp<LoopCarryOp>();
      };
      auto next = llvm::find_if(maker->getOperands(), isEarlier);
      if (next == maker->getOperands().end() || !seen.insert(maker).second)
        break;
      value = *next;
    }
    return value;
  }

  std::string describeBefore() const {
    Axes pending = getPending(from), splitting = getSplitting(from);
    std::string text;
    if (!pending.empty())
      text = (from.getReduction() == ReductionKind::sum
                  ? "sums"
                  : "takes the " + stringifyReductionKind(from.getReduction()).str()) +
             " over " + llvm::join(pending, ", ");
    if (!splitting.empty())
      text += (text.empty() ? "is split over " : " and is split over ") + llvm::join(splitting, ", ");
    return text.empty() ? "is whole" : text;
  }

  std::string describeAfter() const {
    if (Axes splitting = getSplitting(to); !splitting.empty())
      return "its part over " + llvm::join(splitting, ", ");
    if (!getPending(to).empty())
      return "it once";
    return getPending(from).empty() ? "all of it"
                                    : "the " + stringifyReductionKind(from.getReduction()).str();
  }

  /// The uses of `value`, seen through further reshards.
  static void collectUses(Value value, SmallVectorImpl<OpOperand *> &uses) {
    for (OpOperand &use : value.getUses())
      if (auto reshard = dyn_cast<ReshardOp>(use.getOwner()))
        collectUses(reshard.getResult(), uses);
      else
        uses.push_back(&use);
  }

  /// The first reader in program order, and how many others there are; where no op of this mesh reads it, who
  /// is sent it; where nobody is, the step's caller.
  std::string describeReaders() const {
    SmallVector<OpOperand *> uses;
    collectUses(after, uses);
    Block &body = *Value(before).getParentBlock();
    llvm::sort(uses, [&](OpOperand *a, OpOperand *b) {
      Operation *first = body.findAncestorOpInBlock(*a->getOwner());
      Operation *second = body.findAncestorOpInBlock(*b->getOwner());
      return first == second ? a->getOperandNumber() < b->getOperandNumber() : first->isBeforeInBlock(second);
    });
    std::vector<std::string> readers, receivers;
    auto add = [](std::vector<std::string> &names, std::string name) {
      if (!llvm::is_contained(names, name))
        names.push_back(std::move(name));
    };
    for (OpOperand *use : uses)
      if (Operation *reader = body.findAncestorOpInBlock(*use->getOwner()); !isa<func::ReturnOp>(reader))
        add(readers, describeOp(reader));
      else if (std::string receiver = describeReceiver(*use); !receiver.empty())
        add(receivers, std::move(receiver));
    if (readers.empty() && receivers.empty())
      return "the step returns";
    return readers.empty() ? describeAll(receivers, "is sent", "are sent")
                           : describeAll(readers, "reads", "read");
  }

  /// "a reads", "a and 2 others read".
  static std::string describeAll(ArrayRef<std::string> names, const std::string &one,
                                 const std::string &several) {
    size_t others = names.size() - 1;
    if (others == 0)
      return names.front() + " " + one;
    return names.front() + " and " + std::to_string(others) + (others == 1 ? " other " : " others ") +
           several;
  }

  /// The scope on whose devices a result is received, or else their mesh; empty if the caller gets it.
  static std::string describeReceiver(OpOperand &result) {
    auto function = result.getOwner()->getParentOfType<func::FuncOp>();
    Attribute channel = function.getResultAttr(result.getOperandNumber(), EplDialect::kChannelAttr);
    MeshOp mesh = channel ? findReceiver(function->getParentOfType<ModuleOp>(), channel) : MeshOp();
    if (!mesh)
      return {};
    for (TaskGraphOp taskgraph : getTaskGraphs(mesh))
      if (std::optional<StringRef> name = taskgraph.getScopeName())
        return ("scope \"" + *name + "\"").str();
    return ("mesh \"" + mesh.getSymName() + "\"").str();
  }

  /// The mesh that receives a channel.
  static MeshOp findReceiver(ModuleOp module, Attribute channel) {
    for (auto function : module.getOps<func::FuncOp>())
      for (unsigned index = 0; index < function.getNumArguments(); ++index)
        if (function.getArgAttr(index, EplDialect::kChannelAttr) == channel)
          return module.lookupSymbol<MeshOp>(
              function->getAttrOfType<FlatSymbolRefAttr>(EplDialect::kMeshAttr).getAttr());
    return {};
  }

  Value before, after;
  ShardingAttr from, to;
  Axes changed;
};
} // namespace

void mlir::epl::explainReshards(func::FuncOp program, MeshOp mesh) {
  for (auto reshard : program.getOps<ReshardOp>())
    reshard->setAttr(EplDialect::kCauseAttr,
                     StringAttr::get(program.getContext(), Cause(reshard, mesh).describe()));
}

void mlir::epl::remarkSums(func::FuncOp program) {
  llvm::MapVector<StringAttr, SmallVector<ReshardOp>> sums;
  for (auto reshard : program.getOps<ReshardOp>())
    if (getSharding(reshard.getOperand()).getPartialAxes() != reshard.getSharding().getPartialAxes())
      sums[reshard->getAttrOfType<StringAttr>(EplDialect::kCauseAttr)].push_back(reshard);
  for (auto &[cause, reshards] : sums) {
    InFlightDiagnostic remark = reshards.front().emitRemark() << "completed: " << cause.getValue();
    if (reshards.size() > 1)
      remark << "; " << reshards.size() << " like this";
  }
}
