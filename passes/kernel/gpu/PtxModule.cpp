//===- PtxModule.cpp - Loop nests as PTX -----------------------------------------===//
//
// Problem: loop nests that were made for slices of an extent must become kernels of a GPU.
//
// Method: a slice for each group of threads (`kGroupAttr`), or a loop over slices where the grid has too few
// of them (`kRoundsAttr`). Functions of libm become those of libdevice, everything is inlined, and LLVM
// writes PTX. Denormals of f32 are flushed, as on CPUs.
//
// Invariant out: no kernel calls anything.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/gpu/PtxModule.h"

#include "passes/kernel/convert/ToLlvm.h"
#include "passes/kernel/gpu/DeviceMath.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace mlir::epl;

static std::unique_ptr<llvm::TargetMachine> makeTargetMachine(const GpuTarget &target) {
  llvm::Triple triple(kGpuTriple);
  std::string error;
  const llvm::Target *backend = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backend)
    return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  return std::unique_ptr<llvm::TargetMachine>(backend->createTargetMachine(
      triple, target.architecture, "", options, std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Default));
}

namespace {

// The kernel of a nest: both have the same parameters, but for the last two, which are the extent and the
// slice of the former.
class EntryEmitter {
public:
  explicit EntryEmitter(llvm::Function &nest)
      : nest(nest),
        entry(*llvm::Function::Create(nest.getFunctionType(), llvm::GlobalValue::ExternalLinkage,
                                      nest.getName().drop_back(kNestSuffix.size()), *nest.getParent())),
        b(nest.getContext()) {}

  void emit() {
    entry.setCallingConv(llvm::CallingConv::PTX_Kernel);
    for (unsigned index = 0; index < nest.arg_size(); ++index)
      if (nest.hasParamAttribute(index, llvm::Attribute::NoAlias))
        entry.addParamAttr(index, llvm::Attribute::NoAlias);
    llvm::Value *extent = entry.getArg(entry.arg_size() - 2), *slice = entry.getArg(entry.arg_size() - 1);
    auto *start = llvm::BasicBlock::Create(nest.getContext(), "", &entry);
    auto *head = llvm::BasicBlock::Create(nest.getContext(), "slices", &entry);
    auto *body = llvm::BasicBlock::Create(nest.getContext(), "slice", &entry);
    auto *done = llvm::BasicBlock::Create(nest.getContext(), "done", &entry);
    b.SetInsertPoint(start);
    llvm::Value *first = b.CreateMul(getGroup(), slice), *begin = first;
    b.CreateBr(head);
    b.SetInsertPoint(head);
    if (nest.hasFnAttribute(kRoundsAttr))
      begin = b.CreatePHI(b.getInt64Ty(), 2);
    b.CreateCondBr(b.CreateICmpSLT(begin, extent), body, done);
    b.SetInsertPoint(body);
    callNest(begin, b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b.CreateAdd(begin, slice), extent));
    if (auto *round = dyn_cast<llvm::PHINode>(begin)) {
      round->addIncoming(first, start);
      round->addIncoming(b.CreateAdd(begin, b.CreateMul(getGroups(), slice)), body);
    }
    b.CreateBr(begin == first ? done : head);
    b.SetInsertPoint(done);
    b.CreateRetVoid();
  }

private:
  llvm::Value *read(llvm::Intrinsic::ID number) {
    return b.CreateZExt(b.CreateIntrinsic(number, {}), b.getInt64Ty());
  }
  // Of threads, the group; of a number of threads, the groups.
  llvm::Value *toGroups(llvm::Value *threads) {
    uint64_t group = nest.getFnAttributeAsParsedInteger(kGroupAttr, 1);
    return b.CreateUDiv(threads, b.getInt64(group));
  }
  llvm::Value *getGroup() {
    llvm::Value *block = b.CreateMul(read(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x),
                                     read(llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x));
    return toGroups(b.CreateAdd(block, read(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x)));
  }
  llvm::Value *getGroups() {
    return toGroups(b.CreateMul(read(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x),
                                read(llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x)));
  }
  void callNest(llvm::Value *begin, llvm::Value *end) {
    SmallVector<llvm::Value *> arguments;
    for (llvm::Argument &argument : entry.args())
      arguments.push_back(&argument);
    arguments[arguments.size() - 2] = begin;
    arguments[arguments.size() - 1] = end;
    b.CreateCall(&nest, arguments);
  }

  llvm::Function &nest, &entry;
  llvm::IRBuilder<> b;
};

} // namespace

static void addEntries(llvm::Module &module) {
  SmallVector<llvm::Function *> nests;
  for (llvm::Function &function : module)
    if (function.getName().ends_with(kNestSuffix))
      nests.push_back(&function);
  for (llvm::Function *nest : nests)
    EntryEmitter(*nest).emit();
}

// Everything but kernels goes into them.
static void prepareFunctions(llvm::Module &module) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("denormal-fp-math-f32", "preserve-sign,preserve-sign");
    function.addFnAttr(llvm::Attribute::NoUnwind);
    if (function.getCallingConv() == llvm::CallingConv::PTX_Kernel)
      continue;
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.removeFnAttr(llvm::Attribute::NoInline);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
  module.addModuleFlag(llvm::Module::Override, "nvvm-reflect-ftz", 1);
}

FailureOr<ObjectBytes> mlir::epl::compilePtx(StringRef text, const GpuTarget &target, std::string &error,
                                             function_ref<void()> compiled) {
  llvm::LLVMContext context;
  FloatSupport floats{/*convertsBf16=*/true, /*convertsHalf=*/true, /*hasRegisters=*/true,
                      /*hasMaxima=*/true, /*hasExp=*/true};
  std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(target);
  if (!machine) {
    error = "this LLVM has no backend for PTX";
    return failure();
  }
  std::unique_ptr<llvm::Module> code = convertToLlvm(text, floats, *machine, context, error);
  if (!code)
    return failure();
  addEntries(*code);
  if (failed(runLlvmPasses("function(scalarizer)", *code, *machine, error)) ||
      failed(linkDeviceMath(*code, error)))
    return failure();
  prepareFunctions(*code);
  StringRef pipeline = "nvvm-reflect,always-inline,globaldce,function(sroa,early-cse<memssa>,loop-mssa(licm),"
                       "instcombine<no-verify-fixpoint>,simplifycfg,early-cse,infer-address-spaces)";
  if (failed(runLlvmPasses(pipeline, *code, *machine, error)))
    return failure();
  return emitCode(*code, *machine, llvm::CodeGenFileType::AssemblyFile, compiled);
}

// What stands once at the top of a module.
static constexpr StringLiteral kHeaderEnd = ".address_size 64";

FailureOr<std::string> mlir::epl::joinPtx(ArrayRef<ObjectBytes> modules, std::string &error) {
  std::string joined;
  for (const ObjectBytes &module : modules) {
    auto [header, body] = StringRef(module.data(), module.size()).split(kHeaderEnd);
    if (header.size() == module.size()) {
      error = "LLVM has written PTX without \"" + kHeaderEnd.str() + "\"";
      return failure();
    }
    if (joined.empty())
      joined = header.str() + kHeaderEnd.str();
    joined += body;
  }
  return joined;
}

unsigned mlir::epl::getPtxVersion(StringRef ptx) {
  StringRef version = ptx.split(".version ").second;
  unsigned major = 0, minor = 0;
  if (version.consumeInteger(10, major) || !version.consume_front(".") || version.consumeInteger(10, minor))
    return 0;
  return 10 * major + minor;
}
