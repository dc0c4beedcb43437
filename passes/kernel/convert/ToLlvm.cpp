//===- ToLlvm.cpp - Loop nests in LLVM's IR --------------------------------------===//
//
// Problem: loop nests in scf, memref, vector, arith and math must become LLVM's IR within milliseconds, for
// CPUs and for GPUs.
//
// Method: a context of its own for each call; one conversion pipeline to the LLVM dialect.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/convert/ToLlvm.h"

#include "passes/kernel/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
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
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace mlir::epl;

namespace {

// Stands behind the emission of machine code, which goes function by function.
class EntryCounter : public llvm::FunctionPass {
public:
  explicit EntryCounter(function_ref<void()> compiled) : FunctionPass(id), compiled(compiled) {}

  bool runOnFunction(llvm::Function &function) override {
    if (function.hasExternalLinkage()) // the nests are internal
      compiled();
    return false;
  }
  void getAnalysisUsage(llvm::AnalysisUsage &usage) const override { usage.setPreservesAll(); }

private:
  static char id;
  function_ref<void()> compiled;
};

char EntryCounter::id = 0;

} // namespace

static void addConversions(OpPassManager &pm, const FloatSupport &support) {
  arith::ArithEmulateUnsupportedFloatsOptions narrow;
  narrow.sourceTypeStrs = {"bf16", "f16"};
  pm.addPass(arith::createArithEmulateUnsupportedFloats(narrow));
  pm.addPass(math::createMathExtendToSupportedTypes());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createWidenNarrowFloats()); // the canonicalizer joins a conversion and a truncation again
  pm.addPass(createApproximateMath({/*keepExp=*/support.hasExp}));
  if (support.hasMaxima)
    pm.addPass(createKeepMaxima());
  // Without the instruction LLVM calls __truncsfbf2, which not every libgcc has.
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = !support.convertsBf16;
  pm.addPass(arith::createArithExpandOpsPass(expand));
  if (!support.convertsHalf)
    pm.addPass(createExpandHalf());
  if (!support.hasRegisters)
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

std::unique_ptr<llvm::Module> mlir::epl::convertToLlvm(StringRef text, const FloatSupport &floats,
                                                       const llvm::TargetMachine &machine,
                                                       llvm::LLVMContext &llvmContext, std::string &error,
                                                       Lines lines) {
  MLIRContext context(makeRegistry(), MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (error.empty())
      error = diagnostic.str();
    return success();
  });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return nullptr;
  PassManager pm(&context);
  pm.enableVerifier(false);
  addConversions(pm, floats);
  if (lines == Lines::ofUser)
    pm.addPass(LLVM::createDIScopeForLLVMFuncOpPass({LLVM::DIEmissionKind::DebugDirectivesOnly}));
  if (failed(pm.run(*module)))
    return nullptr;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(*module, llvmContext);
  if (!code)
    return nullptr;
  code->setDataLayout(machine.createDataLayout());
  code->setTargetTriple(machine.getTargetTriple());
  return code;
}

LogicalResult mlir::epl::runLlvmPasses(StringRef pipeline, llvm::Module &module, llvm::TargetMachine &machine,
                                       std::string &error) {
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
  llvm::ModulePassManager passes;
  if (llvm::Error failed = builder.parsePassPipeline(passes, pipeline)) {
    error = llvm::toString(std::move(failed));
    return failure();
  }
  passes.run(module, modules);
  return success();
}

ObjectBytes mlir::epl::emitCode(llvm::Module &module, llvm::TargetMachine &machine,
                                llvm::CodeGenFileType type, function_ref<void()> compiled) {
  ObjectBytes bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager emitter;
  machine.addPassesToEmitFile(emitter, stream, nullptr, type);
  emitter.add(new EntryCounter(compiled));
  emitter.run(module);
  return bytes;
}
