//===- MaskedAccess.cpp - Masked accesses that x86 has -------------------------===//
//
// Problem: x86 has no masked accesses of bf16, and of f16 only with AVX512-FP16. LLVM goes lane by lane then,
// each lane through f32: a call of libgcc, which a plan does not link, where the CPU cannot convert.
//
// Method: the same accesses of integers, whose lanes are moved as they are.
//
// Invariant out: no masked access of 16-bit floats is left.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/MaskedAccess.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace {
/// What a masked access of vectors of 16-bit floats is made of.
struct MaskedAccess {
  IntrinsicInst &inst;
  VectorType *floats;

  void moveBits();

private:
  Value *emit(IRBuilder<> &b, Type *bits);
  Align getAlign(unsigned pointer) const { return inst.getParamAlign(pointer).valueOrOne(); }
};
} // namespace

static std::optional<MaskedAccess> matchNarrowAccess(Instruction &inst) {
  auto *intrinsic = dyn_cast<IntrinsicInst>(&inst);
  if (!intrinsic)
    return std::nullopt;
  Type *type = nullptr;
  switch (intrinsic->getIntrinsicID()) {
  case Intrinsic::masked_load:
  case Intrinsic::masked_gather:
    type = inst.getType();
    break;
  case Intrinsic::masked_store:
  case Intrinsic::masked_scatter:
    type = intrinsic->getArgOperand(0)->getType();
    break;
  default:
    return std::nullopt;
  }
  if (!type->getScalarType()->is16bitFPTy())
    return std::nullopt;
  return MaskedAccess{*intrinsic, cast<VectorType>(type)};
}

/// The access of integers. Loads are (pointer, mask, otherwise), stores (value, pointer, mask).
Value *MaskedAccess::emit(IRBuilder<> &b, Type *bits) {
  auto operand = [&](unsigned index) { return inst.getArgOperand(index); };
  switch (inst.getIntrinsicID()) {
  case Intrinsic::masked_load:
    return b.CreateMaskedLoad(bits, operand(0), getAlign(0), operand(1), b.CreateBitCast(operand(2), bits));
  case Intrinsic::masked_gather:
    return b.CreateMaskedGather(bits, operand(0), getAlign(0), operand(1), b.CreateBitCast(operand(2), bits));
  case Intrinsic::masked_store:
    return b.CreateMaskedStore(b.CreateBitCast(operand(0), bits), operand(1), getAlign(1), operand(2));
  default:
    return b.CreateMaskedScatter(b.CreateBitCast(operand(0), bits), operand(1), getAlign(1), operand(2));
  }
}

void MaskedAccess::moveBits() {
  IRBuilder<> b(&inst);
  Value *access = emit(b, VectorType::getInteger(floats));
  if (!inst.getType()->isVoidTy())
    inst.replaceAllUsesWith(b.CreateBitCast(access, floats));
  inst.eraseFromParent();
}

void mlir::epl::moveNarrowFloatsAsBits(llvm::Module &module) {
  for (Function &function : module)
    for (Instruction &inst : make_early_inc_range(instructions(function)))
      if (auto access = matchNarrowAccess(inst))
        access->moveBits();
}
