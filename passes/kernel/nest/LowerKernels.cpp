//===- LowerKernels.cpp - Loop nests of kernels ----------------------------------===//
//
// Problem: a kernel says what it computes, on tensors; a CPU and the threads of a GPU want loops over memory.
//
// Method: each kernel that no library runs becomes a function `@<kernel>.body`. The forms are tried from the
// fastest to the most general one; the general one takes every kernel. On a GPU threads share the slices of
// fused loops; of all other forms each thread runs slices of its own, without vectors: neither tiles of
// registers nor squares of a transpose, but elements.
//
// Invariant in: outlined kernels of static shapes. Invariant out: `form`, `extent`, `workspace` and `flops`
// are set, for a GPU `grids`; launches over any cut of [0, extent) together compute the kernel; `in_place`
// holds what the nest keeps.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/Passes.h"
#include "passes/kernel/cluster/WidenAccumulators.h"
#include "passes/kernel/nest/ContractionNest.h"
#include "passes/kernel/nest/ElementContraction.h"
#include "passes/kernel/nest/FusedNest.h"
#include "passes/kernel/nest/GeneralNest.h"
#include "passes/kernel/nest/SharedTranspose.h"
#include "passes/kernel/nest/SortNest.h"
#include "passes/kernel/nest/ThreadGroup.h"
#include "passes/kernel/nest/ThreadedNest.h"
#include "passes/kernel/nest/TransposeNest.h"
#include "passes/kernel/target/CpuTarget.h"
#include "passes/kernel/target/GpuTarget.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

namespace mlir::epl {
#define GEN_PASS_DEF_LOWERKERNELS
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

// The domain of an op may be larger than its tensors, and its size more than 64 bits hold: then it is the
// most.
static uint64_t countArithmetic(Block &payload, ArrayRef<int64_t> domain) {
  uint64_t ops = llvm::count_if(payload.without_terminator(),
                                [](Operation &op) { return OpTrait::hasElementwiseMappableTraits(&op); });
  return std::accumulate(domain.begin(), domain.end(), ops, [](uint64_t total, int64_t extent) {
    return llvm::SaturatingMultiply(total, uint64_t(extent));
  });
}

// Arithmetic ops of the payloads times their iteration spaces: what a scheduler wants to know, not more.
static int64_t countFlops(KernelOp kernel) {
  uint64_t flops = 0;
  kernel.getBody().walk([&](linalg::LinalgOp op) {
    flops = llvm::SaturatingAdd(flops, countArithmetic(*op.getBlock(), op.getStaticLoopRanges()));
  });
  kernel.getBody().walk([&](SortOp op) {
    uint64_t levels = llvm::Log2_64_Ceil(std::max<int64_t>(op.getShape()[op.getDim()], 1));
    flops = llvm::SaturatingMultiplyAdd(levels, countArithmetic(op.getComparator().front(), op.getShape()),
                                        flops);
  });
  return int64_t(std::min<uint64_t>(flops, std::numeric_limits<int64_t>::max()));
}

namespace {

struct LowerKernels : mlir::epl::impl::LowerKernelsBase<LowerKernels> {
  using LowerKernelsBase::LowerKernelsBase;

  void runOnOperation() override {
    FailureOr<unsigned> vectorBits = getVectorBits();
    if (failed(vectorBits))
      return signalPassFailure();
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<KernelOp>()))
      if (isCode(kernel) && failed(lower(kernel, *vectorBits)))
        return signalPassFailure();
  }

  /// Of the target's registers; 0: nests are scalar.
  FailureOr<unsigned> getVectorBits() {
    if (!gpu.empty())
      return failed(getGpuTarget(getOperation(), gpu)) ? FailureOr<unsigned>(failure()) : 0u;
    FailureOr<CpuTarget> target = getCpuTarget(getOperation(), cpu);
    return failed(target) ? FailureOr<unsigned>(failure()) : target->getVectorBits();
  }

  /// Whether neither a library nor the runtime does what the kernel says.
  static bool isCode(KernelOp kernel) {
    return !kernel.getGemm() && !kernel.getCopies() && !kernel.getAttentionGradient() &&
           kernel.getKind() != KernelKind::factorization;
  }

  LogicalResult lower(KernelOp kernel, unsigned vectorBits) {
    kernel.setFlops(countFlops(kernel));
    if (failed(lowerInForm(kernel, vectorBits)))
      return failure();
    if (!gpu.empty() && !kernel.getGrids())
      setGrids(kernel, getSlices(kernel));
    return success();
  }

  /// Each thread runs slices of its own.
  static ThreadPhase getSlices(KernelOp kernel) {
    ThreadPhase phase{ThreadPhase::Kind::rows};
    phase.extent = int64_t(*kernel.getExtent());
    phase.isBlock = false;
    return phase;
  }

  /// The threads of a GPU for launches; what blocks do not reach, they do in further rounds.
  static void setGrids(KernelOp kernel, ArrayRef<ThreadPhase> phases) {
    SmallVector<Attribute> grids;
    for (auto [number, phase] : llvm::enumerate(phases)) {
      int64_t blocks = std::min(phase.getBlocks(), kMostBlocks);
      grids.push_back(GridAttr::get(kernel.getContext(), blocks, phase.getBlockThreads(), /*shared=*/0,
                                    phase.getThreads(), phase.slice, phase.extent));
      setThreads(getNest(kernel, number), phase.getThreads(), blocks < phase.getBlocks());
    }
    kernel.setGridsAttr(ArrayAttr::get(kernel.getContext(), grids));
  }

  LogicalResult lowerInForm(KernelOp kernel, unsigned vectorBits) {
    if (!loops && (vectorBits ? lowerInVectors(kernel, vectorBits) : lowerInElements(kernel)))
      return success();
    if (std::optional<SortPlan> plan = loops ? std::nullopt : matchSort(kernel)) {
      lowerSort(kernel, *plan);
      return success();
    }
    widenAccumulators(kernel);
    if (!loops && !gpu.empty() && lowerInThreads(kernel))
      return success();
    if (std::unique_ptr<FusionPlan> plan = loops ? nullptr : planFusion(kernel)) {
      lowerFused(kernel, *plan, vectorBits);
      return success();
    }
    KernelFunction function(kernel, /*shared=*/false);
    if (failed(emitGeneralNest(kernel, function, loops ? 0 : vectorBits)))
      return failure();
    kernel.setForm("general");
    kernel.setExtent(1);
    kernel.removeInPlaceAttr(); // op by op, an operand is read long after other results are stored
    kernel.setWorkspace(function.finish());
    return success();
  }

  /// Forms that need vectors. False if the kernel has none of them.
  static bool lowerInVectors(KernelOp kernel, unsigned vectorBits) {
    if (std::optional<Transpose> transpose = matchTranspose(kernel, vectorBits))
      lowerTranspose(kernel, *transpose);
    else if (std::optional<TiledContraction> tiled = matchTiling(kernel, vectorBits))
      lowerContraction(kernel, *tiled);
    else
      return false;
    return true;
  }

  /// Forms for many threads. False if the kernel has none of them.
  static bool lowerInElements(KernelOp kernel) {
    if (lowerSharedTranspose(kernel))
      return true;
    std::optional<ContractionParts> contraction = matchContraction(kernel);
    if (!contraction)
      return false;
    KernelFunction function(kernel, /*shared=*/false);
    emitElementContraction(*contraction, function);
    kernel.setForm("element");
    kernel.setExtent(cast<MemRefType>(function.getOutput(0).getType()).getNumElements());
    kernel.setFlops(countProducts(contraction->parts));
    kernel.removeInPlaceAttr(); // the operands are read again and again
    kernel.setWorkspace(function.finish());
    return true;
  }

  /// Multiplications and additions, without those of zeros between elements.
  template <typename Contractions> static int64_t countProducts(const Contractions &parts) {
    int64_t products = 0;
    for (const StridedContraction &part : parts)
      products += getVolume(part.loops);
    return 2 * products;
  }

  static void lowerTranspose(KernelOp kernel, const Transpose &transpose) {
    KernelFunction function(kernel, /*shared=*/false);
    emitTransposeNest(transpose, function);
    finishTranspose(kernel, transpose.extent, function);
  }

  static bool lowerSharedTranspose(KernelOp kernel) {
    std::optional<Transpose> transpose = matchTranspose(kernel, kAccessBits);
    std::optional<ThreadPhase> phase = transpose ? planSharedTranspose(*transpose) : std::nullopt;
    if (!phase)
      return false;
    KernelFunction function(kernel, /*shared=*/false);
    emitSharedTranspose(*transpose, *phase, function);
    finishTranspose(kernel, phase->extent, function);
    setGrids(kernel, *phase);
    return true;
  }

  static void finishTranspose(KernelOp kernel, int64_t extent, KernelFunction &function) {
    kernel.setForm("transpose");
    kernel.setExtent(extent);
    kernel.removeInPlaceAttr(); // a square is stored where others are still to be read
    kernel.setWorkspace(function.finish());
  }

  static std::optional<TiledContraction> matchTiling(KernelOp kernel, unsigned vectorBits) {
    std::optional<ContractionParts> contraction = matchContraction(kernel);
    return contraction ? tileParts(*contraction, vectorBits) : std::nullopt;
  }

  static void lowerContraction(KernelOp kernel, const TiledContraction &tiled) {
    KernelFunction function(kernel, /*shared=*/false);
    emitContractionNest(tiled, function);
    kernel.setForm("tiled");
    kernel.setExtent(getExtent(tiled));
    auto getContraction = [](const ContractionTiling &part) -> const StridedContraction & {
      return part.contraction;
    };
    kernel.setFlops(countProducts(llvm::map_range(tiled.parts, getContraction)));
    kernel.removeInPlaceAttr(); // the operands are read again and again
    kernel.setWorkspace(function.finish());
  }

  void lowerSort(KernelOp kernel, const SortPlan &plan) {
    KernelFunction function(kernel, /*shared=*/false);
    emitSortNest(kernel, plan, function);
    kernel.setForm("sort");
    kernel.setExtent(plan.extent);
    kernel.setWorkspace(function.finish());
  }

  static StringRef getName(Form form) {
    static const StringRef names[] = {"flat", "row", "column"};
    return names[size_t(form)];
  }

  /// What of the kernel's `in_place` a plan keeps.
  static SmallVector<int32_t> getInPlace(KernelOp kernel, FusionPlan &plan) {
    return keepInPlace(kernel, plan, kernel.getInPlace().value_or(ArrayRef<int32_t>()));
  }

  static void setInPlace(KernelOp kernel, ArrayRef<int32_t> inPlace) {
    if (sharesStorage(inPlace))
      kernel.setInPlace(inPlace);
    else
      kernel.removeInPlaceAttr();
  }

  static bool sharesStorage(ArrayRef<int32_t> inPlace) {
    return llvm::any_of(inPlace, [](int32_t input) { return input != -1; });
  }

  /// Fused loops whose slices threads share. False if the kernel has none.
  static bool lowerInThreads(KernelOp kernel) {
    std::unique_ptr<FusionPlan> plan = planFusion(kernel, /*inParts=*/true);
    if (!plan)
      return false;
    SmallVector<int32_t> inPlace = getInPlace(kernel, *plan);
    SmallVector<ThreadPhase> phases = planThreads(*plan, inPlace);
    if (phases.empty())
      return false;
    setInPlace(kernel, inPlace);
    std::vector<std::unique_ptr<KernelFunction>> functions;
    functions.reserve(phases.size());
    for (size_t phase = 0; phase < phases.size(); ++phase)
      functions.push_back(std::make_unique<KernelFunction>(kernel, sharesStorage(inPlace), phase));
    auto pointers = llvm::map_to_vector(functions, [](auto &function) { return function.get(); });
    emitThreadedNests(kernel, *plan, phases, inPlace, pointers);
    kernel.setForm(getName(plan->form));
    kernel.setExtent(phases.front().extent);
    setGrids(kernel, phases);
    kernel.setWorkspace(KernelFunction::finish(pointers));
    return true;
  }

  void lowerFused(KernelOp kernel, FusionPlan &plan, unsigned vectorBits) {
    SmallVector<int32_t> inPlace = getInPlace(kernel, plan);
    setInPlace(kernel, inPlace);
    KernelFunction function(kernel, sharesStorage(inPlace));
    emitFusedNest(kernel, plan, inPlace, vectorBits, function);
    kernel.setForm(getName(plan.form));
    kernel.setExtent(plan.extent);
    kernel.setWorkspace(function.finish());
  }
};

} // namespace
