//===- CompileNests.cpp - All nests of a module, compiled ------------------------===//
//
// Problem: all kernels of a plan must become machine code, once, and compiling is most of a user's wait.
//
// Method: kernels whose nests differ in the sizes of their buffers only, as the updates of an optimizer do,
// are the same code. What is left is dealt to threads, heaviest first onto the least loaded; each thread
// compiles its share with contexts of its own, handed over as text.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/convert/CompileNests.h"

#include "dialect/SourceLocation.h"
#include "passes/kernel/convert/SignalStack.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/SetVector.h"

#include <mutex>
#include <thread>

using namespace mlir;
using namespace mlir::epl;

namespace {

// What one thread compiles.
struct Share {
  std::string text;
  int64_t weight = 0;
  FailureOr<ObjectBytes> object = failure();
  std::string error;
};

// The nests of a kernel: one for each of its phases.
using Phases = SmallVector<func::FuncOp, 1>;

// The kernels that are the same code.
using Code = SmallVector<Phases>;

// Counts what all threads have compiled.
class Counter {
public:
  Counter(const KernelProgress &progress, size_t total) : progress(progress), total(total) {}

  void count() {
    std::lock_guard<std::mutex> guard(lock);
    if (progress)
      progress(++done, total);
  }

private:
  const KernelProgress &progress;
  std::mutex lock;
  size_t done = 0, total;
};

} // namespace

static std::string print(func::FuncOp nest, Lines lines = Lines::none) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  Attribute kernel = nest->removeAttr(kKernelAttr); // the thread's context does not know the dialect
  nest->print(stream, OpPrintingFlags().useLocalScope().enableDebugInfo(lines == Lines::ofUser));
  stream << "\n";
  nest->setAttr(kKernelAttr, kernel);
  return text;
}

// What a location has of names and frames is left out: the user's line is what code is shown under.
static Location getLine(Location location) {
  std::string source = getSourceLine(location);
  auto [file, number] = StringRef(source).rsplit(':');
  unsigned line = 0;
  if (number.getAsInteger(10, line))
    return UnknownLoc::get(location.getContext());
  return FileLineColLoc::get(location.getContext(), file, line, 0);
}

// The nests, whose locations nobody asks for any more, are where the user's lines are. What a nest has made
// for itself is of the line of the kernel.
static void setLines(func::FuncOp nest, KernelOp kernel) {
  Location line = getLine(kernel->getLoc());
  nest->setLoc(line);
  nest.getBody().walk([&](Operation *op) {
    Location own = getLine(op->getLoc());
    op->setLoc(isa<UnknownLoc>(own) ? line : own);
  });
}

// The text without the nest's name and the sizes of its buffers, which no instruction depends on.
static std::string getKey(StringRef text, StringRef name) {
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

static std::vector<Phases> groupByKernel(ArrayRef<func::FuncOp> nests) {
  llvm::MapVector<Attribute, Phases> byKernel;
  for (func::FuncOp nest : nests)
    byKernel[nest->getAttr(kKernelAttr)].push_back(nest);
  std::vector<Phases> kernels;
  for (auto &[kernel, phases] : byKernel)
    kernels.push_back(std::move(phases));
  return kernels;
}

static std::vector<Code> collectCodes(ArrayRef<func::FuncOp> nests) {
  llvm::StringMap<size_t> positions;
  std::vector<Code> codes;
  for (Phases &phases : groupByKernel(nests)) {
    std::string key;
    for (func::FuncOp nest : phases)
      key += getKey(print(nest), nest.getName());
    auto [known, isNew] = positions.try_emplace(key, codes.size());
    if (isNew)
      codes.emplace_back();
    codes[known->second].push_back(std::move(phases));
  }
  return codes;
}

// Which code a kernel is, by name.
static llvm::StringMap<size_t> numberCodes(ArrayRef<Code> codes) {
  llvm::StringMap<size_t> numbers;
  for (auto [number, code] : llvm::enumerate(codes))
    for (const Phases &phases : code)
      numbers[phases.front()->getAttrOfType<FlatSymbolRefAttr>(kKernelAttr).getValue()] = number;
  return numbers;
}

// Whether a launch reads what another one makes.
static bool reads(LaunchOp launch, LaunchOp other) {
  return llvm::any_of(launch.getInputs(), [&](Value input) { return input.getDefiningOp() == other; });
}

// Says of a code if launches of it follow one another and do not need one another.
static void findLists(ModuleOp module, ArrayRef<Code> codes) {
  llvm::StringMap<size_t> numbers = numberCodes(codes);
  llvm::SmallSetVector<size_t, 4> found;
  module.walk([&](Block *block) {
    LaunchOp before;
    for (auto launch : block->getOps<LaunchOp>()) {
      auto number = numbers.find(launch.getKernel());
      if (before && number != numbers.end() && !reads(launch, before))
        if (auto same = numbers.find(before.getKernel());
            same != numbers.end() && same->second == number->second)
          found.insert(number->second);
      before = launch;
    }
  });
  for (size_t number : found)
    llvm::for_each(codes[number].front(), setInLists);
}

static llvm::SetVector<memref::GlobalOp> getGlobals(ArrayRef<func::FuncOp> nests) {
  llvm::SetVector<memref::GlobalOp> globals;
  for (func::FuncOp nest : nests)
    nest.walk([&](memref::GetGlobalOp get) {
      globals.insert(SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(get, get.getNameAttr()));
    });
  return globals;
}

static int64_t countOps(ArrayRef<func::FuncOp> nests) {
  int64_t ops = 0;
  for (func::FuncOp nest : nests)
    nest.walk([&](Operation *) { ++ops; });
  return ops;
}

// Distributes the codes by their number of ops.
static SmallVector<Share> deal(ArrayRef<Code> codes, unsigned threads, Lines lines) {
  SmallVector<std::pair<int64_t, size_t>> heaviestFirst;
  for (auto [position, code] : llvm::enumerate(codes))
    heaviestFirst.emplace_back(-countOps(code.front()), position);
  llvm::sort(heaviestFirst);
  SmallVector<Share> shares(std::clamp<size_t>(threads, 1, codes.size()));
  for (auto [weight, position] : heaviestFirst) {
    Share &share = *llvm::min_element(shares, [](auto &a, auto &b) { return a.weight < b.weight; });
    llvm::raw_string_ostream stream(share.text);
    for (memref::GlobalOp global : getGlobals(codes[position].front()))
      stream << *global.getOperation() << "\n";
    for (func::FuncOp nest : codes[position].front())
      stream << print(nest, lines);
    share.weight -= weight;
  }
  return shares;
}

static void nameSymbols(const Code &code) {
  StringRef symbol = func::FuncOp(code.front().front()).getName();
  symbol.consume_back(kNestSuffix);
  for (const Phases &same : ArrayRef(code).drop_front())
    if (KernelOp kernel = getKernel(same.front()))
      kernel.setSymbol(symbol);
}

static void eraseNests(ArrayRef<func::FuncOp> nests) {
  llvm::SetVector<memref::GlobalOp> globals = getGlobals(nests);
  for (func::FuncOp nest : nests)
    nest.erase();
  for (memref::GlobalOp global : globals)
    global.erase();
}

static void compileShares(MutableArrayRef<Share> shares, CompileShare compile, Counter &counter) {
  auto run = [&](Share &share) {
    SignalStack handlers;
    share.object = compile(share.text, share.error, [&] { counter.count(); });
  };
  SmallVector<std::thread> workers;
  for (Share &share : shares.drop_front())
    workers.emplace_back(run, std::ref(share));
  run(shares.front());
  for (std::thread &worker : workers)
    worker.join();
}

FailureOr<SmallVector<ObjectBytes>> mlir::epl::compileNests(ModuleOp module, unsigned threads,
                                                            const KernelProgress &progress,
                                                            CompileShare compile, Lines lines) {
  SmallVector<func::FuncOp> nests = getNests(module);
  if (nests.empty())
    return SmallVector<ObjectBytes>();
  std::vector<Code> codes = collectCodes(nests);
  findLists(module, codes);
  if (lines == Lines::ofUser)
    for (func::FuncOp nest : nests)
      setLines(nest, getKernel(nest));
  SmallVector<Share> shares = deal(codes, threads, lines);
  Counter counter(progress, codes.size());
  compileShares(shares, compile, counter);
  SmallVector<ObjectBytes> objects;
  for (Share &share : shares) {
    if (failed(share.object))
      return module.emitError() << "cannot compile kernels: " << share.error;
    objects.push_back(std::move(*share.object));
  }
  llvm::for_each(codes, nameSymbols);
  eraseNests(nests);
  return objects;
}
