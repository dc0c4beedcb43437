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

LogicalResult ScopeAttr::verify(EmitError emitError, StrategyKind, int64_t deviceCount, StringRef) {
  return verifyDeviceCount(emitError, deviceCount); // (S1)
}

LogicalResult LoopAttr::verify(EmitError emitError, int64_t id, int64_t turns) {
  if (turns < 1) // (L1)
    return emitError() << "loop " << id << " has " << turns << " turns, expected at least 1";
  return success();
}

//===----------------------------------------------------------------------===//
// AxisAttr: <"data" = 4>, <"micro" = 8 temporal>
//===----------------------------------------------------------------------===//

LogicalResult AxisAttr::verify(EmitError emitError, StringRef name, int64_t size, bool) {
  if (name.empty()) // (A1)
    return emitError() << "axis has an empty name";
  if (size < 1) // (A1)
    return emitError() << "axis \"" << name << "\" has size " << size << ", expected at least 1";
  return success();
}

/// `"data" = 4`, with ` temporal` after it or not.
static Attribute parseAxisBody(AsmParser &parser) {
  std::string name;
  int64_t size;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseString(&name) || parser.parseEqual() || parser.parseInteger(size))
    return {};
  bool temporal = succeeded(parser.parseOptionalKeyword("temporal"));
  return AxisAttr::getChecked([&] { return parser.emitError(loc); }, parser.getContext(), name, size,
                              temporal);
}

static void printAxisBody(AsmPrinter &printer, AxisAttr axis) {
  printer.printString(axis.getName());
  printer << "=" << axis.getSize();
  if (axis.getTemporal())
    printer << " temporal";
}

Attribute AxisAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  Attribute axis = parseAxisBody(parser);
  return axis && succeeded(parser.parseGreater()) ? axis : Attribute();
}

void AxisAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printAxisBody(printer, *this);
  printer << ">";
}

ParseResult mlir::epl::parseAxes(OpAsmParser &parser, ArrayAttr &axes) {
  SmallVector<Attribute> list;
  auto parseAxis = [&]() -> ParseResult {
    Attribute axis = parseAxisBody(parser);
    if (!axis)
      return failure();
    list.push_back(axis);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxis))
    return failure();
  axes = parser.getBuilder().getArrayAttr(list);
  return success();
}

void mlir::epl::printAxes(OpAsmPrinter &printer, Operation *, ArrayAttr axes) {
  printer << "[";
  llvm::interleaveComma(axes.getAsRange<AxisAttr>(), printer,
                        [&](AxisAttr axis) { printAxisBody(printer, axis); });
  printer << "]";
}

//===----------------------------------------------------------------------===//
// ShardingAttr: <@mesh, [{"data"}, {}], partial = sum{"model"}>
//===----------------------------------------------------------------------===//

LogicalResult ShardingAttr::verify(EmitError emitError, FlatSymbolRefAttr, ArrayAttr dims, ArrayAttr partial,
                                   ReductionKind) {
  llvm::StringSet<> seen;
  auto verifyAxes = [&](ArrayAttr axes) -> LogicalResult {
    for (Attribute axis : axes) {
      auto name = dyn_cast<StringAttr>(axis);
      if (!name)
        return emitError() << "axis " << axis << " of a sharding is not a string";
      if (!seen.insert(name.getValue()).second) // (H1)
        return emitError() << "axis \"" << name.getValue() << "\" appears twice in a sharding";
    }
    return success();
  };
  for (Attribute dim : dims) {
    auto axes = dyn_cast<ArrayAttr>(dim);
    if (!axes)
      return emitError() << "dimension " << dim << " of a sharding is not an array of axes";
    if (failed(verifyAxes(axes)))
      return failure();
  }
  return verifyAxes(partial);
}

static ArrayAttr getAxesAttr(MLIRContext *context, ArrayRef<StringRef> axes) {
  return Builder(context).getStrArrayAttr(axes);
}

ShardingAttr ShardingAttr::get(MLIRContext *context, FlatSymbolRefAttr mesh,
                               ArrayRef<SmallVector<StringRef>> dims, ArrayRef<StringRef> partial,
                               ReductionKind reduction) {
  SmallVector<Attribute> dimAttrs;
  for (const SmallVector<StringRef> &axes : dims)
    dimAttrs.push_back(getAxesAttr(context, axes));
  return get(context, mesh, ArrayAttr::get(context, dimAttrs), getAxesAttr(context, partial),
             partial.empty() ? ReductionKind::sum : reduction);
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
  return !isPartial() && llvm::all_of(getDims(), [](Attribute dim) { return cast<ArrayAttr>(dim).empty(); });
}

int64_t ShardingAttr::getDimOf(StringRef axis) const {
  for (int64_t dim = 0; dim < getRank(); ++dim)
    if (llvm::is_contained(getDimAxes(dim), axis))
      return dim;
  return -1;
}

ShardingAttr ShardingAttr::withoutPartial() const {
  return get(getContext(), getMesh(), getDims(), getAxesAttr(getContext(), {}), ReductionKind::sum);
}

/// `{"data", "micro"}`.
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

/// `, partial = sum{"model"}`, or nothing.
static ParseResult parsePartial(AsmParser &parser, ArrayAttr &partial, ReductionKind &reduction) {
  if (failed(parser.parseOptionalComma()))
    return success();
  StringRef keyword;
  SMLoc loc;
  if (parser.parseKeyword("partial") || parser.parseEqual() || parser.getCurrentLocation(&loc) ||
      parser.parseKeyword(&keyword))
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

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr mesh;
  SmallVector<Attribute> dims;
  auto parseDim = [&]() -> ParseResult {
    FailureOr<ArrayAttr> axes = parseAxisSet(parser);
    if (failed(axes))
      return failure();
    dims.push_back(*axes);
    return success();
  };
  ArrayAttr partial = parser.getBuilder().getArrayAttr({});
  ReductionKind reduction = ReductionKind::sum;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseAttribute(mesh) || parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim) ||
      parsePartial(parser, partial, reduction) || parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), mesh,
                    parser.getBuilder().getArrayAttr(dims), partial, reduction);
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << "<" << getMesh() << ", [";
  llvm::interleaveComma(getDims(), printer,
                        [&](Attribute dim) { printAxisSet(printer, cast<ArrayAttr>(dim)); });
  printer << "]";
  if (isPartial()) {
    printer << ", partial = " << stringifyReductionKind(getReduction());
    printAxisSet(printer, getPartial());
  }
  printer << ">";
}
