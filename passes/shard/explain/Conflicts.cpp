//===- Conflicts.cpp - Shardings that were wanted and dropped -------------===//
//
// Problem: where two shardings of a value are wanted one is dropped, and the value moves; who wants to avoid
//   that must know what else was wanted, and why it won.
// Method: an operand that is split over an axis otherwise than its use needs it was dropped. Kept is what
//   the op or the user says, else the operands that are as their uses need them. Which of those wins is
//   `FunctionRules::chooseFactor`'s matter; here its reasons are told. Equal remarks, but for the number of a
//   layer, are one. An operand that its op needs whole is no conflict: nothing else was wanted.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/explain/Conflicts.h"

#include "dialect/Bytes.h"
#include "dialect/SourceLocation.h"
#include "passes/shard/analysis/Describe.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace mlir::epl;

/// "params['w'] f32[8, 4/data]".
static std::string describeSharded(Value value) {
  return describeMaker(value) + " " + describeTensor(value, getSharding(value).withoutPartial());
}

static std::string describeBytes(int64_t bytes) { return std::to_string(bytes) + " bytes"; }

namespace {
/// The conflicts of one axis.
class ConflictFinder {
public:
  ConflictFinder(const FunctionRules &rules, const AxisPlacement &placement, AxisAttr axis)
      : rules(rules), placement(placement), axis(axis) {}

  /// The remark about an op, empty if nothing was dropped for something else.
  std::string describe(Operation *op) {
    SmallVector<OpOperand *> kept, dropped;
    auto writing = dyn_cast<DestinationStyleOpInterface>(op);
    for (OpOperand &use : op->getOpOperands())
      if (writing && writing.isDpsInit(&use)) // follows the result
        continue;
      else if (AxisState own = getOwn(use.get()); own.isSharded())
        (placement.getNeededState(use) == own ? kept : dropped).push_back(&use);
    if (dropped.empty())
      return "";
    if (isa<func::ReturnOp>(op))
      return describeReturn(*dropped.front());
    std::string winner = describeWinner(op, kept);
    if (winner.empty())
      return "";
    std::string text = "axis \"" + axis.getName().str() + "\": " + winner + "; dropped: ";
    llvm::raw_string_ostream os(text);
    llvm::interleaveComma(dropped, os, [&](OpOperand *use) {
      os << describeSharded(use->get()) << describeReason(*use, kept);
    });
    return text;
  }

private:
  AxisState getOwn(Value value) const {
    Operation *maker = value.getDefiningOp();
    bool wants =
        isa<RankedTensorType>(value.getType()) && !(maker && isUniform(maker)); // else made as needed
    ShardingAttr sharding = wants ? getSharding(value) : ShardingAttr();
    return sharding ? getAxisState(sharding, axis.getName()) : AxisState();
  }

  /// A state returns as it came in, whatever the step makes of it.
  std::string describeReturn(OpOperand &use) const {
    BlockArgument updated = rules.getUpdatedArgument(use.getOperandNumber());
    if (!updated)
      return "";
    return "axis \"" + axis.getName().str() + "\": between steps " + describeSharded(updated) +
           " is kept so; dropped: its update by " + describeSharded(use.get());
  }

  static int64_t sumBytes(ArrayRef<OpOperand *> uses) {
    int64_t bytes = 0;
    for (OpOperand *use : uses)
      bytes += getBytes(use->get());
    return bytes;
  }

  std::string describeWinner(Operation *op, ArrayRef<OpOperand *> kept) const {
    if (auto constrain = dyn_cast<ConstrainOp>(op)) {
      int64_t dim = constrain.getConstraint().getDimOf(axis.getName()).value_or(-1);
      return describeOp(op) + " says " + (dim < 0 ? "whole" : "dimension " + std::to_string(dim));
    }
    if (!kept.empty())
      return describeOp(op) + " keeps " + describeSharded(kept.front()->get()) + " (" +
             describeBytes(sumBytes(kept)) + (kept.size() > 1 ? " with others alike)" : ")");
    bool isSharded = llvm::any_of(op->getResults(), [&](Value result) { return getOwn(result).isSharded(); });
    if (!isSharded)
      return "";
    return describeOp(op) +
           (rules.getUse(op, axis) == AxisUse::batch ? ", whose scope shares the batch, makes "
                                                     : " makes what is read of it, ") +
           describeTensor(op->getResult(0), getSharding(op->getResult(0)).withoutPartial());
  }

  std::string describeReason(OpOperand &use, ArrayRef<OpOperand *> kept) const {
    Operation *op = use.getOwner();
    ArrayRef<int64_t> factors = rules.getRule(op).operands[use.getOperandNumber()];
    if (kept.empty() || factors.empty())
      return "";
    int64_t own = getBytes(use.get()), others = sumBytes(kept), factor = factors[getOwn(use.get()).dim];
    std::string bytes = " (" + describeBytes(own) + "), ";
    if (!rules.canShard(op, factor, axis))
      return bytes + "the op cannot be split so";
    if (llvm::is_contained(rules.getRule(op).lookups, factor))
      return bytes + "what is looked up comes second";
    if (own == others)
      return bytes + "as many, but a later dimension of the op";
    return bytes + (own < others ? "fewer" : "samples come second in a split scope");
  }

  const FunctionRules &rules;
  const AxisPlacement &placement;
  AxisAttr axis;
};

/// A remark at the first of the ops that it is about.
struct Conflict {
  std::string text;
  Location location;
  unsigned count = 0;
};
} // namespace

/// What is the same for all layers: numbers in brackets are left out.
static std::string getKind(std::string text) {
  static const llvm::Regex number(R"re(\[[0-9]+\]\[)re");
  while (number.match(text))
    text = number.sub("[*][", text);
  return text;
}

void mlir::epl::explainConflicts(const FunctionRules &rules, ArrayRef<AxisPlacement> placements) {
  llvm::MapVector<StringAttr, Conflict> conflicts;
  auto axes = rules.getMesh().getAxes().getAsRange<AxisAttr>();
  for (Operation &op : rules.getFunction().getBody().front())
    for (auto [axis, placement] : llvm::zip_equal(axes, placements)) {
      std::string text = ConflictFinder(rules, placement, axis).describe(&op);
      if (text.empty())
        continue;
      auto kind = StringAttr::get(op.getContext(), getKind(text));
      ++conflicts.insert({kind, Conflict{text, op.getLoc()}}).first->second.count;
    }
  for (const auto &[kind, conflict] : conflicts) {
    InFlightDiagnostic remark = emitRemark(conflict.location) << conflict.text;
    if (conflict.count > 1)
      remark << "; " << conflict.count << " like this";
  }
}
