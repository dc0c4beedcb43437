//===- PassLogs.cpp - What passes count and say ---------------------------===//

#include "tools/PassLogs.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Debug.h"
#include "llvm/Support/raw_ostream.h"

void mlir::epl::enableStatistics() { llvm::EnableStatistics(/*DoPrintOnExit=*/false); }

void mlir::epl::printStatistics() {
  if (llvm::AreStatisticsEnabled())
    llvm::PrintStatistics(llvm::errs());
}

bool mlir::epl::enableDebugLogs(const std::vector<std::string> &passes) {
#ifdef NDEBUG
  llvm::errs() << "error: --debug-only=" << llvm::join(passes, ",")
               << " needs a build with assertions: cmake --preset checked && ninja -C build\n";
  return false;
#else
  std::vector<const char *> names;
  names.reserve(passes.size());
  for (const std::string &pass : passes)
    names.push_back(pass.c_str());
  llvm::DebugFlag = true;
  llvm::setCurrentDebugTypes(names.data(), names.size());
  return true;
#endif
}
