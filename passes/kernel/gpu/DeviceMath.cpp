//===- DeviceMath.cpp - Functions of libm on a GPU -------------------------------===//
//
// Problem: a GPU has no libm. LLVM writes calls of undefined functions into PTX without a word.
//
// Method: libdevice, a module of LLVM's bitcode that NVIDIA's compiler links, has libm's functions with the
// prefix "__nv_", those of f32 with the suffix "f". What PTX has no instruction for becomes a call of them.
//
// Reference: CUDA, "Libdevice User's Guide".
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/gpu/DeviceMath.h"

#include "passes/kernel/gpu/Libdevice.h"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"

using namespace mlir;
using namespace mlir::epl;

static constexpr StringLiteral kPrefix = "__nv_";

// The function of libm that an instruction stands for; none if PTX has the instruction.
static StringRef getFunction(llvm::Instruction &instruction) {
  if (instruction.getOpcode() == llvm::Instruction::FRem)
    return "fmod";
  auto *call = dyn_cast<llvm::IntrinsicInst>(&instruction);
  switch (call ? call->getIntrinsicID() : llvm::Intrinsic::not_intrinsic) {
  case llvm::Intrinsic::acos:
    return "acos";
  case llvm::Intrinsic::asin:
    return "asin";
  case llvm::Intrinsic::atan:
    return "atan";
  case llvm::Intrinsic::atan2:
    return "atan2";
  case llvm::Intrinsic::cos:
    return "cos";
  case llvm::Intrinsic::cosh:
    return "cosh";
  case llvm::Intrinsic::exp:
    return "exp";
  case llvm::Intrinsic::exp10:
    return "exp10";
  case llvm::Intrinsic::exp2:
    return "exp2";
  case llvm::Intrinsic::log:
    return "log";
  case llvm::Intrinsic::log10:
    return "log10";
  case llvm::Intrinsic::log2:
    return "log2";
  case llvm::Intrinsic::pow:
    return "pow";
  case llvm::Intrinsic::powi:
    return "powi";
  case llvm::Intrinsic::sin:
    return "sin";
  case llvm::Intrinsic::sinh:
    return "sinh";
  case llvm::Intrinsic::tan:
    return "tan";
  case llvm::Intrinsic::tanh:
    return "tanh";
  default:
    return "";
  }
}

// Makes the instruction a call of libdevice's function.
static void replace(llvm::Instruction &instruction, StringRef function) {
  auto *call = dyn_cast<llvm::CallInst>(&instruction);
  SmallVector<llvm::Value *> arguments(call ? call->arg_begin() : instruction.op_begin(),
                                       call ? call->arg_end() : instruction.op_end());
  SmallVector<llvm::Type *> types =
      llvm::map_to_vector(arguments, [](llvm::Value *v) { return v->getType(); });
  std::string name = (kPrefix + function + (instruction.getType()->isFloatTy() ? "f" : "")).str();
  llvm::FunctionCallee callee = instruction.getModule()->getOrInsertFunction(
      name, llvm::FunctionType::get(instruction.getType(), types, /*isVarArg=*/false));
  llvm::IRBuilder<> b(&instruction);
  instruction.replaceAllUsesWith(b.CreateCall(callee, arguments));
  instruction.eraseFromParent();
}

// The functions that the module calls and nobody has defined.
static SmallVector<llvm::Function *> getUndefined(llvm::Module &module) {
  SmallVector<llvm::Function *> undefined;
  for (llvm::Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic() && !function.use_empty())
      undefined.push_back(&function);
  return undefined;
}

static void callLibdevice(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(function)))
      if (StringRef name = getFunction(instruction); !name.empty())
        replace(instruction, name);
  for (llvm::Function *function : getUndefined(module))
    if (!function->getName().starts_with(kPrefix))
      function->setName(kPrefix + function->getName());
}

LogicalResult mlir::epl::linkDeviceMath(llvm::Module &module, std::string &error) {
  callLibdevice(module);
  if (getUndefined(module).empty())
    return success();
  llvm::MemoryBufferRef bytes(getLibdevice(), "libdevice");
  llvm::Expected<std::unique_ptr<llvm::Module>> library =
      llvm::getLazyBitcodeModule(bytes, module.getContext());
  if (!library) {
    error = "cannot read libdevice: " + llvm::toString(library.takeError());
    return failure();
  }
  (*library)->setTargetTriple(module.getTargetTriple());
  (*library)->setDataLayout(module.getDataLayout());
  if (llvm::Linker::linkModules(module, std::move(*library), llvm::Linker::Flags::LinkOnlyNeeded)) {
    error = "cannot link libdevice";
    return failure();
  }
  for (llvm::Function *function : getUndefined(module))
    if (function->getName() != "__nvvm_reflect") {
      StringRef name = function->getName();
      name.consume_front(kPrefix);
      error = "no function of a GPU does \"" + name.str() + "\"";
      return failure();
    }
  return success();
}
