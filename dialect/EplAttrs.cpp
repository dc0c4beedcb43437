//===- EplAttrs.cpp - Attributes of the epl dialect -----------------------===//

#include "dialect/Epl.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::epl;

#include "dialect/EplEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/EplAttrs.cpp.inc"

void EplDialect::registerAttrs() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/EplAttrs.cpp.inc"
      >();
}

using EmitError = function_ref<InFlightDiagnostic()>;

static LogicalResult verifyDeviceCount(EmitError emitError, int64_t count) {
  if (count < 1)
    return emitError() << "device count is " << count << ", expected at least 1";
  return success();
}

LogicalResult StrategyAttr::verify(EmitError emitError, StrategyKind, int64_t deviceCount) {
  return verifyDeviceCount(emitError, deviceCount); // (S1)
}

LogicalResult DimConstraintAttr::verify(EmitError emitError, StringRef pattern, std::optional<int64_t>) {
  if (pattern.empty()) // (W1)
    return emitError() << "pattern of a constraint is empty";
  return success();
}

LogicalResult ScopeAttr::verify(EmitError emitError, StrategyKind kind, int64_t deviceCount, StringRef,
                                ArrayRef<DimConstraintAttr> dims, LocationAttr) {
  if (kind != StrategyKind::split && !dims.empty()) // (S2)
    return emitError() << "scope of kind \"" << stringifyStrategyKind(kind)
                       << "\" has \"dims\", expected \"split\"";
  return verifyDeviceCount(emitError, deviceCount); // (S1)
}

ScopeAttr ScopeAttr::withoutDims() const {
  return get(getContext(), getKind(), getDeviceCount(), getName(), {}, {});
}

ScopeAttr ScopeAttr::withDims(ArrayRef<DimConstraintAttr> more) const {
  SmallVector<DimConstraintAttr> dims(getDims());
  for (DimConstraintAttr constraint : more)
    if (!llvm::is_contained(dims, constraint))
      dims.push_back(constraint);
  return get(getContext(), getKind(), getDeviceCount(), getName(), dims, getPlace());
}

LogicalResult LoopAttr::verify(EmitError emitError, int64_t id, int64_t tripCount, bool microBatches,
                               LoopAttr outer) {
  if (tripCount < 1) // (L1)
    return emitError() << "loop " << id << " has " << tripCount << " iterations, expected at least 1";
  if (outer && (microBatches || !outer.getMicroBatches())) // (L2)
    return emitError() << "loop " << id << " is in loop " << outer.getId()
                       << ", expected loops to be in those over micro-batches only, and these in none";
  return success();
}

//===----------------------------------------------------------------------===//
// ShardingAttr: <@mesh, [{"data"}, {}], partial = sum{"model"}>
//===----------------------------------------------------------------------===//

/// The axes of all dimensions and the `others` are strings, each there once. `what` has them.
static LogicalResult verifyAxes(EmitError emitError, ArrayAttr dims, ArrayAttr others, StringRef what) {
  llvm::StringSet<> seen;
  auto verify = [&](ArrayAttr axes) -> LogicalResult {
    for (Attribute axis : axes) {
      auto name = dyn_cast<StringAttr>(axis);
      if (!name)
        return emitError() << "axis " << axis << " of a " << what << " is not a string";
      if (!seen.insert(name.getValue()).second)
        return emitError() << "axis \"" << name.getValue() << "\" appears twice in a " << what;
    }
    return success();
  };
  for (Attribute dim : dims) {
    auto axes = dyn_cast<ArrayAttr>(dim);
    if (!axes)
      return emitError() << "dimension " << dim << " of a " << what << " is not an array of axes";
    if (failed(verify(axes)))
      return failure();
  }
  return verify(others);
}

LogicalResult OwnerAttr::verify(EmitError emitError, StringRef axis, int64_t coordinate) {
  if (coordinate < 0) // (O1)
    return emitError() << "owner on axis \"" << axis << "\" has coordinate " << coordinate
                       << ", expected one that is not negative";
  return success();
}

LogicalResult ShardingAttr::verify(EmitError emitError, FlatSymbolRefAttr, ArrayAttr dims, ArrayAttr partial,
                                   ReductionKind, OwnerAttr owner) {
  SmallVector<Attribute> others(partial.getValue());
  if (owner)
    others.push_back(StringAttr::get(owner.getContext(), owner.getAxis()));
  return verifyAxes(emitError, dims, ArrayAttr::get(dims.getContext(), others), "sharding"); // (H1)
}

static ArrayAttr getAxesAttr(MLIRContext *context, ArrayRef<StringRef> axes) {
  return Builder(context).getStrArrayAttr(axes);
}

static ArrayAttr getDimsAttr(MLIRContext *context, ArrayRef<SmallVector<StringRef>> dims) {
  return ArrayAttr::get(context, llvm::map_to_vector(dims, [&](ArrayRef<StringRef> axes) -> Attribute {
                          return getAxesAttr(context, axes);
                        }));
}

ShardingAttr ShardingAttr::get(MLIRContext *context, FlatSymbolRefAttr mesh,
                               ArrayRef<SmallVector<StringRef>> dims, ArrayRef<StringRef> partial,
                               ReductionKind reduction) {
  return get(context, mesh, getDimsAttr(context, dims), getAxesAttr(context, partial),
             partial.empty() ? ReductionKind::sum : reduction, OwnerAttr());
}

ShardingAttr ShardingAttr::getReplicated(FlatSymbolRefAttr mesh, int64_t rank) {
  return get(mesh.getContext(), mesh, SmallVector<SmallVector<StringRef>>(rank));
}

static SmallVector<StringRef> getNames(ArrayAttr axes) {
  return llvm::map_to_vector(axes.getAsRange<StringAttr>(), [](StringAttr axis) { return axis.getValue(); });
}

SmallVector<StringRef> ShardingAttr::getDimAxes(int64_t dim) const {
  return getNames(cast<ArrayAttr>(getDims()[dim]));
}

SmallVector<StringRef> ShardingAttr::getPartialAxes() const { return getNames(getPartial()); }

bool ShardingAttr::isReplicated() const {
  return !isPartial() && !getOwner() &&
         llvm::all_of(getDims(), [](Attribute dim) { return cast<ArrayAttr>(dim).empty(); });
}

int64_t ShardingAttr::getDimOf(StringRef axis) const {
  for (int64_t dim = 0; dim < getRank(); ++dim)
    if (llvm::is_contained(getDimAxes(dim), axis))
      return dim;
  return -1;
}

ShardingAttr ShardingAttr::withoutPartial() const {
  return get(getContext(), getMesh(), getDims(), getAxesAttr(getContext(), {}), ReductionKind::sum,
             getOwner());
}

ShardingAttr ShardingAttr::withOwner(OwnerAttr owner) const {
  return get(getContext(), getMesh(), getDims(), getPartial(), getReduction(), owner);
}

/// `{"data", "model"}`.
static FailureOr<ArrayAttr> parseAxisSet(AsmParser &parser) {
  SmallVector<Attribute> axes;
  auto parseName = [&]() -> ParseResult {
    std::string name;
    if (parser.parseString(&name))
      return failure();
    axes.push_back(parser.getBuilder().getStringAttr(name));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, parseName))
    return failure();
  return parser.getBuilder().getArrayAttr(axes);
}

static void printAxisSet(AsmPrinter &printer, ArrayAttr axes) {
  printer << "{";
  llvm::interleaveComma(axes.getAsRange<StringAttr>(), printer,
                        [&](StringAttr axis) { printer.printString(axis.getValue()); });
  printer << "}";
}

/// `= sum{"model"}`.
static ParseResult parsePartial(AsmParser &parser, ArrayAttr &partial, ReductionKind &reduction) {
  StringRef keyword;
  SMLoc loc;
  if (parser.parseEqual() || parser.getCurrentLocation(&loc) || parser.parseKeyword(&keyword))
    return failure();
  std::optional<ReductionKind> kind = symbolizeReductionKind(keyword);
  if (!kind)
    return parser.emitError(loc) << "unknown reduction \"" << keyword << "\"";
  FailureOr<ArrayAttr> axes = parseAxisSet(parser);
  if (failed(axes))
    return failure();
  partial = *axes;
  reduction = *kind;
  return success();
}

/// `, partial = sum{"model"}`, `, owner = <"data" = 1>`, both in this order, or nothing.
static ParseResult parseRest(AsmParser &parser, ArrayAttr &partial, ReductionKind &reduction,
                             OwnerAttr &owner) {
  bool hasComma = succeeded(parser.parseOptionalComma());
  if (hasComma && succeeded(parser.parseOptionalKeyword("partial"))) {
    if (parsePartial(parser, partial, reduction))
      return failure();
    hasComma = succeeded(parser.parseOptionalComma());
  }
  if (!hasComma)
    return success();
  if (parser.parseKeyword("owner") || parser.parseEqual())
    return failure();
  owner = dyn_cast_or_null<OwnerAttr>(OwnerAttr::parse(parser, Type()));
  return success(owner != nullptr);
}

/// `[{"data"}, {}]`.
static ParseResult parseDims(AsmParser &parser, ArrayAttr &dims) {
  SmallVector<Attribute> list;
  auto parseDim = [&]() -> ParseResult {
    FailureOr<ArrayAttr> axes = parseAxisSet(parser);
    if (failed(axes))
      return failure();
    list.push_back(*axes);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim))
    return failure();
  dims = parser.getBuilder().getArrayAttr(list);
  return success();
}

static void printDims(AsmPrinter &printer, ArrayAttr dims) {
  printer << "[";
  llvm::interleaveComma(dims, printer, [&](Attribute dim) { printAxisSet(printer, cast<ArrayAttr>(dim)); });
  printer << "]";
}

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr mesh;
  ArrayAttr dims;
  ArrayAttr partial = parser.getBuilder().getArrayAttr({});
  ReductionKind reduction = ReductionKind::sum;
  OwnerAttr owner;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseAttribute(mesh) || parser.parseComma() || parseDims(parser, dims) ||
      parseRest(parser, partial, reduction, owner) || parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), mesh, dims, partial,
                    reduction, owner);
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << "<" << getMesh() << ", ";
  printDims(printer, getDims());
  if (isPartial()) {
    printer << ", partial = " << stringifyReductionKind(getReduction());
    printAxisSet(printer, getPartial());
  }
  if (getOwner()) {
    printer << ", owner = ";
    getOwner().print(printer);
  }
  printer << ">";
}

//===----------------------------------------------------------------------===//
// ConstraintAttr: <[{}, {"model"}], whole = {"data"}>
//===----------------------------------------------------------------------===//

LogicalResult ConstraintAttr::verify(EmitError emitError, ArrayAttr dims, ArrayAttr whole) {
  return verifyAxes(emitError, dims, whole, "constraint"); // (K1)
}

ConstraintAttr ConstraintAttr::get(MLIRContext *context, ArrayRef<SmallVector<StringRef>> dims,
                                   ArrayRef<StringRef> whole) {
  return get(context, getDimsAttr(context, dims), getAxesAttr(context, whole));
}

SmallVector<StringRef> ConstraintAttr::getDimAxes(int64_t dim) const {
  return getNames(cast<ArrayAttr>(getDims()[dim]));
}

SmallVector<StringRef> ConstraintAttr::getWholeAxes() const { return getNames(getWhole()); }

std::optional<int64_t> ConstraintAttr::getDimOf(StringRef axis) const {
  for (int64_t dim = 0; dim < getRank(); ++dim)
    if (llvm::is_contained(getDimAxes(dim), axis))
      return dim;
  return llvm::is_contained(getWholeAxes(), axis) ? std::optional<int64_t>(-1) : std::nullopt;
}

Attribute ConstraintAttr::parse(AsmParser &parser, Type) {
  ArrayAttr dims, whole = parser.getBuilder().getArrayAttr({});
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseDims(parser, dims))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    if (parser.parseKeyword("whole") || parser.parseEqual())
      return {};
    FailureOr<ArrayAttr> axes = parseAxisSet(parser);
    if (failed(axes))
      return {};
    whole = *axes;
  }
  if (parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), dims, whole);
}

void ConstraintAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printDims(printer, getDims());
  if (!getWhole().empty()) {
    printer << ", whole = ";
    printAxisSet(printer, getWhole());
  }
  printer << ">";
}
