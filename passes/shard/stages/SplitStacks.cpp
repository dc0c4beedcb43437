//===- SplitStacks.cpp - Rows of stacked parameters are with their layers -===//
//
// Problem: parameters of layers that are alike are one argument, stacked [L, ..], and an argument is on one
//   mesh. Where the layers are stages of a pipeline, that mesh would hold the parameters, and what the
//   optimizer keeps, of all layers, send each stage its rows in every step, and fetch their gradients.
// Method: rows are members of an axis that only this pass has (StackRows.h). Stacks are sharded over it; the
//   lattice of `epl-propagate` says what else has rows, from the gradients, which are concatenations or sums
//   of padded rows, to the next values; placement says where sums over all rows are completed, such as the
//   norm of all gradients. Then each op on rows is written for each member, as work of the stage that its
//   rows are in (StackWriter.h), and the argument is one for each member.
// Invariant in: a global program, every op with its `epl.work`, every task graph on a mesh; loops whose
//   iterations are on several meshes are unrolled.
// Invariant out: the same. Arguments and results say their position among those of the caller, and those of
//   rows which ones these are (`epl.caller_rows`).
// Reference: docs/design.md, 4.3.
//
//===----------------------------------------------------------------------===//

#include "dialect/Loops.h"
#include "passes/shard/Passes.h"
#include "passes/shard/analysis/AxisState.h"
#include "passes/shard/analysis/Elementwise.h"
#include "passes/shard/analysis/Rules.h"
#include "passes/shard/analysis/TaskGraphAxes.h"
#include "passes/shard/place/PlaceOnAxis.h"
#include "passes/shard/stages/StackWriter.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "epl-split-stacks"

namespace mlir::epl {
#define GEN_PASS_DEF_SPLITSTACKSPASS
#include "passes/shard/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

ALWAYS_ENABLED_STATISTIC(numStacks, "Stacked parameters that were cut");
ALWAYS_ENABLED_STATISTIC(numRows, "Arguments that they and what goes with them became");

/// Of the axis and of its mesh, while the pass runs.
static constexpr llvm::StringLiteral kRows = "rows";

//===----------------------------------------------------------------------===//
// Where rows come together
//===----------------------------------------------------------------------===//

/// Whether a concatenation has rows of several meshes, and each member's by themselves.
static bool joinsRows(ConcatenateOp op, const Stacks &stacks, const WorkMeshes &meshes) {
  int64_t size = stacks.getRowsOfMember(), offset = 0, aligned = 0;
  llvm::SmallDenseSet<StringAttr> makers;
  for (Value operand : op.getOperands()) {
    aligned += offset % size == 0;
    offset += cast<RankedTensorType>(operand.getType()).getDimSize(0);
    if (Operation *maker = operand.getDefiningOp())
      makers.insert(meshes.get(maker));
  }
  return op.getDim() == 0 && offset == stacks.rows && aligned == stacks.getNumMembers() && makers.size() > 1;
}

/// Says of what is put together of rows that members have it, but of those numbers in program order that are
/// in `whole`. Gives the constraints by number.
static DenseMap<Operation *, unsigned> constrainRows(func::FuncOp function, const Stacks &stacks,
                                                     const DenseSet<unsigned> &whole) {
  WorkMeshes meshes(function->getParentOfType<ModuleOp>());
  DenseMap<Operation *, unsigned> numbers;
  unsigned next = 0;
  for (Operation &op : llvm::make_early_inc_range(function.front())) {
    auto concatenate = dyn_cast<ConcatenateOp>(op);
    auto pad = dyn_cast<tensor::PadOp>(op);
    bool isOfRows = concatenate ? joinsRows(concatenate, stacks, meshes)
                                : pad && pad.getResultType().getDimSize(0) == stacks.rows &&
                                      pad.getSourceType().getDimSize(0) < stacks.rows;
    if (!isOfRows || whole.contains(next++))
      continue;
    Value value = op.getResult(0);
    SmallVector<SmallVector<StringRef>> dims(cast<RankedTensorType>(value.getType()).getRank());
    dims[0].push_back(kRows);
    OpBuilder builder(op.getContext());
    builder.setInsertionPointAfter(&op);
    auto constrain = ConstrainOp::create(builder, op.getLoc(), value.getType(), value,
                                         ConstraintAttr::get(op.getContext(), dims, {}));
    copyWork(&op, constrain);
    value.replaceAllUsesExcept(constrain, constrain);
    numbers[constrain] = next - 1;
  }
  return numbers;
}

//===----------------------------------------------------------------------===//
// The axis
//===----------------------------------------------------------------------===//

/// Stacks of a function of which this is a clone are sharded. What else the caller keeps may become so, but
/// for what has rows of its own.
static SmallVector<BlockArgument> seed(func::FuncOp function, MeshOp mesh, const Stacks &stacks) {
  auto symbol = FlatSymbolRefAttr::get(mesh.getSymNameAttr());
  SmallVector<BlockArgument> open;
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type)
      continue;
    bool isStack = llvm::any_of(stacks.arguments, [&](BlockArgument stack) {
      return stack.getArgNumber() == argument.getArgNumber();
    });
    bool hasRows = function.getArgAttr(argument.getArgNumber(), EplDialect::kCallerRowsAttr) != nullptr;
    if (!isStack && !isBatch(argument) && !hasRows && !getSharding(argument))
      open.push_back(argument);
    auto sharding = ShardingAttr::getReplicated(symbol, type.getRank());
    setSharding(argument, withAxisState(sharding, mesh, kRows, AxisState::sharded(isStack ? 0 : -1)));
  }
  return open;
}

namespace {
struct SplitStacks : epl::impl::SplitStacksPassBase<SplitStacks> {
  void runOnOperation() override {
    FailureOr<SmallVector<func::FuncOp>> functions = getUndealtFunctions(getOperation());
    if (failed(functions))
      return signalPassFailure();
    for (func::FuncOp function : *functions)
      split(function);
  }

  /// Stacks that are cut in another way have arguments of their own, which stay in the next program.
  static void split(func::FuncOp function) {
    SmallVector<Stacks> open = findStacks(function);
    for (size_t next = 0; next < open.size();) {
      func::FuncOp made = split(function, open[next]);
      ++next;
      if (made == function)
        continue;
      function = made;
      open = findStacks(function);
      next = 0;
    }
  }

  static func::FuncOp split(func::FuncOp function, Stacks stacks);
};
} // namespace

//===----------------------------------------------------------------------===//
// What stays whole
//===----------------------------------------------------------------------===//

namespace {
/// How a step makes the next value of a stack, from its gradient on.
struct Update {
  bool mixesRows = false;             ///< of one row from others
  SmallVector<Operation *> gradients; ///< constraints of what is put together of rows
};
} // namespace

/// Looks at what applies gradients, up to these, but not at numbers: those of sums over all rows.
static Update getUpdate(func::FuncOp placed, BlockArgument stack) {
  Update update;
  llvm::SetVector<Operation *> makers;
  auto add = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (Operation *maker = value.getDefiningOp(); maker && type && type.getRank() > 0)
      makers.insert(maker);
  };
  for (OpOperand &use : placed.front().getTerminator()->getOpOperands())
    if (getUpdatedArgument(placed, use.getOperandNumber()) == stack)
      add(use.get());
  for (size_t next = 0; next < makers.size(); ++next) {
    Operation *op = makers[next];
    auto reshard = dyn_cast<ReshardOp>(op);
    AxisState from = reshard ? getAxisState(getSharding(reshard.getOperand()), kRows) : AxisState();
    if (isa<ConstrainOp>(op))
      update.gradients.push_back(op);
    update.mixesRows |= from.isSharded();
    if (reshard || getWorkKind(op) == WorkKind::apply ||
        (getWorkKind(op) == WorkKind::forward && isElementwise(op)))
      llvm::for_each(getUsedValues(op), add);
  }
  return update;
}

/// An op that an iteration of a loop takes rows together by, or apart; null if there is none.
static Operation *findMeeting(func::FuncOp placed) {
  Loops loops(placed.front());
  for (auto reshard : placed.getOps<ReshardOp>())
    if (loops.getLoop(reshard.getOperation()))
      return reshard;
  return nullptr;
}

/// Shardings that the user has given, of the arguments that are not cut.
static void restoreShardings(func::FuncOp function, func::FuncOp made, int64_t members) {
  unsigned next = 0;
  for (BlockArgument argument : function.getArguments()) {
    auto isCut = [&](func::FuncOp of, unsigned index) {
      return of.getArgAttr(index, EplDialect::kCallerRowsAttr) != nullptr;
    };
    bool wasCut = !isCut(function, argument.getArgNumber()) && isCut(made, next);
    if (ShardingAttr given = getSharding(argument); given && !wasCut)
      setSharding(made.getArgument(next), given);
    next += wasCut ? members : 1;
  }
}

/// Takes out stacks whose next values mix rows, such as those that an optimizer takes for matrices: each op
/// of that would send. Their gradients go to one mesh, once. Whether there are such.
static bool takeOut(func::FuncOp placed, const DenseMap<Operation *, unsigned> &constraints, Stacks &stacks,
                    DenseSet<unsigned> &whole) {
  size_t before = stacks.arguments.size();
  llvm::erase_if(stacks.arguments, [&](BlockArgument stack) {
    Update update = getUpdate(placed, placed.getArgument(stack.getArgNumber()));
    for (Operation *gradient : update.gradients)
      if (auto number = constraints.find(gradient); update.mixesRows && number != constraints.end())
        whole.insert(number->second);
    return update.mixesRows;
  });
  return stacks.arguments.size() < before;
}

/// What is written of `placed`, a clone of `function`; that itself where stacks stay whole. Null if some of
/// `stacks` are taken out, and of what is put together of rows those that `whole` says.
static func::FuncOp write(func::FuncOp function, func::FuncOp placed, MeshOp mesh, Stacks &stacks,
                          DenseSet<unsigned> &whole) {
  auto axis = cast<AxisAttr>(mesh.getAxes()[0]);
  DenseMap<Operation *, unsigned> constraints = constrainRows(placed, stacks, whole);
  SmallVector<BlockArgument> open = seed(placed, mesh, stacks);
  FunctionRules rules(placed, mesh);
  rules.setUnmasked();
  placeOnAxis(rules, axis, open);
  if (takeOut(placed, constraints, stacks, whole))
    return {};
  if (Operation *meeting = findMeeting(placed)) {
    InFlightDiagnostic remark = function.emitRemark();
    remark << "rows of " << describeArgument(function, stacks.arguments[0].getArgNumber())
           << ", which several stages read, stay at one of them: iterations of a loop take rows of all "
              "together";
    remark.attachNote(meeting->getLoc()) << "that is here";
    return function;
  }
  func::FuncOp made = writeStacks(placed, mesh, axis, stacks);
  restoreShardings(function, made, axis.getSize());
  forgetAxis(made);
  numStacks += stacks.arguments.size();
  numRows += made.getNumArguments() - function.getNumArguments();
  function.erase();
  return made;
}

func::FuncOp SplitStacks::split(func::FuncOp function, Stacks stacks) {
  LDBG() << stacks.arguments.size() << " stacks of " << stacks.rows << " rows in " << stacks.getNumMembers()
         << " parts";
  auto module = function->getParentOfType<ModuleOp>();
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto axis = AxisAttr::get(module.getContext(), kRows, stacks.getNumMembers(), AxisRole::none);
  auto mesh = MeshOp::create(builder, module.getLoc(), kRows, builder.getArrayAttr(axis));
  SymbolTable(module).insert(mesh); // under another name if that one is taken
  func::FuncOp made;
  DenseSet<unsigned> whole;
  while (!made && !stacks.arguments.empty()) {
    func::FuncOp placed = function.clone();
    builder.setInsertionPoint(function);
    builder.insert(placed);
    made = write(function, placed, mesh, stacks, whole);
    placed.erase();
  }
  mesh.erase();
  return made ? made : function;
}
