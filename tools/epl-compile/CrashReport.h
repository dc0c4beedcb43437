//===- CrashReport.h - What a crash of the compiler says --------*- C++ -*-===//
//
// A crash is a bug of EPL, and who meets it has neither our debugger nor our sources. So it says in a few
// lines what to send us: the step, kept as a file, the command, the versions; no frames, which none but us
// can read.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Support/LLVM.h"

namespace mlir::epl {

/// Makes the signals of a crash, LLVM's fatal errors and what `std::terminate` ends write a report to
/// standard error, and then end the process by the signal. Memory that runs out is an error, exit code 1. A
/// stack that overflows on another thread than this one is not reported.
void installCrashReport(int argc, char **argv);

/// The versions of EPL and LLVM, and the name of this machine's CPU.
std::string getVersions();

/// The step that is compiled from now on: its file, or "-" and the text, which stays where it is until the
/// next one. A crash keeps that in a file, in the folder EPL_DUMP_DIR if it is set, else in that of temporary
/// ones.
void setCrashInput(StringRef file, StringRef text);

/// What the compiler does from now on, a literal.
void setCrashPhase(const char *phase);

/// The file by which the phase can be run again, where there is one from now on; else empty.
void setCrashReproducer(StringRef file);

/// Writes the report for an exception that nobody expects, and ends the process.
[[noreturn]] void crash(const char *reason);

} // namespace mlir::epl
