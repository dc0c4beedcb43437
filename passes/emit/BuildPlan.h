//===- BuildPlan.h - From the last module to a plan -------------*- C++ -*-===//
#pragma once

#include "runtime/plan/format/plan_generated.h"
#include "runtime/plan/schedule/Schedule.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"

namespace mlir::epl {

/// What a plan says of where it comes from.
struct PlanOptions {
  std::string deviceKind = "cpu"; ///< or cuda
  std::string layout;             ///< for people: "cpu:2 = data 2"
  uint32_t nodes = 1;             ///< of which ranks take a device each in turn
  std::string options;            ///< of the compilation, as a command line
  std::string source;             ///< the file that was compiled
  bool sequential = false;        ///< the commands of a device are run in program order
  uint32_t numCommunicators = 1;  ///< collectives of the same devices that may be under way at a time
  bool offload = false;           ///< states are in memory of the host, whence devices copy them
  bool offloadResults = false;    ///< with that, results are, too
  /// In which order each mesh does the work of micro-batches.
  ::epl::runtime::schedule::Schedule schedule = ::epl::runtime::schedule::Schedule::of("1f1b");
};

/// Builds the verified plan of a module after the kernel phase: tasks of launches, collectives, lowered
/// kernels and a binary. Fails with an error at the op that has no place in a plan.
FailureOr<::epl::runtime::plan::PlanT> buildPlan(ModuleOp module, const PlanOptions &options);

} // namespace mlir::epl
