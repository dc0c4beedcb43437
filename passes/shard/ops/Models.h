//===- Models.h - What ops mean for sharding, by kind of op -----*- C++ -*-===//
//
// Each file of this folder has models of `ShardableOp` for a few ops, with all that they answer, and a
// function that attaches them where their dialect is loaded.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/DialectRegistry.h"

namespace mlir::epl {

void registerIndexedModels(DialectRegistry &registry);
void registerJoinModels(DialectRegistry &registry);
void registerLinalgModels(DialectRegistry &registry);
void registerLoopModels(DialectRegistry &registry);
void registerMatrixModels(DialectRegistry &registry);
void registerReshapeModels(DialectRegistry &registry);
void registerSliceModels(DialectRegistry &registry);
void registerValueModels(DialectRegistry &registry);

} // namespace mlir::epl
