//===- Listing.cpp - A sharded program for reading ------------------------===//
//
// Problem: a training step is thousands of lines of IR, in which maps, regions and types hide the shardings.
// Method: one line for each op that computes, under the names that the front end gave: primitive, arguments,
//   source line. Values are numbered; constants, fills, broadcasts and empty tensors have no line. A reshard
//   is called by the collectives that it becomes (PlanReshard.h).
// Invariant in: `epl-place` has run. Invariant out: the same.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/explain/Listing.h"

#include "dialect/Loops.h"
#include "dialect/SourceLocation.h"
#include "passes/shard/analysis/Describe.h"
#include "passes/shard/analysis/PlanReshard.h"
#include "passes/shard/analysis/Rules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mlir::epl;

static constexpr size_t kOpWidth = 52, kTypeWidth = 32;

static std::string padded(const std::string &text, size_t width) {
  return text + std::string(width - std::min(width, text.size()), ' ');
}

/// The number that a constant consists of, "..." if there are several.
static std::string describeConstant(Attribute value) {
  if (auto elements = dyn_cast<DenseElementsAttr>(value))
    value = elements.isSplat() ? elements.getSplatValue<Attribute>() : Attribute();
  if (auto number = dyn_cast_or_null<FloatAttr>(value)) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%.6g", number.getValueAsDouble());
    return text;
  }
  auto integer = dyn_cast_or_null<IntegerAttr>(value);
  return integer ? llvm::toString(integer.getValue(), 10, !integer.getType().isInteger(1)) : "...";
}

/// The value that an op repeats: a fill's scalar, what a broadcast reads; null for other ops.
static Value getRepeated(Operation *op) {
  auto generic = dyn_cast<linalg::LinalgOp>(op);
  if (!generic || !generic.getBlock()->without_terminator().empty() || generic->getNumResults() != 1)
    return {};
  Value yielded = generic.getBlock()->getTerminator()->getOperand(0);
  auto element = dyn_cast<BlockArgument>(yielded);
  if (!element || element.getOwner() != generic.getBlock())
    return yielded; // from outside
  OpOperand *source = generic.getMatchingOpOperand(element);
  auto type = dyn_cast<RankedTensorType>(source->get().getType());
  bool grows =
      !type || type.getNumElements() < cast<RankedTensorType>(op->getResult(0).getType()).getNumElements();
  return grows && !generic.isDpsInit(source) ? source->get() : Value();
}

namespace {
class Listing {
public:
  Listing(func::FuncOp program, MeshOp mesh, raw_ostream &os)
      : program(program), mesh(mesh), loops(program.getBody().front()), os(os) {}

  void print() {
    printArguments();
    for (Operation &op : program.getBody().front().without_terminator())
      if (isListed(&op))
        printOp(&op);
    printResults(program.getBody().front().getTerminator());
  }

private:
  /// Tensors are listed that are computed or moved: no constants, no repetition of elements.
  static bool isListed(Operation *op) {
    return llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>) && !isUniform(op) &&
           !op->hasTrait<OpTrait::ConstantLike>() && !getRepeated(op);
  }

  void printArguments() {
    os << "\narguments\n";
    for (BlockArgument argument : program.getArguments()) {
      auto role = program.getArgAttrOfType<StringAttr>(argument.getArgNumber(), EplDialect::kRoleAttr);
      os << "    " << padded(describeMaker(argument), kOpWidth) << padded(describe(argument), kTypeWidth)
         << (role ? role.getValue() : "") << '\n';
    }
  }

  void printResults(Operation *terminator) {
    os << "\nresults\n";
    for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
      BlockArgument updated = getUpdatedArgument(program, index);
      os << "    " << padded(getResultName(program, index) + " = " + getName(value), kOpWidth)
         << padded(describeResult(index, value), kTypeWidth) << (updated ? "updates the argument" : "")
         << '\n';
    }
  }

  std::string describeResult(unsigned result, Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    auto shape = program.getResultAttrOfType<DenseI64ArrayAttr>(result, EplDialect::kCallerShapeAttr);
    return type ? describeTensor(type, getSharding(value), shape) : "";
  }

  static std::string describe(Value value) {
    return isa<RankedTensorType>(value.getType()) ? describeTensor(value, getSharding(value)) : "";
  }

  void printOp(Operation *op) {
    printHeading(op);
    for (Value result : op->getResults())
      numbers.try_emplace(result, numbers.size());
    auto reshard = dyn_cast<ReshardOp>(op);
    std::string collectives = reshard ? getCollectives(reshard) : "";
    std::string text = (collectives.empty() ? "    " : "  * ") + getName(op->getResult(0));
    for (Value result : op->getResults().drop_front())
      text += ", " + getName(result);
    text += " = " + (!reshard ? getOpName(op) : collectives.empty() ? "part" : collectives) + "(";
    llvm::raw_string_ostream stream(text);
    llvm::interleaveComma(getRead(op), stream, [&](Value value) { stream << getName(value); });
    stream << ")";
    os << padded(text, kOpWidth + 4) << ' ' << padded(describe(op->getResult(0)), kTypeWidth) << ' '
       << (collectives.empty() ? getShortSourceLine(op->getLoc()) : getCause(reshard)) << '\n';
  }

  /// The work that the ops below belong to, and the loops in whose iterations they are done.
  void printHeading(Operation *op) {
    std::string text;
    if (auto work = op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr))
      text = (work.getTaskgraph().getValue() + "." + stringifyWorkKind(work.getKind())).str();
    for (LoopAttr loop = loops.getLoop(op); loop; loop = loop.getOuter())
      text += ", in each of the " + std::to_string(loop.getTripCount()) + " iterations of a loop";
    if (text != heading)
      os << '\n' << text << '\n';
    heading = text;
  }

  /// What a reshard becomes: "all_reduce", "reduce_scatter, all_gather"; nothing if no device receives.
  std::string getCollectives(ReshardOp op) {
    SmallVector<StringRef> names;
    for (const ReshardStep &step :
         planReshard(op.getType(), getSharding(op.getOperand()), op.getSharding(), mesh))
      if (StringRef name = getCollectiveName(step.kind); !name.empty())
        names.push_back(name);
    return llvm::join(names, ", ");
  }

  static StringRef getCollectiveName(ReshardStep::Kind kind) {
    switch (kind) {
    case ReshardStep::Kind::slice:
    case ReshardStep::Kind::mask:
      return {};
    case ReshardStep::Kind::reduceScatter:
      return "reduce_scatter";
    case ReshardStep::Kind::allReduce:
      return "all_reduce";
    case ReshardStep::Kind::allToAll:
      return "all_to_all";
    case ReshardStep::Kind::permute:
      return "permute";
    case ReshardStep::Kind::allGather:
      return "all_gather";
    }
    llvm_unreachable("every kind of step has a name");
  }

  /// Why, without the tensor, which stands beside it.
  static StringRef getCause(ReshardOp op) {
    auto cause = op->getAttrOfType<StringAttr>(EplDialect::kCauseAttr);
    return cause ? cause.getValue().split(": ").second : "";
  }

  /// What an op reads, without what it writes to.
  static SmallVector<Value> getRead(Operation *op) {
    SmallVector<Value> read;
    auto accumulating = dyn_cast<linalg::LinalgOp>(op);
    for (OpOperand &use : op->getOpOperands()) {
      Operation *maker = use.get().getDefiningOp();
      bool isComputed = !maker || isListed(maker);
      if (!accumulating || !accumulating.isDpsInit(&use) || isComputed)
        read.push_back(use.get());
    }
    SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    llvm::append_range(read, captured);
    return read;
  }

  /// The number of a value, the name of an argument, what a constant is or a broadcast reads.
  std::string getName(Value value) {
    Operation *maker = value.getDefiningOp();
    if (!maker)
      return describeMaker(value);
    Attribute constant;
    if (matchPattern(value, m_Constant(&constant)))
      return describeConstant(constant);
    if (auto found = numbers.find(value); found != numbers.end())
      return "%" + std::to_string(found->second);
    Value repeated = getRepeated(maker);
    return repeated ? getName(repeated) : "empty";
  }

  func::FuncOp program;
  MeshOp mesh;
  Loops loops;
  raw_ostream &os;
  std::string heading;
  DenseMap<Value, unsigned> numbers;
};
} // namespace

/// "split over 2 devices", as the user wrote it.
static void printTaskGraph(TaskGraphOp taskgraph, raw_ostream &os) {
  StrategyAttr strategy = taskgraph.getStrategy();
  os << "scope " << taskgraph.getSymName() << ": " << stringifyStrategyKind(strategy.getKind()) << ", "
     << strategy.getDeviceCount() << (strategy.getDeviceCount() == 1 ? " device" : " devices");
  if (auto name = taskgraph.getScopeName())
    os << ", \"" << *name << '"';
  if (std::string line = getShortSourceLine(taskgraph.getLoc()); !line.empty())
    os << ", " << line;
  os << '\n';
}

/// "devices: data 2, model 2".
static void printMesh(MeshOp mesh, raw_ostream &os) {
  os << "devices: ";
  llvm::interleaveComma(mesh.getAxes().getAsRange<AxisAttr>(), os,
                        [&](AxisAttr axis) { os << axis.getName() << ' ' << axis.getSize(); });
  os << '\n';
}

void mlir::epl::printListing(ModuleOp module, raw_ostream &os) {
  FailureOr<SmallVector<Program>> programs = getPrograms(module);
  if (failed(programs))
    return;
  os << "f32[8/data, 4] has 8 x 4 elements, and a device its part along \"data\"; \"sum over model\": it has "
        "an "
        "addend\n* what devices receive from one another, and why\n";
  for (auto [function, mesh] : *programs) {
    os << '\n';
    printMesh(mesh, os);
    for (TaskGraphOp taskgraph : getTaskGraphs(mesh))
      printTaskGraph(taskgraph, os);
    Listing(function, mesh, os).print();
  }
}
