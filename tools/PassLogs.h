//===- PassLogs.h - What passes count and say ------------------*- C++ -*-===//
//
// Passes count what they do (llvm/ADT/Statistic.h) and say why (LDBG, llvm/Support/DebugLog.h). LLVM's own
// options for that are not there in a release build of it, such as Debian's, nor are MLIR's statistics of
// passes; so the tools of the compiler have these.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <string>
#include <vector>

namespace mlir::epl {

/// What --help says of both.
inline constexpr const char *kStatisticsHelp = "count what passes do, and print that on stderr at the end";
inline constexpr const char *kDebugOnlyHelp =
    "print on stderr what these passes decide, named as in --help of epl-opt; needs a build with assertions";

/// Makes passes count from now on.
void enableStatistics();

/// Prints what they have counted on standard error: nothing, if they were not made to.
void printStatistics();

/// Makes those passes say what they decide, on standard error. False, with an error there, in a build without
/// assertions, of which this is not a part.
bool enableDebugLogs(const std::vector<std::string> &passes);

} // namespace mlir::epl
