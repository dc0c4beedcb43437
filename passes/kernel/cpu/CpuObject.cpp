//===- CpuObject.cpp - Machine code of loop nests --------------------------------===//
//
// Problem: loop nests must become machine code within milliseconds.
//
// Method: a target machine of its own for each call. In LLVM only what the nests still need: they come with
// their vectors, and a loop vectorizer or a full O2 takes ten times longer for the same speed. Scalar nests
// are code for tests: O1 would make them a sixth faster and take twice as long.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/cpu/CpuObject.h"

#include "passes/kernel/convert/ToLlvm.h"

#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace mlir::epl;

static std::unique_ptr<llvm::TargetMachine> makeTargetMachine(const CpuTarget &target, CodeStyle style) {
  llvm::Triple triple(kCpuTriple);
  std::string error;
  const llvm::Target *backend = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backend)
    return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion = style == CodeStyle::loops ? llvm::FPOpFusion::Standard : llvm::FPOpFusion::Fast;
  auto level = style == CodeStyle::loops ? llvm::CodeGenOptLevel::Less : llvm::CodeGenOptLevel::Default;
  return std::unique_ptr<llvm::TargetMachine>(backend->createTargetMachine(
      triple, "x86-64", target.getFeatureString(), options, llvm::Reloc::PIC_, std::nullopt, level));
}

// void k(ptr buffers, ptr coordinates, i64 begin, i64 end), where the nest is "k.body": loads the pointers
// and calls it.
static void addEntryPoint(llvm::Function &nest) {
  llvm::IRBuilder<> b(nest.getContext());
  auto *type =
      llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getPtrTy(), b.getInt64Ty(), b.getInt64Ty()},
                              /*isVarArg=*/false);
  auto *entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                       nest.getName().drop_back(kNestSuffix.size()), *nest.getParent());
  b.SetInsertPoint(llvm::BasicBlock::Create(nest.getContext(), "entry", entry));
  unsigned numBuffers = nest.arg_size() - 3; // the last three: coordinates, begin, end
  SmallVector<llvm::Value *> arguments;
  for (unsigned index = 0; index < numBuffers; ++index)
    arguments.push_back(
        b.CreateLoad(b.getPtrTy(), b.CreateConstInBoundsGEP1_64(b.getPtrTy(), entry->getArg(0), index)));
  for (unsigned index = 1; index < 4; ++index)
    arguments.push_back(entry->getArg(index));
  b.CreateCall(&nest, arguments);
  b.CreateRetVoid();
  nest.setLinkage(llvm::GlobalValue::InternalLinkage);
  nest.addFnAttr(llvm::Attribute::NoInline);
}

static void prepareFunctions(llvm::Module &module, const CpuTarget &target) {
  SmallVector<llvm::Function *> nests;
  for (llvm::Function &function : module)
    if (function.getName().ends_with(kNestSuffix))
      nests.push_back(&function);
  for (llvm::Function *nest : nests)
    addEntryPoint(*nest);
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", "x86-64");
    function.addFnAttr("tune-cpu", target.cpu);
    function.addFnAttr("target-features", target.getFeatureString());
    function.addFnAttr("prefer-vector-width", std::to_string(target.getVectorBits()));
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
}

/// Of a value that was truncated to 8 or 16 bits, LLVM 22 writes the lane as it was before, 32 bits: over
/// what lies behind it (X86, combineMaskedStore). So what masks one lane stores an element.
static void storeLane(llvm::IntrinsicInst &store) {
  llvm::Value *vector = store.getArgOperand(0), *mask = store.getArgOperand(2);
  int lane = isa<llvm::ConstantVector>(mask) ? llvm::possiblyDemandedEltsInMask(mask).exactLogBase2() : -1;
  if (lane < 0)
    return;
  llvm::IRBuilder<> b(&store);
  llvm::Value *element = b.CreateExtractElement(vector, lane);
  llvm::Value *address = b.CreateConstInBoundsGEP1_64(element->getType(), store.getArgOperand(1), lane);
  uint64_t offset = lane * store.getDataLayout().getTypeStoreSize(element->getType());
  b.CreateAlignedStore(element, address, commonAlignment(store.getParamAlign(1).valueOrOne(), offset));
  store.eraseFromParent();
}

static void storeLanes(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(function)))
      if (auto *call = dyn_cast<llvm::IntrinsicInst>(&instruction);
          call && call->getIntrinsicID() == llvm::Intrinsic::masked_store)
        storeLane(*call);
}

FailureOr<ObjectBytes> mlir::epl::compileCpuObject(StringRef text, const CpuTarget &target, CodeStyle style,
                                                   std::string &error, function_ref<void()> compiled) {
  llvm::LLVMContext context;
  FloatSupport floats{target.has("avx512bf16"), target.has("f16c"), /*hasRegisters=*/false};
  std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(target, style);
  if (!machine) {
    error = "this LLVM has no x86-64 backend";
    return failure();
  }
  std::unique_ptr<llvm::Module> code = convertToLlvm(text, floats, *machine, context, error);
  if (!code)
    return failure();
  prepareFunctions(*code, target);
  StringRef pipeline = "function(sroa,early-cse<memssa>,loop-mssa(licm),instcombine<no-verify-fixpoint>,"
                       "simplifycfg,early-cse)";
  if (failed(runLlvmPasses(pipeline, *code, *machine, error)))
    return failure();
  storeLanes(*code);
  return emitCode(*code, *machine, llvm::CodeGenFileType::ObjectFile, compiled);
}
