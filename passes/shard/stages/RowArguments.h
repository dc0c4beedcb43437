//===- RowArguments.h - An argument for each run of rows --------*- C++ -*-===//
#pragma once

#include "dialect/Epl.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::epl {

/// Declares, before `function`, one of the same name with an empty block. An argument that `isCut`, and the
/// result that updates it, is one for each of `members`, which have equal numbers of its rows; these say
/// which
/// (`epl.caller_rows`). All say their position among those of the caller. Shardings are not taken over.
func::FuncOp declareRows(func::FuncOp function, int64_t members, function_ref<bool(BlockArgument)> isCut);

} // namespace mlir::epl
