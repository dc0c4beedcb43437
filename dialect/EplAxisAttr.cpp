//===- EplAxisAttr.cpp - #epl.axis: <"data" = 4>, <"rows" = 4 : data> ----===//

#include "dialect/Epl.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mlir::epl;

using EmitError = function_ref<InFlightDiagnostic()>;

LogicalResult AxisAttr::verify(EmitError emitError, StringRef name, int64_t size, AxisRole) {
  if (name.empty()) // (A1)
    return emitError() << "axis has an empty name";
  if (size < 1) // (A1)
    return emitError() << "axis \"" << name << "\" has size " << size << ", expected at least 1";
  return success();
}

AxisRole AxisAttr::getRoleOfName(StringRef name) {
  return symbolizeAxisRole(name.rtrim("0123456789")).value_or(AxisRole::none);
}

static FailureOr<AxisRole> parseRole(AsmParser &parser) {
  StringRef word;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  if (std::optional<AxisRole> role = symbolizeAxisRole(word))
    return *role;
  return parser.emitError(loc) << "role of an axis is \"" << word
                               << "\", expected \"data\", \"model\" or \"none\"";
}

/// `"data" = 4`, `"rows" = 4 : data`.
static Attribute parseAxisBody(AsmParser &parser) {
  std::string name;
  int64_t size;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseString(&name) || parser.parseEqual() || parser.parseInteger(size))
    return {};
  FailureOr<AxisRole> role = AxisAttr::getRoleOfName(name);
  if (succeeded(parser.parseOptionalColon()))
    role = parseRole(parser);
  if (failed(role))
    return {};
  auto emitError = [&] { return parser.emitError(loc); };
  return AxisAttr::getChecked(EmitError(emitError), parser.getContext(), StringRef(name), size, *role);
}

static void printAxisBody(AsmPrinter &printer, AxisAttr axis) {
  printer.printString(axis.getName());
  printer << "=" << axis.getSize();
  if (axis.getRole() != AxisAttr::getRoleOfName(axis.getName()))
    printer << " : " << stringifyAxisRole(axis.getRole());
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
