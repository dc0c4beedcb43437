//===- CpuObject.cpp - Machine code of loop nests --------------------------------===//
//
// Problem: loop nests in scf, memref, vector, arith and math must become machine code within milliseconds.
//
// Method: a context and a target machine of its own for each call. One conversion pipeline to the LLVM
// dialect; in LLVM only what the nests still need: they come with their vectors, and a loop vectorizer or a
// full O2 takes ten times longer for the same speed. Scalar nests are code for tests: O1 would make them a
// sixth faster and take twice as long.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/cpu/CpuObject.h"

#include "passes/kernel/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace mlir::epl;

constexpr StringLiteral kNestSuffix = ".body";

static void addConversions(OpPassManager &pm, const CpuTarget &target) {
  arith::ArithEmulateUnsupportedFloatsOptions narrow;
  narrow.sourceTypeStrs = {"bf16", "f16"};
  pm.addPass(arith::createArithEmulateUnsupportedFloats(narrow));
  pm.addPass(math::createMathExtendToSupportedTypes());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createWidenNarrowFloats()); // the canonicalizer joins a conversion and a truncation again
  pm.addPass(createApproximateMath());
  // Without the instruction LLVM calls __truncsfbf2, which not every libgcc has.
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = !target.has("avx512bf16");
  pm.addPass(arith::createArithExpandOpsPass(expand));
  if (!target.has("f16c"))
    pm.addPass(createExpandHalf());
  pm.addPass(createEncodeNarrowFloats());
  pm.addPass(createConvertMathToFuncs());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createLoopInvariantCodeMotionPass());
  pm.addPass(createConvertVectorToSCFPass(VectorTransferToSCFOptions().enableFullUnroll()));
  ConvertVectorToLLVMPassOptions vector;
  vector.reassociateFPReductions = true;
  pm.addPass(createConvertVectorToLLVMPass(vector));
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertIndexToLLVMPass());
  ConvertFuncToLLVMPassOptions func;
  func.useBarePtrCallConv = true;
  pm.addPass(createConvertFuncToLLVMPass(func));
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registry.insert<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect,
                  math::MathDialect, memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  return registry;
}

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

// void k(ptr buffers, ptr coordinates, i64 begin, i64 end), where `name` is "k.body": loads the pointers and
// calls the nest.
static void addEntryPoint(llvm::Function &nest, StringRef name) {
  llvm::IRBuilder<> b(nest.getContext());
  auto *type =
      llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getPtrTy(), b.getInt64Ty(), b.getInt64Ty()},
                              /*isVarArg=*/false);
  auto *entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                       name.drop_back(kNestSuffix.size()), *nest.getParent());
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

static void prepareFunctions(llvm::Module &module, ArrayRef<NestAlias> aliases, const CpuTarget &target) {
  SmallVector<llvm::Function *> nests;
  for (llvm::Function &function : module)
    if (function.getName().ends_with(kNestSuffix))
      nests.push_back(&function);
  for (llvm::Function *nest : nests)
    addEntryPoint(*nest, nest->getName());
  for (const NestAlias &alias : aliases)
    addEntryPoint(*module.getFunction(alias.nest), alias.name);
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

static llvm::Error optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PassBuilder builder(&machine);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  StringRef pipeline = "function(sroa,early-cse<memssa>,loop-mssa(licm),instcombine<no-verify-fixpoint>,"
                       "simplifycfg,early-cse)";
  llvm::ModulePassManager passes;
  if (llvm::Error error = builder.parsePassPipeline(passes, pipeline))
    return error;
  passes.run(module, modules);
  storeLanes(module);
  return llvm::Error::success();
}

namespace {

// Stands behind the emission of machine code, which goes function by function.
class KernelCounter : public llvm::FunctionPass {
public:
  explicit KernelCounter(function_ref<void()> compiled) : FunctionPass(id), compiled(compiled) {}

  bool runOnFunction(llvm::Function &function) override {
    if (function.hasExternalLinkage()) // entry points; the nests are internal
      compiled();
    return false;
  }
  void getAnalysisUsage(llvm::AnalysisUsage &usage) const override { usage.setPreservesAll(); }

private:
  static char id;
  function_ref<void()> compiled;
};

char KernelCounter::id = 0;

} // namespace

static OwningOpRef<ModuleOp> lowerToLLVMDialect(StringRef text, MLIRContext &context,
                                                const CpuTarget &target) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return nullptr;
  PassManager pm(&context);
  pm.enableVerifier(false);
  addConversions(pm, target);
  return succeeded(pm.run(*module)) ? std::move(module) : nullptr;
}

FailureOr<ObjectBytes> mlir::epl::compileCpuObject(StringRef text, ArrayRef<NestAlias> aliases,
                                                   const CpuTarget &target, CodeStyle style,
                                                   std::string &error, function_ref<void()> compiled) {
  MLIRContext context(makeRegistry(), MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (error.empty())
      error = diagnostic.str();
    return success();
  });
  OwningOpRef<ModuleOp> module = lowerToLLVMDialect(text, context, target);
  if (!module)
    return failure();
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(*module, llvmContext);
  std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(target, style);
  if (!code || !machine) {
    error = error.empty() ? "this LLVM has no x86-64 backend" : error;
    return failure();
  }
  code->setDataLayout(machine->createDataLayout());
  code->setTargetTriple(machine->getTargetTriple());
  prepareFunctions(*code, aliases, target);
  if (llvm::Error failed = optimize(*code, *machine)) {
    error = llvm::toString(std::move(failed));
    return failure();
  }
  ObjectBytes bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager emitter;
  machine->addPassesToEmitFile(emitter, stream, nullptr, llvm::CodeGenFileType::ObjectFile);
  emitter.add(new KernelCounter(compiled));
  emitter.run(*code);
  return bytes;
}
