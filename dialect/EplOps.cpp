//===- EplOps.cpp - What TableGen generates for the ops -------------------===//

#include "dialect/Epl.h"

using namespace mlir;
using namespace mlir::epl;

#define GET_OP_CLASSES
#include "dialect/EplOps.cpp.inc"
