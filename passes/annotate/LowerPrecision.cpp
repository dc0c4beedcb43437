//===- LowerPrecision.cpp - Contractions of bf16 that add up in f32 -------===//
//
// Problem: machines multiply bf16 faster than f32, and bf16 is half as large. But sums, functions such as the
// exponential, and parameters, to which small updates are added, need the digits of f32.
// Method: what a contraction reads is rounded to bf16 and widened again in its body. So it multiplies exactly
// and adds up in f32, a form that kernels know (passes/kernel/match). All else stays f32: none of what the
// deny list of EPL's level O1 names is a contraction. Those of the optimizer stay, too: EPL rewrites the
// forward graph alone, of which the backward one is made.
//   Where a value is rounded: see `Precision::getStamp`. Below ops that only arrange elements (transposes,
// reshapes, padding), so that a value and its transpose are rounded once, and kernels find what they join
// with a contraction right before it.
//
// Invariant in: a flat program, every op with its `epl.work`; equal values are one. Invariant out: the same.
// Reference: docs/design.md, 4.2; Micikevicius et al., "Mixed Precision Training", 2018; Kalamkar et al., "A
// Study of BFLOAT16 for Deep Learning Training", 2019.
//
//===----------------------------------------------------------------------===//

#include "dialect/Loops.h"
#include "dialect/SourceLocation.h"
#include "passes/annotate/Arrangements.h"
#include "passes/annotate/DeadOps.h"
#include "passes/annotate/NameStack.h"
#include "passes/annotate/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Support/DebugStringHelper.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-lower-precision"

namespace mlir::epl {
#define GEN_PASS_DEF_LOWERPRECISIONPASS
#include "passes/annotate/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;
using linalg::GenericOp;

ALWAYS_ENABLED_STATISTIC(numLowered, "Contractions that take operands of bf16");
ALWAYS_ENABLED_STATISTIC(numKept, "Contractions that stay what they are");
ALWAYS_ENABLED_STATISTIC(numRounded, "Values that are rounded");

static WorkAttr getWork(Operation *op) { return op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr); }

//===----------------------------------------------------------------------===//
// Which contractions
//===----------------------------------------------------------------------===//

/// Whether `op` multiplies two tensors and adds the products up.
static bool isContraction(GenericOp op) {
  if (op.getNumReductionLoops() == 0 || op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1)
    return false;
  bool isOther = llvm::any_of(op.getBody()->without_terminator(), [](Operation &inner) {
    return inner.getNumOperands() != 2 && !isa<CastOpInterface>(inner);
  });
  return !isOther && linalg::detail::isContractionBody(*op.getBody(), [](Operation *mul, Operation *add) {
    return (isa<arith::MulFOp>(mul) && isa<arith::AddFOp>(add)) ||
           (isa<arith::MulIOp>(mul) && isa<arith::AddIOp>(add));
  });
}

/// Whether a contraction is one of f32; operands may be bf16 already, not both.
static bool isOfF32(GenericOp op) {
  auto isElement = [](Value value) { return getElementTypeOrSelf(value).isF32(); };
  return isElement(op.getResult(0)) && llvm::any_of(op.getDpsInputs(), isElement) &&
         llvm::all_of(op.getDpsInputs(), [&](Value input) {
           return isa<RankedTensorType>(input.getType()) &&
                  (isElement(input) || getElementTypeOrSelf(input).isBF16());
         });
}

/// The ops that apply gradients: those of the kind apply, and those of the forward work on states alone that
/// nothing else reads, such as the roots of a preconditioner.
static DenseSet<Operation *> findApplied(func::FuncOp function) {
  Block &body = function.front();
  DenseSet<Operation *> ofStates, applied;
  auto isOfStates = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument ? !function.getArgAttr(argument.getArgNumber(), EplDialect::kBatchDimAttr)
                    : ofStates.contains(value.getDefiningOp());
  };
  for (Operation &op : body.without_terminator())
    if (!isa<LoopCarryOp>(op) && llvm::all_of(op.getOperands(), isOfStates))
      ofStates.insert(&op);
  auto applies = [&](OpOperand &use) {
    Operation *user = body.findAncestorOpInBlock(*use.getOwner());
    return isa<func::ReturnOp>(user)
               ? bool(function.getResultAttr(use.getOperandNumber(), EplDialect::kUpdatesAttr))
               : applied.contains(user);
  };
  for (Operation &op : llvm::reverse(body.without_terminator()))
    if (WorkKind kind = getWork(&op).getKind();
        kind == WorkKind::apply ||
        (kind == WorkKind::forward && ofStates.contains(&op) && llvm::all_of(op.getUses(), applies)))
      applied.insert(&op);
  return applied;
}

//===----------------------------------------------------------------------===//
// Rounding
//===----------------------------------------------------------------------===//

/// When work of a kind is done in a step.
static unsigned getOrder(WorkAttr work) {
  switch (work.getKind()) {
  case WorkKind::forward:
    return 0;
  case WorkKind::recompute:
    return 1;
  default:
    return 2;
  }
}

static bool isEarlier(WorkAttr left, WorkAttr right) { return getOrder(left) < getOrder(right); }

namespace {
/// Rounds what contractions of a function read.
class Precision {
public:
  Precision(Block &body, ArrayRef<GenericOp> contractions);

  void run();

private:
  /// Whether an input of a contraction is to be rounded.
  static bool isRounded(Value input) { return getElementTypeOrSelf(input).isF32(); }

  Value findSource(Value value);
  Value getSource(Value value) const;
  WorkAttr getStamp(Value source, WorkAttr reader) const;
  bool isReadInF32(Value value, Attribute taskgraph) const;
  Value round(Value value, WorkAttr stamp, Operation *reader);
  Value createRounded(Value value, WorkAttr stamp, Operation *reader);
  void lower(OpOperand &input, WorkAttr stamp);

  Block &body;
  SetVector<Operation *> contractions; ///< in program order
  /// The works of the contractions that read a value, arranged anyhow, in each task graph.
  DenseMap<std::pair<Value, Attribute>, SmallVector<WorkAttr>> readers;
  DenseSet<Value> arranged;                             ///< what is an arrangement of rounded elements
  DenseMap<std::pair<Value, Attribute>, Value> rounded; ///< by the value and the stamp of its rounding
};
} // namespace

Precision::Precision(Block &body, ArrayRef<GenericOp> contractions)
    : body(body), contractions(contractions.begin(), contractions.end()) {
  for (GenericOp op : contractions)
    for (Value input : op.getDpsInputs())
      if (isRounded(input))
        readers[{findSource(input), getWork(op).getTaskgraph()}].push_back(getWork(op));
}

/// Whether ops of a task graph, or any if it is null, read `value`, or elements of it that are arranged
/// otherwise, as f32.
bool Precision::isReadInF32(Value value, Attribute taskgraph) const {
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = body.findAncestorOpInBlock(*use.getOwner());
    if (contractions.contains(user) && cast<GenericOp>(user).isDpsInput(&use))
      return false;
    if (getArranged(user) == value)
      return isReadInF32(user->getResult(0), taskgraph);
    WorkAttr work = getWork(user); // the return has none
    return !taskgraph || (work && work.getTaskgraph() == taskgraph);
  });
}

/// What is rounded for a contraction that reads `value`: that of which `value` is an arrangement which
/// nothing reads as f32.
Value Precision::findSource(Value value) {
  Operation *maker = value.getDefiningOp();
  Value source = maker ? getArranged(maker) : Value();
  if (!source || isReadInF32(value, {}))
    return value;
  arranged.insert(value);
  return findSource(source);
}

Value Precision::getSource(Value value) const {
  while (arranged.contains(value))
    value = getArranged(value.getDefiningOp());
  return value;
}

/// The work that rounds `source` for a contraction of the work `reader`. Where the task graph of `reader` has
/// the value in bf16 alone, that is the work which makes it: what is kept or sent is half as large. Else it
/// is the first that reads it, so that the forward and the backward work share what is rounded. But what is
/// done again is not to keep the rounded value beside the one that it begins with.
WorkAttr Precision::getStamp(Value source, WorkAttr reader) const {
  Attribute taskgraph = reader.getTaskgraph();
  if (Operation *maker = source.getDefiningOp(); maker && !isReadInF32(source, taskgraph))
    return getWork(maker);
  SmallVector<WorkAttr> works = readers.lookup({source, taskgraph});
  if (reader.getKind() != WorkKind::forward)
    if (auto *again =
            llvm::find_if(works, [](WorkAttr work) { return work.getKind() == WorkKind::recompute; });
        again != works.end())
      return *again;
  return *std::min_element(works.begin(), works.end(), isEarlier);
}

/// An elementwise op that rounds `value`.
static Value createRounding(OpBuilder &builder, Location loc, Value value, WorkAttr stamp) {
  auto type = cast<RankedTensorType>(value.getType()).clone(builder.getBF16Type());
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
  auto empty = tensor::EmptyOp::create(builder, loc, type.getShape(), type.getElementType());
  auto op = GenericOp::create(builder, loc, type, value, empty.getResult(), ArrayRef{identity, identity},
                              iterators, [&](OpBuilder &inner, Location, ValueRange elements) {
                                Value element = arith::TruncFOp::create(inner, loc, type.getElementType(),
                                                                        elements.front());
                                linalg::YieldOp::create(inner, loc, element);
                              });
  empty->setAttr(EplDialect::kWorkAttr, stamp);
  op->setAttr(EplDialect::kWorkAttr, stamp);
  return op.getResult(0);
}

Value Precision::createRounded(Value value, WorkAttr stamp, Operation *reader) {
  OpBuilder builder(reader);
  if (!arranged.contains(value)) {
    LDBG() << describeOp(reader) << ": rounds " << value.getType() << " in " << stamp;
    ++numRounded;
    return createRounding(builder, renamePrimitive(reader->getLoc(), "round"), value, stamp);
  }
  // Where a reader rounds, what was arranged before it is arranged again behind the rounding.
  Operation *maker = value.getDefiningOp(), *sourceMaker = getSource(value).getDefiningOp();
  WorkAttr work = getWork(maker);
  bool isRoundedByMaker = sourceMaker && getWork(sourceMaker) == stamp;
  if (!isRoundedByMaker && (work.getTaskgraph() != stamp.getTaskgraph() || isEarlier(work, stamp)))
    work = stamp;
  return arrange(builder, maker, round(getArranged(maker), stamp, reader), work);
}

/// `value` in bf16, before `reader` if it is not there yet.
Value Precision::round(Value value, WorkAttr stamp, Operation *reader) {
  if (Value known = rounded.lookup({value, stamp}))
    return known;
  Value made = createRounded(value, stamp, reader);
  rounded[{value, stamp}] = made;
  return made;
}

/// Has a contraction read `input` rounded in the work `stamp`, and widen it.
void Precision::lower(OpOperand &input, WorkAttr stamp) {
  auto op = cast<GenericOp>(input.getOwner());
  input.set(round(input.get(), stamp, op));
  BlockArgument element = op.getMatchingBlockArgument(&input);
  Type wide = element.getType();
  element.setType(getElementTypeOrSelf(input.get()));
  OpBuilder builder = OpBuilder::atBlockBegin(op.getBody());
  auto widened = arith::ExtFOp::create(builder, op.getLoc(), wide, element);
  element.replaceAllUsesExcept(widened, widened);
}

void Precision::run() {
  // Who reads what is asked before anything reads other values.
  SmallVector<std::pair<OpOperand *, WorkAttr>> roundings;
  for (Operation *contraction : contractions)
    for (OpOperand *input : cast<GenericOp>(contraction).getDpsInputOperands())
      if (isRounded(input->get()))
        roundings.push_back({input, getStamp(getSource(input->get()), getWork(contraction))});
  for (auto [input, stamp] : roundings)
    lower(*input, stamp);
  numLowered += contractions.size();
}

//===----------------------------------------------------------------------===//
// What is said
//===----------------------------------------------------------------------===//

namespace {
/// Remarks at lines of the user's, equal ones once.
class Remarks {
public:
  void add(Operation *op, const Twine &text) {
    auto line = StringAttr::get(op->getContext(), describeOp(op) + text);
    ++remarks.insert({line, {(getOpName(op) + text).str(), op->getLoc(), 0}}).first->second.count;
  }

  void emit() const {
    for (const Remark &remark : llvm::make_second_range(remarks)) {
      InFlightDiagnostic shown = emitRemark(remark.location) << remark.text;
      if (remark.count > 1)
        shown << "; " << remark.count << " like this";
    }
  }

private:
  struct Remark {
    std::string text;
    Location location;
    unsigned count;
  };
  llvm::MapVector<StringAttr, Remark> remarks; ///< by the text with its line
};
} // namespace

static bool makesF32(Operation &op) {
  return llvm::any_of(op.getResultTypes(), [](Type type) {
    return isa<RankedTensorType>(type) && getElementTypeOrSelf(type).isF32();
  });
}

/// "add 12, exp 2": the ops that compute in f32 and are no contractions, the most frequent first.
static std::string listOthers(Block &body) {
  llvm::MapVector<StringAttr, unsigned> counts;
  for (Operation &op : body.without_terminator()) {
    auto generic = dyn_cast<GenericOp>(op);
    bool copies = generic && generic.getBody()->without_terminator().empty();
    if (makesF32(op) && !op.hasTrait<OpTrait::ConstantLike>() && !isa<tensor::EmptyOp>(op) && !copies &&
        !getArranged(&op) && !(generic && isContraction(generic)))
      ++counts[StringAttr::get(op.getContext(), getOpName(&op))];
  }
  auto sorted = counts.takeVector();
  llvm::sort(sorted, [](auto &left, auto &right) {
    return std::pair(right.second, left.first.getValue()) < std::pair(left.second, right.first.getValue());
  });
  std::string text;
  for (const auto &[name, count] : sorted)
    text += (text.empty() ? "" : ", ") + name.str() + " " + std::to_string(count);
  return text;
}

static void lowerPrecision(func::FuncOp function, bool explain) {
  Block &body = function.front();
  DenseSet<Operation *> applied = findApplied(function);
  SmallVector<GenericOp> lowered;
  Remarks remarks;
  for (auto op : body.getOps<GenericOp>()) {
    if (!isContraction(op))
      continue;
    bool isApplied = applied.contains(op);
    if (isOfF32(op) && !isApplied) {
      lowered.push_back(op);
      remarks.add(op, " takes operands of bf16 and adds up in f32");
      continue;
    }
    ++numKept;
    std::string type = debugString(getElementTypeOrSelf(op.getDpsInputs().front()));
    remarks.add(op, isApplied ? " stays " + type + ", as it applies gradients"
                              : " multiplies " + type + " anyway");
  }
  if (explain) {
    std::string others = listOthers(body);
    remarks.emit();
    emitRemark(function.getLoc()) << "what is no contraction stays f32: "
                                  << (others.empty() ? "nothing" : others);
  }
  Precision(body, lowered).run();
  eraseDeadOps(body); // what is arranged in bf16 only
}

/// Fails, with an error, unless a function is a flat list of ops that have their work.
static LogicalResult verifyWork(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("has control flow, expected one block that returns");
  for (Operation &op : function.front().without_terminator())
    if (!getWork(&op))
      return op.emitError() << "'" << op.getName() << "' op has no \"" << EplDialect::kWorkAttr
                            << "\", expected it from \"epl-flatten-scopes\"";
  return success();
}

namespace {
struct LowerPrecisionPass : epl::impl::LowerPrecisionPassBase<LowerPrecisionPass> {
  using LowerPrecisionPassBase::LowerPrecisionPassBase;

  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    if (failed(verifyWork(getOperation())))
      return signalPassFailure();
    lowerPrecision(getOperation(), explain);
  }
};
} // namespace
