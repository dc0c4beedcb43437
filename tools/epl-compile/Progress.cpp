//===- Progress.cpp - How far a compilation is ----------------------------===//

#include "tools/epl-compile/Progress.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::epl;

namespace {

struct PhaseInfo {
  StringRef name;
  int share; // percent of the time
};

/// Shares as measured on a network of 60 layers, whose 190 kernels take three seconds. They need not be
/// right: a wrong one makes the estimate of the time left drift, not fail.
constexpr PhaseInfo kPhases[] = {{"parse", 9},   {"annotate", 22}, {"shard", 17}, {"localize", 6},
                                 {"kernel", 17}, {"codegen", 25},  {"plan", 4}};

/// Reports each pass over the whole module; those nested in it count with it.
class PassCounter : public PassInstrumentation {
public:
  PassCounter(Progress &progress, size_t total) : progress(progress), total(total) {}

  void runBeforePass(Pass *pass, Operation *op) override {
    if (isa<ModuleOp>(op))
      progress.report(done++, total, pass->getArgument());
  }

private:
  Progress &progress;
  size_t total, done = 0;
};

} // namespace

void Progress::begin(Phase next) {
  phase = next;
  report(0, 1, "");
}

void Progress::watch(PassManager &pm) {
  if (enabled)
    pm.addInstrumentation(std::make_unique<PassCounter>(*this, pm.size()));
}

void Progress::report(size_t done, size_t total, StringRef what) {
  if (!enabled)
    return;
  size_t index = size_t(phase);
  double percent = kPhases[index].share * double(done) / double(total);
  for (size_t before = 0; before < index; ++before)
    percent += kPhases[before].share;
  llvm::errs() << llvm::format("progress: %.0f%% ", percent) << kPhases[index].name
               << (what.empty() ? "" : ", ") << what << "\n";
}
