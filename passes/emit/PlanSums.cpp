//===- PlanSums.cpp - Products that add to what is there ------------------===//
//
// Problem: a contraction that starts from a value adds to it in its place, c; what is there has a buffer of
// its own, and may have other readers. Method: the sum that a loop carries has one reader, so each iteration
// but the first adds to the buffer that it gets. Before the first one the sum is zero, which no command need
// write: its product is the first summand. Any other value is copied to where the sum begins.
//
//===----------------------------------------------------------------------===//

#include "dialect/Carries.h"
#include "passes/emit/PlanBuilder.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::epl;

static KernelOp getKernel(LaunchOp launch) {
  return SymbolTable::lookupNearestSymbolFrom<KernelOp>(launch, launch.getKernelAttr());
}

/// Whether a kernel does nothing but make zeros.
static bool makesZeros(KernelOp kernel) {
  Operation *yield = kernel.getBody().front().getTerminator();
  return yield->getNumOperands() == 1 && matchPattern(yield->getOperand(0), m_AnyZeroFloat());
}

/// Whether a product of the library's, and nothing else, adds to what a loop carries.
static bool isSum(LoopCarryOp carry) {
  auto task = carry->hasOneUse() ? dyn_cast<TaskOp>(*carry->user_begin()) : TaskOp();
  if (!task)
    return false;
  Value read = followViews(task.getBody().front().getArgument(carry->use_begin()->getOperandNumber()));
  auto launch = read.hasOneUse() ? dyn_cast<LaunchOp>(*read.user_begin()) : LaunchOp();
  std::optional<GemmAttr> gemm = launch ? getKernel(launch).getGemm() : std::nullopt;
  return gemm && gemm->getAccumulate() && read.use_begin()->getOperandNumber() == 2;
}

/// Whether a launch makes zeros that loops add products to, and nothing else.
bool PlanBuilder::startsSums(LaunchOp launch, KernelOp kernel) const {
  if (!makesZeros(kernel) || !launch.getResult(0).hasOneUse())
    return false;
  OpOperand &use = *launch.getResult(0).use_begin();
  auto task = isa<YieldOp>(use.getOwner()) ? dyn_cast<TaskOp>(use.getOwner()->getParentOp()) : TaskOp();
  return task && llvm::all_of(task.getResult(use.getOperandNumber()).getUsers(), [](Operation *user) {
           auto carry = dyn_cast<LoopCarryOp>(user);
           return carry && isSum(carry);
         });
}

/// Sets where the contraction of `launch` adds to its third input, and whether there is something yet.
void PlanBuilder::beginSum(LaunchOp launch, plan::ContractT &contract, WorkAttr work) {
  Value before = launch.getInputs()[2], after = launch.getResult(0);
  uint32_t begin = buffers.lookup(before);
  contract.accumulate = begin != kZeros;
  LoopCarryOp carry = getReplacedCarry(before, after);
  if (carry && !beginning.contains(carry)) {
    contract.c = buffers[after] = begin;
    return;
  }
  contract.c = addBuffer(after, cast<RankedTensorType>(after.getType()), launch.getKernel());
  if (contract.accumulate)
    builder.copy(getInfo(launch, "copy", work), begin, contract.c);
}
