//===- CompiledKernels.cpp - Kernels compiled and run in a test ------------------===//

#include "CompiledKernels.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/raw_ostream.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::epl;
using namespace mlir::epl::test;

static constexpr size_t kGuard = 256;
static constexpr char kGuardByte = 0x5a;

static size_t getNumBytes(RankedTensorType type) {
  return type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

namespace {

// Memory between guard zones, aligned for its elements only.
struct Guarded {
  explicit Guarded(size_t size) : memory(size + 2 * kGuard + 8, kGuardByte), size(size) {}
  char *data() {
    char *begin = memory.data() + kGuard;
    return begin + (8 - reinterpret_cast<uintptr_t>(begin) % 16 + 16) % 16;
  }
  bool isIntact() {
    auto isGuard = [](char byte) { return byte == kGuardByte; };
    char *begin = data();
    return std::all_of(memory.data(), begin, isGuard) &&
           std::all_of(begin + size, memory.data() + memory.size(), isGuard);
  }
  std::vector<char> memory;
  size_t size;
};

} // namespace

std::vector<Bytes> CompiledKernel::run(const std::vector<Bytes> &values, ArrayRef<int64_t> cuts) const {
  std::vector<Guarded> buffers;
  for (const Bytes &value : values) {
    buffers.emplace_back(value.size());
    llvm::copy(value, buffers.back().data());
  }
  std::vector<size_t> places;
  for (auto [index, output] : llvm::enumerate(outputs)) {
    bool shares = index < inPlace.size() && inPlace[index] != -1;
    places.push_back(shares ? inPlace[index] : buffers.size());
    if (!shares)
      buffers.emplace_back(getNumBytes(output));
  }
  buffers.emplace_back(workspace);
  std::vector<void *> pointers;
  for (size_t index = 0; index < inputs.size(); ++index)
    pointers.push_back(buffers[index].data());
  for (size_t place : places)
    pointers.push_back(buffers[place].data());
  pointers.push_back(buffers.back().data());
  int64_t coordinates[] = {1, 2, 3};
  for (size_t slice = cuts.size() - 1; slice > 0; --slice)
    entry(pointers.data(), coordinates, cuts[slice - 1], cuts[slice]);
  for (auto [index, buffer] : llvm::enumerate(buffers))
    EXPECT_TRUE(buffer.isIntact()) << name << " writes outside buffer " << index;
  std::vector<Bytes> results;
  for (auto [place, output] : llvm::zip_equal(places, outputs))
    results.emplace_back(buffers[place].data(), buffers[place].data() + getNumBytes(output));
  return results;
}

namespace {

// What a kernel works on, on the stand-in of a GPU.
struct GpuMemory {
  std::vector<PtxBuffer> buffers;
  std::vector<int> arguments;

  GpuMemory(const CompiledKernel &kernel, const std::vector<Bytes> &values) {
    for (const Bytes &value : values)
      add(value, true);
    for (auto [index, output] : llvm::enumerate(kernel.outputs))
      if (index < kernel.inPlace.size() && kernel.inPlace[index] != -1)
        arguments.push_back(kernel.inPlace[index]);
      else
        add(Bytes(getNumBytes(output)), false);
    add(Bytes(kernel.workspace), false);
  }

private:
  void add(Bytes bytes, bool isWritten) {
    arguments.push_back(int(buffers.size()));
    buffers.push_back({std::move(bytes), isWritten});
  }
};

} // namespace

static std::vector<PtxLaunch> getLaunches(const CompiledKernel &kernel) {
  std::vector<PtxLaunch> launches;
  for (auto [phase, grid] : llvm::enumerate(kernel.grids))
    launches.push_back({phase == 0 ? kernel.symbol : kernel.symbol + "$" + std::to_string(phase),
                        unsigned(grid.getBlocks()), unsigned(grid.getThreads()), unsigned(grid.getShared()),
                        grid.getExtent(), grid.getSlice()});
  return launches;
}

std::vector<Bytes> CompiledKernel::runOnGpu(const std::vector<Bytes> &values, uint64_t seed) const {
  GpuMemory memory(*this, values);
  EXPECT_EQ(ptx->run(getLaunches(*this), memory.buffers, memory.arguments, {{1, 2, 3}}, seed), "")
      << name << " (" << form << ")";
  std::vector<Bytes> results;
  for (size_t index = 0; index < outputs.size(); ++index)
    results.push_back(memory.buffers[memory.arguments[values.size() + index]].bytes);
  return results;
}

std::string CompiledKernel::findOnGpu(const PtxKernels &code, const std::vector<Bytes> &values,
                                      uint64_t seed) const {
  GpuMemory memory(*this, values);
  return code.run(getLaunches(*this), memory.buffers, memory.arguments, {{1, 2, 3}}, seed);
}

// The loader knows libraries by path, so each image needs a file of its own.
static void *loadLibrary(StringRef image) {
  SmallString<128> path;
  int file;
  if (llvm::sys::fs::createTemporaryFile("kernels", "so", file, path))
    return nullptr;
  llvm::FileRemover remover(path);
  llvm::raw_fd_ostream(file, /*shouldClose=*/true) << image;
  return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

CompiledKernels::CompiledKernels(const std::string &text, const CodegenOptions &options) {
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registry.insert<EplDialect>();
  context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  auto module = parseSourceString<ModuleOp>(text, context.get());
  if (!module) {
    ADD_FAILURE() << "cannot parse the kernels";
    return;
  }
  PassManager pm(context.get());
  buildCodegenPipeline(pm, options);
  if (failed(pm.run(*module))) {
    ADD_FAILURE() << "cannot compile the kernels";
    return;
  }
  for (auto binary : module->getOps<BinaryOp>())
    load(binary);
  for (auto op : module->getOps<KernelOp>()) {
    if (!op.getForm())
      continue; // a library runs it
    CompiledKernel kernel;
    kernel.name = op.getSymName().str();
    kernel.form = op.getForm()->str();
    kernel.extent = int64_t(*op.getExtent());
    kernel.workspace = int64_t(*op.getWorkspace());
    kernel.inPlace = llvm::to_vector(op.getInPlace().value_or(ArrayRef<int32_t>()));
    Block &body = op.getBody().front();
    for (Type type : body.getArgumentTypes())
      kernel.inputs.push_back(cast<RankedTensorType>(type));
    for (Type type : body.getTerminator()->getOperandTypes())
      kernel.outputs.push_back(cast<RankedTensorType>(type));
    kernel.symbol = op.getSymbol().value_or(op.getSymName()).str();
    kernel.ptx = ptx.get();
    if (ArrayAttr grids = op.getGridsAttr())
      kernel.grids = llvm::to_vector(grids.getAsRange<GridAttr>());
    if (library)
      kernel.entry = reinterpret_cast<CompiledKernel::Entry *>(dlsym(library, kernel.symbol.c_str()));
    EXPECT_TRUE(kernel.entry || ptx) << kernel.name;
    kernels.push_back(std::move(kernel));
  }
}

void CompiledKernels::load(BinaryOp binary) {
  if (binary.getKind() == ImageKind::ptx) {
    ptxText = binary.getImage().str();
    ptx = std::make_unique<PtxKernels>(ptxText);
    EXPECT_EQ(ptx->getError(), "");
    return;
  }
  library = loadLibrary(binary.getImage());
  EXPECT_TRUE(library) << dlerror();
}

CompiledKernels::~CompiledKernels() {
  if (library)
    dlclose(library);
}

const CompiledKernel &CompiledKernels::get(StringRef name) const {
  return *llvm::find_if(kernels, [&](const CompiledKernel &kernel) { return kernel.name == name; });
}

std::string mlir::epl::test::substitute(std::string text,
                                        const std::vector<std::pair<std::string, std::string>> &values) {
  for (auto &[name, value] : values)
    for (size_t at; (at = text.find("$" + name)) != std::string::npos;)
      text.replace(at, name.size() + 1, value);
  return text;
}
