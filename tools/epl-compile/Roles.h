//===- Roles.h - Parts of a step for workers and servers --------*- C++ -*-===//
#pragma once

#include "tools/epl-compile/Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::epl {

/// Adds the options that say whose part of a step is compiled.
void addRoleOptions(CLI::App &app, Options &options);

/// Throws what CLI11 reports if they do not go together with others.
void checkRole(const Options &options);

/// Those that a plan depends on, as arguments with a space before each; empty for a whole step.
std::string describeRole(const Options &options);

/// The pass that makes the part of a step that `options` ask for: for `Stage::roles` that of servers.
std::unique_ptr<Pass> createRolePass(const Options &options);

/// What workers and servers have of a step that has been split for these, as JSON for front ends
/// (docs/design.md, 7).
std::string describeRoles(ModuleOp module);

/// The names of the programs of servers.
std::vector<std::string> getPrograms(ModuleOp module);

/// A module with one of them.
OwningOpRef<ModuleOp> takeProgram(ModuleOp module, llvm::StringRef name);

/// How one is compiled: a step by itself, for one CPU device, whatever the devices of workers are.
Options getProgramOptions(const Options &options, const std::string &name);

/// The file of its plan.
std::string getProgramFile(const Options &options, llvm::StringRef name);

} // namespace mlir::epl
