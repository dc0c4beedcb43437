//===- EplDialect.cpp - The epl dialect: registration and attributes of functions ---===//

#include "dialect/Channels.h"
#include "dialect/Epl.h"
#include "dialect/Servers.h"
#include "dialect/Stages.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::epl;

#include "dialect/EplDialect.cpp.inc"

void EplDialect::initialize() {
  registerAttrs();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "dialect/EplOps.cpp.inc"
      >();
}

void mlir::epl::copyWork(Operation *from, Operation *to) {
  if (Attribute work = from->getAttr(EplDialect::kWorkAttr))
    to->setAttr(EplDialect::kWorkAttr, work);
}

LogicalResult EplDialect::verifyOperationAttribute(Operation *op, NamedAttribute attr) {
  StringRef name = attr.getName();
  Attribute value = attr.getValue();
  if (name == kMachineAttr && !(isa<MachineAttr>(value) && isa<ModuleOp, MeshOp>(op)))
    return op->emitOpError() << "attribute \"" << name << "\" is not an #epl.machine of a module or mesh";
  if (name == kStagesAttr)
    return verifyStages(op, value);
  if (name == kServersAttr && !(isa<DictionaryAttr>(value) && isa<ModuleOp>(op)))
    return op->emitOpError() << "attribute \"" << name << "\" is not a dictionary of a module";
  if (name == kWorkAttr && !isa<WorkAttr>(value))
    return op->emitOpError() << "attribute \"" << name << "\" is not an #epl.work";
  if ((name == kPerMicroBatchAttr || name == kCheckpointAttr) && !isa<UnitAttr>(value))
    return op->emitOpError() << "attribute \"" << name << "\" has a value, expected none";
  if (name == kDefaultStrategyAttr && !isa<StrategyAttr>(value))
    return op->emitOpError() << "attribute \"" << name << "\" is not an #epl.strategy";
  if (name == kCauseAttr && !isa<StringAttr>(value))
    return op->emitOpError() << "attribute \"" << name << "\" is not a string";
  if (name == kFactorsAttr) {
    auto factors = dyn_cast<DictionaryAttr>(value);
    auto isFactor = [](NamedAttribute axis) {
      auto factor = dyn_cast<IntegerAttr>(axis.getValue());
      return factor && factor.getType().isInteger(64) && factor.getInt() >= 0;
    };
    if (!factors || !llvm::all_of(factors, isFactor))
      return op->emitOpError() << "attribute \"" << name
                               << "\" is not a dictionary of 64-bit integers that are not negative";
  }
  if (name == kGuardsAttr) {
    auto array = dyn_cast<ArrayAttr>(value);
    if (!array || array.empty() || !llvm::all_of(array, llvm::IsaPred<GuardAttr>))
      return op->emitOpError() << "attribute \"" << name << "\" is not an array of one #epl.guard or more";
    if (!standsBetweenTasks(op))
      return op->emitOpError() << "has attribute \"" << name << "\", expected it on tasks and between them";
  }
  if (name == kShardingAttr) {
    auto array = dyn_cast<ArrayAttr>(value);
    if (!array || !llvm::all_of(array, llvm::IsaPred<ShardingAttr>) || array.size() != op->getNumResults())
      return op->emitOpError() << "attribute \"" << name
                               << "\" is not an array of one #epl.sharding for each result";
  }
  if (name == kMeshAttr && (!isa<FlatSymbolRefAttr>(value) || !isa<FunctionOpInterface>(op)))
    return op->emitOpError() << "attribute \"" << name << "\" is not the name of a function's mesh";
  if (name == kScopesAttr) {
    auto scopes = dyn_cast<DictionaryAttr>(value);
    if (!scopes || !llvm::all_of(scopes, [](NamedAttribute s) { return isa<ScopeAttr>(s.getValue()); }))
      return op->emitOpError() << "attribute \"" << name << "\" is not a dictionary of #epl.scope";
  }
  return success();
}

/// The type of an argument or result of a function as the program has it: global, if it is distributed.
static RankedTensorType getGlobalType(Operation *op, unsigned index, bool isArgument) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return {};
  Type type = isArgument ? function.getArgumentTypes()[index] : function.getResultTypes()[index];
  auto dist = dyn_cast<DistType>(type);
  return dist ? dist.getGlobal() : dyn_cast<RankedTensorType>(type);
}

static bool isI64(Attribute value) {
  auto integer = dyn_cast<IntegerAttr>(value);
  return integer && integer.getType().isSignlessInteger(64);
}

/// Whether each extent of `caller` is the product of one dimension of `shape` or more, in order.
static bool fitsCaller(ArrayRef<int64_t> shape, ArrayRef<int64_t> caller) {
  for (int64_t extent : caller) {
    if (shape.empty())
      return false;
    int64_t taken = shape.consume_front();
    auto mayTakeMore = [&] { return taken == 1 || (taken > 0 && (taken < extent || extent == 0)); };
    while (taken != extent && !shape.empty() && mayTakeMore())
      taken *= shape.consume_front();
    if (taken != extent)
      return false;
  }
  return llvm::all_of(shape, [](int64_t extent) { return extent == 1; });
}

/// Whether `parts` has a list for each dimension, of parts of what it and the next are together, or none.
static bool fitsParts(ArrayRef<int64_t> shape, ArrayAttr parts) {
  if (parts.size() != shape.size())
    return false;
  for (auto [dim, attr] : llvm::enumerate(parts)) {
    ArrayRef<int64_t> extents = cast<DenseI64ArrayAttr>(attr).asArrayRef();
    auto isPart = [&](int64_t extent) { return shape[dim] > 0 && extent >= 0 && extent % shape[dim] == 0; };
    if (!extents.empty() && (dim + 1 == shape.size() || !llvm::all_of(extents, isPart) ||
                             llvm::sum_of(extents, int64_t(0)) != shape[dim] * shape[dim + 1]))
      return false;
  }
  return true;
}

/// Whether `rows`, the first of the caller's and how many that has, leaves room for those of `shape`.
static bool fitsRows(ArrayRef<int64_t> shape, ArrayRef<int64_t> rows) {
  return rows.size() == 2 && !shape.empty() && rows[0] >= 0 && rows[1] >= shape[0] &&
         rows[0] <= rows[1] - shape[0];
}

static bool isListOfArrays(Attribute value) {
  auto list = dyn_cast<ArrayAttr>(value);
  return list && llvm::all_of(list, llvm::IsaPred<DenseI64ArrayAttr>);
}

/// What an argument or a result says of its caller's tensor fits its own.
static LogicalResult verifyCaller(Operation *op, NamedAttribute attr, StringRef what, unsigned index) {
  RankedTensorType type = getGlobalType(op, index, what == "argument");
  if (!type)
    return success();
  auto reject = [&](StringRef expected) {
    return op->emitOpError() << "attribute \"" << attr.getName().strref() << "\" of " << what << " " << index
                             << " is " << attr.getValue() << ", expected " << expected << " " << type;
  };
  auto shape = dyn_cast<DenseI64ArrayAttr>(attr.getValue());
  if (attr.getName() == EplDialect::kCallerShapeAttr && !fitsCaller(type.getShape(), shape.asArrayRef()))
    return reject("extents that are one dimension, or the product of several in order, of");
  if (attr.getName() == EplDialect::kCallerPartsAttr &&
      !fitsParts(type.getShape(), cast<ArrayAttr>(attr.getValue())))
    return reject("for each dimension no parts, or those that it and the next one hold in equal shares, of");
  if (attr.getName() == EplDialect::kCallerRowsAttr && !fitsRows(type.getShape(), shape.asArrayRef()))
    return reject("the first row and the number of all rows, which from there on are at least those of");
  return success();
}

LogicalResult EplDialect::verifyRegionArgAttribute(Operation *op, unsigned region, unsigned index,
                                                   NamedAttribute attr) {
  StringRef name = attr.getName();
  Attribute value = attr.getValue();
  auto reject = [&](StringRef expected) {
    return op->emitOpError() << "attribute \"" << name << "\" of argument " << index << " is not "
                             << expected;
  };
  if (name == kRoleAttr) {
    auto role = dyn_cast<StringAttr>(value);
    if (!role || !llvm::is_contained({"state", "batch", "constant"}, role.getValue()))
      return reject("\"state\", \"batch\" or \"constant\"");
  } else if (llvm::is_contained({kBatchDimAttr, kPositionAttr, kChannelAttr, kOwnerAttr, kPullAttr}, name) &&
             !isI64(value)) {
    return reject("an integer of type i64");
  } else if (name == kNameAttr && !isa<StringAttr>(value)) {
    return reject("a string");
  } else if (llvm::is_contained({kHiddenAttr, kMessagesAttr}, name) && !isa<UnitAttr>(value)) {
    return reject("a unit attribute");
  } else if ((name == kShardingAttr || name == kArrivesAttr) && !isa<ShardingAttr>(value)) {
    return reject("an #epl.sharding");
  } else if (llvm::is_contained({kCallerShapeAttr, kCallerRowsAttr}, name) &&
             !isa<DenseI64ArrayAttr>(value)) {
    return reject("an array of i64");
  } else if (name == kCallerPartsAttr && !isListOfArrays(value)) {
    return reject("a list of arrays of i64");
  }
  const StringRef known[] = {kRoleAttr,     kBatchDimAttr,    kNameAttr,        kHiddenAttr,
                             kShardingAttr, kCallerShapeAttr, kCallerPartsAttr, kCallerRowsAttr,
                             kPositionAttr, kChannelAttr,     kMessagesAttr,    kArrivesAttr,
                             kOwnerAttr,    kPullAttr};
  if (!llvm::is_contained(known, name))
    return op->emitOpError() << "argument " << index << " has an unknown attribute \"" << name
                             << "\", expected one of " << ArrayRef(known);
  return verifyCaller(op, attr, "argument", index);
}

LogicalResult EplDialect::verifyRegionResultAttribute(Operation *op, unsigned region, unsigned index,
                                                      NamedAttribute attr) {
  StringRef name = attr.getName();
  if (llvm::is_contained({kUpdatesAttr, kPositionAttr, kChannelAttr}, name) && !isI64(attr.getValue()))
    return op->emitOpError() << "attribute \"" << name << "\" of result " << index
                             << " is not an integer of type i64";
  if (name == kNameAttr && !isa<StringAttr>(attr.getValue()))
    return op->emitOpError() << "attribute \"" << name << "\" of result " << index << " is not a string";
  if (llvm::is_contained({kHiddenAttr, kMessagesAttr}, name) && !isa<UnitAttr>(attr.getValue()))
    return op->emitOpError() << "attribute \"" << name << "\" of result " << index
                             << " is not a unit attribute";
  if (llvm::is_contained({kCallerShapeAttr, kCallerRowsAttr}, name) &&
      !isa<DenseI64ArrayAttr>(attr.getValue()))
    return op->emitOpError() << "attribute \"" << name << "\" of result " << index
                             << " is not an array of i64";
  if (name == kCallerPartsAttr && !isListOfArrays(attr.getValue()))
    return op->emitOpError() << "attribute \"" << name << "\" of result " << index
                             << " is not a list of arrays of i64";
  if (name == kPushAttr && !isa<DenseI64ArrayAttr>(attr.getValue()))
    return op->emitOpError() << "attribute \"" << name << "\" of result " << index
                             << " is not an array of i64";
  if (name == kWantedAttr && !isa<ShardingAttr>(attr.getValue()))
    return op->emitOpError() << "attribute \"" << name << "\" of result " << index
                             << " is not an #epl.sharding";
  const StringRef known[] = {kUpdatesAttr,     kNameAttr,       kHiddenAttr,   kCallerShapeAttr,
                             kCallerPartsAttr, kCallerRowsAttr, kPositionAttr, kChannelAttr,
                             kMessagesAttr,    kWantedAttr,     kPushAttr};
  if (!llvm::is_contained(known, name))
    return op->emitOpError() << "result " << index << " has an unknown attribute \"" << name
                             << "\", expected one of " << ArrayRef(known);
  return verifyCaller(op, attr, "result", index);
}
