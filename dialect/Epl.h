//===- Epl.h - The epl dialect ----------------------------------*- C++ -*-===//
//
// Every class of the dialect: attributes, types and ops. Documentation is in the .td files beside.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Levels.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialect/EplDialect.h.inc"
#include "dialect/EplEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/EplAttrs.h.inc"

namespace mlir::epl {
// The axes of a mesh as its assembly shows them: ["data"=2, "model"=4].
ParseResult parseAxes(OpAsmParser &parser, ArrayAttr &axes);
void printAxes(OpAsmPrinter &printer, Operation *op, ArrayAttr axes);

/// Stamps `to` with the work (`epl.work`) of `from`, if that has any.
void copyWork(Operation *from, Operation *to);
} // namespace mlir::epl

#define GET_TYPEDEF_CLASSES
#include "dialect/EplTypes.h.inc"
#define GET_OP_CLASSES
#include "dialect/EplOps.h.inc"
