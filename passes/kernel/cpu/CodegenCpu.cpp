//===- CodegenCpu.cpp - Loop nests to one ELF image ------------------------------===//
//
// Problem: all kernels of a plan must become machine code, once, and compiling is most of a user's wait.
//
// Method: nests that differ in the sizes of their buffers only, as the updates of an optimizer do, are the
// same code. What is left is dealt to threads, heaviest first onto the least loaded; each thread compiles its
// share with contexts of its own, handed over as text. The objects are linked into one shared object.
//
// Invariant in: each kernel that no library runs has its function. Invariant out: the functions are gone, and
// one `epl.binary` exports a symbol for each of those kernels.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/Passes.h"
#include "passes/kernel/cpu/CpuObject.h"
#include "passes/kernel/cpu/KernelFunction.h"
#include "passes/kernel/cpu/SignalStack.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <mutex>
#include <thread>

namespace mlir::epl {
#define GEN_PASS_DEF_CODEGENCPU
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

namespace {

// What one thread compiles.
struct Share {
  std::string text;
  SmallVector<NestAlias> aliases;
  int64_t weight = 0;
  FailureOr<ObjectBytes> object = failure();
  std::string error;
};

// A nest as text, and those that are the same code.
struct Code {
  std::string text;
  SmallVector<func::FuncOp> nests;
};

std::string print(func::FuncOp nest) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  Attribute kernel = nest->removeAttr(kKernelAttr); // the thread's context does not know the dialect
  stream << *nest.getOperation() << "\n";
  nest->setAttr(kKernelAttr, kernel);
  return text;
}

// The text without the nest's name and the sizes of its buffers, which no instruction depends on.
std::string getKey(StringRef text, StringRef name) {
  static constexpr StringLiteral kBuffer = "memref<";
  auto [head, body] = text.split(name);
  std::string key = head.str();
  while (!body.empty()) {
    auto [before, after] = body.split(kBuffer);
    (key += before) += kBuffer;
    body = after.drop_while(llvm::isDigit);
  }
  return key;
}

struct CodegenCpu : mlir::epl::impl::CodegenCpuBase<CodegenCpu> {
  using CodegenCpuBase::CodegenCpuBase;
  CodegenCpu(const CodegenCpuOptions &options, KernelProgress progress)
      : CodegenCpuBase(options), progress(std::move(progress)) {}

  void runOnOperation() override {
    FailureOr<CpuTarget> target = getCpuTarget(getOperation(), cpu);
    if (failed(target))
      return signalPassFailure();
    SmallVector<func::FuncOp> nests;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(kKernelAttr))
        nests.push_back(function);
    if (nests.empty())
      return;
    FailureOr<ObjectBytes> image = compile(nests, *target);
    if (failed(image))
      return signalPassFailure();
    for (func::FuncOp nest : nests)
      eraseNest(nest);
    auto b = OpBuilder::atBlockEnd(getOperation().getBody());
    SmallVector<StringRef> features(target->features.begin(), target->features.end());
    BinaryOp::create(b, getOperation().getLoc(), target->cpu, b.getStrArrayAttr(features),
                     StringRef(image->data(), image->size()));
  }

  FailureOr<ObjectBytes> compile(MutableArrayRef<func::FuncOp> nests, const CpuTarget &target) {
    SmallVector<Share> shares = deal(nests);
    CodeStyle style = loops ? CodeStyle::loops : CodeStyle::vectorized;
    std::mutex lock;
    size_t done = 0;
    auto count = [&] {
      std::lock_guard<std::mutex> guard(lock);
      if (progress)
        progress(++done, nests.size());
    };
    auto run = [&](Share &share) {
      SignalStack handlers;
      share.object = compileCpuObject(share.text, share.aliases, target, style, share.error, count);
    };
    SmallVector<std::thread> workers;
    for (Share &share : MutableArrayRef(shares).drop_front())
      workers.emplace_back(run, std::ref(share));
    run(shares.front());
    for (std::thread &worker : workers)
      worker.join();
    SmallVector<ObjectBytes> objects;
    for (Share &share : shares) {
      if (failed(share.object))
        return getOperation().emitError() << "cannot compile kernels: " << share.error;
      objects.push_back(std::move(*share.object));
    }
    std::string error;
    FailureOr<ObjectBytes> image = linkSharedObject(objects, error);
    if (failed(image))
      getOperation().emitError() << error;
    return image;
  }

  std::vector<Code> collectCodes(ArrayRef<func::FuncOp> nests) {
    llvm::StringMap<size_t> positions;
    std::vector<Code> codes;
    for (func::FuncOp nest : nests) {
      std::string text = print(nest);
      auto [known, isNew] = positions.try_emplace(getKey(text, nest.getName()), codes.size());
      if (isNew)
        codes.push_back({std::move(text), {}});
      codes[known->second].nests.push_back(nest);
    }
    return codes;
  }

  // Distributes the nests by their number of ops.
  SmallVector<Share> deal(ArrayRef<func::FuncOp> nests) {
    auto countOps = [](func::FuncOp nest) {
      int64_t ops = 0;
      nest.walk([&](Operation *) { ++ops; });
      return ops;
    };
    std::vector<Code> codes = collectCodes(nests);
    SmallVector<std::pair<int64_t, size_t>> heaviestFirst;
    for (auto [position, code] : llvm::enumerate(codes))
      heaviestFirst.emplace_back(-countOps(code.nests.front()), position);
    llvm::sort(heaviestFirst);
    SmallVector<Share> shares(std::clamp<size_t>(threads, 1, codes.size()));
    for (auto [weight, position] : heaviestFirst) {
      const Code &code = codes[position];
      func::FuncOp nest = code.nests.front();
      Share &share = *llvm::min_element(shares, [](auto &a, auto &b) { return a.weight < b.weight; });
      llvm::raw_string_ostream stream(share.text);
      for (memref::GlobalOp constant : getConstants(nest))
        stream << *constant.getOperation() << "\n";
      stream << code.text;
      for (func::FuncOp same : ArrayRef(code.nests).drop_front())
        share.aliases.push_back({same.getName().str(), nest.getName().str()});
      share.weight -= weight;
    }
    return shares;
  }

  SmallVector<memref::GlobalOp> getConstants(func::FuncOp nest) {
    SmallVector<memref::GlobalOp> constants;
    nest.walk([&](memref::GetGlobalOp get) {
      constants.push_back(SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(get, get.getNameAttr()));
    });
    return constants;
  }

  void eraseNest(func::FuncOp nest) {
    SmallVector<memref::GlobalOp> constants = getConstants(nest);
    nest.erase();
    for (memref::GlobalOp constant : constants)
      constant.erase();
  }

  KernelProgress progress;
};

} // namespace

std::unique_ptr<Pass> mlir::epl::createCodegenCpu(const CodegenCpuOptions &options, KernelProgress progress) {
  return std::make_unique<CodegenCpu>(options, std::move(progress));
}
