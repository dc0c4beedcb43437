//===- SplitConstraints.cpp - How the user wants parameters split ---------===//

#include "passes/shard/seed/split/SplitConstraints.h"

#include "dialect/SplitAxes.h"
#include "passes/shard/analysis/Describe.h"

#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace mlir::epl;

/// Parameters that the error about a pattern lists, at most.
static constexpr size_t kMostListed = 8;

//===----------------------------------------------------------------------===//
// Names and patterns
//===----------------------------------------------------------------------===//

/// Takes a key in brackets off the front of a name: `['wq']`, `["wq"]`, `[0]`, or `[*]` of a pattern. None if
/// there is none: another set of characters is none. A key may be empty.
static std::optional<StringRef> takeKey(StringRef &text) {
  static const llvm::Regex regex(R"re(^\[('([^']*)'|"([^"]*)"|([0-9]+|\*))\])re");
  SmallVector<StringRef> groups;
  if (!text.starts_with("[") || !regex.match(text, &groups))
    return std::nullopt;
  text = text.drop_front(groups[0].size());
  ArrayRef<StringRef> keys = ArrayRef(groups).drop_front(2);
  const StringRef *key = llvm::find_if(keys, [](StringRef group) { return !group.empty(); });
  return key == keys.end() ? StringRef() : *key;
}

/// "/params/h/0/wq/" of "params['h'][0]['wq']".
static std::string getPath(StringRef text) {
  std::string path = "/";
  auto append = [&](StringRef characters) {
    for (char c : characters)
      if (c != '.' && c != '/')
        path += c;
      else if (path.back() != '/')
        path += '/';
  };
  while (!text.empty()) {
    std::optional<StringRef> key = takeKey(text);
    if (!key) {
      append(text.take_front());
      text = text.drop_front();
      continue;
    }
    append("/");
    append(*key);
    append("/");
  }
  append("/");
  return path;
}

/// As users know it: `"wq" = 1`, `"wo" whole`.
static std::string describeConstraint(DimConstraintAttr constraint) {
  std::string dim = constraint.getDim() ? " = " + std::to_string(*constraint.getDim()) : " whole";
  return "\"" + constraint.getPattern().str() + "\"" + dim;
}

namespace {
/// The parameters of one scope, with their paths.
using Parameters = SmallVector<std::pair<BlockArgument, std::string>>;

/// Reads user constraints on the arguments of a function. Without an axis, whether they fit one is not
/// checked.
class ConstraintReader {
public:
  ConstraintReader(func::FuncOp program, MeshOp mesh, AxisAttr axis)
      : program(program), mesh(mesh), axis(axis) {}

  LogicalResult read(TaskGraphOp taskgraph);
  const SplitConstraints &getConstraints() const { return constraints; }

private:
  LogicalResult read(TaskGraphOp taskgraph, DimConstraintAttr constraint, const Parameters &parameters);
  LogicalResult add(TaskGraphOp taskgraph, DimConstraintAttr constraint, BlockArgument parameter);
  LogicalResult verifyFits(TaskGraphOp taskgraph, DimConstraintAttr constraint, BlockArgument parameter,
                           AxisState state);
  LogicalResult failUnmatched(TaskGraphOp taskgraph, DimConstraintAttr constraint,
                              const Parameters &parameters, const llvm::GlobPattern &glob);
  Parameters getParameters(TaskGraphOp taskgraph);
  InFlightDiagnostic emitError(TaskGraphOp taskgraph, DimConstraintAttr constraint);
  std::string describe(BlockArgument argument) { return describeArgument(program, argument.getArgNumber()); }

  func::FuncOp program;
  MeshOp mesh;
  AxisAttr axis;
  SplitConstraints constraints;
};
} // namespace

LogicalResult ConstraintReader::read(TaskGraphOp taskgraph) {
  if (!taskgraph.getDims())
    return success();
  Parameters parameters = getParameters(taskgraph);
  for (DimConstraintAttr constraint : taskgraph.getDimsAttr().getAsRange<DimConstraintAttr>())
    if (failed(read(taskgraph, constraint, parameters)))
      return failure();
  return success();
}

/// The states that forward work of the task graph reads.
Parameters ConstraintReader::getParameters(TaskGraphOp taskgraph) {
  auto isRead = [&](BlockArgument argument) {
    return llvm::any_of(argument.getUsers(), [&](Operation *user) {
      Operation *op = program.getBody().front().findAncestorOpInBlock(*user);
      auto work = op->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr);
      return work && work.getTaskgraph().getAttr() == taskgraph.getSymNameAttr() &&
             work.getKind() == WorkKind::forward;
    });
  };
  Parameters parameters;
  for (BlockArgument argument : program.getArguments()) {
    auto name = program.getArgAttrOfType<StringAttr>(argument.getArgNumber(), EplDialect::kNameAttr);
    if (name && isFloatState(argument) && isRead(argument))
      parameters.push_back({argument, getPath(name.getValue())});
  }
  return parameters;
}

LogicalResult ConstraintReader::read(TaskGraphOp taskgraph, DimConstraintAttr constraint,
                                     const Parameters &parameters) {
  std::string pattern = "*" + getPath(constraint.getPattern()) + "*"; // the glob refers to it
  llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(pattern);
  if (!glob)
    return emitError(taskgraph, constraint) << ": " << llvm::toString(glob.takeError());
  bool matched = false;
  for (const auto &[parameter, path] : parameters) {
    if (!glob->match(path))
      continue;
    matched = true;
    if (failed(add(taskgraph, constraint, parameter)))
      return failure();
  }
  return matched ? success() : failUnmatched(taskgraph, constraint, parameters, *glob);
}

/// The dimension that is counted from the end if it is negative; nothing if the tensor has none such.
static std::optional<int64_t> getDim(int64_t dim, RankedTensorType type) {
  int64_t counted = dim < 0 ? dim + type.getRank() : dim;
  return counted >= 0 && counted < type.getRank() ? std::optional(counted) : std::nullopt;
}

/// The parameter's own dimension for one that the caller sees. Of segments it is that within each of them, of
/// parts the one that counts shares.
static int64_t getOwnDim(BlockArgument parameter, int64_t dim) {
  RankedTensorType caller = getCallerType(parameter), type = cast<RankedTensorType>(parameter.getType());
  int64_t last = -1;
  for (int64_t extent : caller.getShape().take_front(dim + 1))
    for (int64_t taken = type.getDimSize(++last); taken < extent;)
      taken *= type.getDimSize(++last);
  return last > 0 && !getCallerParts(parameter, last - 1).empty() ? last - 1 : last;
}

LogicalResult ConstraintReader::add(TaskGraphOp taskgraph, DimConstraintAttr constraint,
                                    BlockArgument parameter) {
  AxisState state;
  if (constraint.getDim()) {
    RankedTensorType type = getCallerType(parameter);
    std::optional<int64_t> dim = getDim(*constraint.getDim(), type);
    if (!dim)
      return emitError(taskgraph, constraint)
             << ": " << describe(parameter) << " of " << type << " has " << type.getRank() << " dimensions";
    state = AxisState::sharded(getOwnDim(parameter, *dim));
  }
  auto [known, isNew] = constraints.insert({parameter, {constraint, state}});
  if (!isNew && known->second.state != state)
    return emitError(taskgraph, constraint)
           << " contradicts " << describeConstraint(known->second.said) << " for " << describe(parameter);
  return axis ? verifyFits(taskgraph, constraint, parameter, state) : success();
}

/// Whether the axis is free for the parameter and divides the dimension together with those that split it.
LogicalResult ConstraintReader::verifyFits(TaskGraphOp taskgraph, DimConstraintAttr constraint,
                                           BlockArgument parameter, AxisState state) {
  ShardingAttr sharding = getSharding(parameter);
  if (getAxisState(sharding, axis.getName()).isSharded())
    return emitError(taskgraph, constraint)
           << ": " << describe(parameter) << " is sharded by hand, " << sharding;
  if (!state.isSharded())
    return success();
  int64_t extent = cast<RankedTensorType>(parameter.getType()).getDimSize(state.dim);
  ShardingAttr split = withAxisState(sharding, mesh, axis.getName(), state);
  int64_t parts = getAxesSize(mesh, split.getDimAxes(state.dim));
  if (extent % parts == 0)
    return success();
  return emitError(taskgraph, constraint)
         << ": " << describeDim(parameter, state.dim) << " of " << describe(parameter) << " of size "
         << extent << " is not divisible by " << parts << ", the size of its axes";
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

InFlightDiagnostic ConstraintReader::emitError(TaskGraphOp taskgraph, DimConstraintAttr constraint) {
  return mlir::emitError(taskgraph.getLoc()) << "dims " << describeConstraint(constraint);
}

/// Lists the parameters, and what has such a name and is none: weights of an evaluation are constants.
LogicalResult ConstraintReader::failUnmatched(TaskGraphOp taskgraph, DimConstraintAttr constraint,
                                              const Parameters &parameters, const llvm::GlobPattern &glob) {
  InFlightDiagnostic error = emitError(taskgraph, constraint) << " names no parameter of the scope";
  Diagnostic &note = error.attachNote() << "the scope has " << parameters.size() << " parameters";
  for (const auto &[index, parameter] : llvm::enumerate(ArrayRef(parameters).take_front(kMostListed)))
    note << (index ? ", " : ": ") << describe(parameter.first);
  if (parameters.size() > kMostListed)
    note << " and others";
  for (BlockArgument argument : program.getArguments()) {
    auto name = program.getArgAttrOfType<StringAttr>(argument.getArgNumber(), EplDialect::kNameAttr);
    auto role = program.getArgAttrOfType<StringAttr>(argument.getArgNumber(), EplDialect::kRoleAttr);
    if (!name || !role || role.getValue() == "state" || !glob.match(getPath(name.getValue())))
      continue;
    error.attachNote() << describe(argument)
                       << " is no state, and parameters are states: name it in \"state\", or "
                       << "constrain it in the step, epl.constrain(..., {1: \"model\"})";
    break;
  }
  return error;
}

//===----------------------------------------------------------------------===//
// Task graphs
//===----------------------------------------------------------------------===//

/// Whether a task graph is split over the axis. A mesh that the module brings may have axes of its own.
static bool isSplitOver(TaskGraphOp taskgraph, MeshOp mesh, AxisAttr axis) {
  SmallVector<SplitAxis> axes = getSplitAxes(mesh);
  const auto *known = llvm::find_if(axes, [&](const SplitAxis &each) { return each.name == axis.getName(); });
  return known == axes.end() || known->isSplit(taskgraph.getStrategy());
}

LogicalResult mlir::epl::verifySplitConstraints(func::FuncOp program, MeshOp mesh) {
  for (TaskGraphOp taskgraph : getTaskGraphs(mesh))
    if (failed(ConstraintReader(program, mesh, AxisAttr()).read(taskgraph)))
      return failure();
  return success();
}

FailureOr<SplitConstraints> mlir::epl::getSplitConstraints(func::FuncOp program, MeshOp mesh, AxisAttr axis) {
  ConstraintReader reader(program, mesh, axis);
  for (TaskGraphOp taskgraph : getTaskGraphs(mesh))
    if (isSplitOver(taskgraph, mesh, axis) && failed(reader.read(taskgraph)))
      return failure();
  return reader.getConstraints();
}
