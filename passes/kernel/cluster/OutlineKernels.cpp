//===- OutlineKernels.cpp - Clusters to kernels that are shared -----------===//
//
// Problem: layers repeat, so most clusters of a model compute the same thing as another one.
// Method: buckets by structural hash, then an exact comparison of the bodies that ignores locations. The
// number of distinct kernels, and with it compile time, does not grow with a model's depth.
//
// In: task bodies of clusters and views. Out: `epl.kernel`s at module level, named by first use, and
// launches.
//
//===----------------------------------------------------------------------===//

#include "passes/kernel/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::epl {
#define GEN_PASS_DEF_OUTLINEKERNELS
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

namespace {

constexpr auto kEquivalence =
    OperationEquivalence::IgnoreLocations | OperationEquivalence::IgnoreDiscardableAttrs;
/// How many ops a kernel's name may spell out.
constexpr size_t kHintWords = 3;

llvm::hash_code hashBody(KernelKind kind, Region &body) {
  llvm::hash_code hash = llvm::hash_value(kind);
  for (Type type : body.getArgumentTypes())
    hash = llvm::hash_combine(hash, type);
  body.walk([&](Operation *op) {
    hash = llvm::hash_combine(
        hash, OperationEquivalence::computeHash(op, OperationEquivalence::ignoreHashValue,
                                                OperationEquivalence::ignoreHashValue, kEquivalence));
  });
  return hash;
}

/// The name of an op as a part of a kernel's name, "" if it says nothing: "addf" is "add".
StringRef getWord(Operation *op) {
  if (isa<arith::ConstantOp, tensor::EmptyOp, linalg::IndexOp, linalg::LinalgOp>(op) ||
      op->hasTrait<OpTrait::IsTerminator>())
    return "";
  if (isa<tensor::ExtractOp>(op))
    return "gather";
  StringRef name = op->getName().stripDialect();
  if (isa<arith::ArithDialect>(op->getDialect()) && (name.ends_with("f") || name.ends_with("i")))
    return name.drop_back();
  return name;
}

/// How little an op says about what its kernel is for: functions and gathers tell most, conversions and
/// choices least.
int getVagueness(Operation *op) {
  if (isa<math::MathDialect>(op->getDialect()) || isa<tensor::ExtractOp>(op))
    return 0;
  return isa<CastOpInterface, arith::CmpFOp, arith::CmpIOp, arith::SelectOp>(op) ? 2 : 1;
}

/// What a kernel does, in a few of its ops, the most telling first: "matmul", "exp_sub_add".
std::string getHint(ClusterOp cluster) {
  if (cluster.getKind() == KernelKind::contraction)
    return "matmul";
  if (auto factorize = dyn_cast<FactorizeOp>(cluster.getBody().front().front()))
    return stringifyFactorizationKind(factorize.getKind()).str();
  llvm::SetVector<StringRef> words;
  for (int vagueness : {0, 1, 2}) {
    if (vagueness == 2 && !words.empty())
      break;
    cluster.getBody().walk([&](Operation *op) {
      if (StringRef word = getWord(op); getVagueness(op) == vagueness && !word.empty())
        words.insert(word);
    });
  }
  auto first = words.getArrayRef().take_front(kHintWords);
  return first.empty() ? "copy" : llvm::join(first, "_");
}

/// Kernels by structure.
class KernelTable {
public:
  explicit KernelTable(ModuleOp module) : symbols(module), builder(module.getContext()) {}
  /// The kernel that `cluster` is, made of its body if it is the first one of its structure.
  KernelOp getKernel(ClusterOp cluster) {
    auto &bucket = buckets[hashBody(cluster.getKind(), cluster.getBody())];
    for (KernelOp kernel : bucket)
      if (kernel.getKind() == cluster.getKind() &&
          OperationEquivalence::isRegionEquivalentTo(&kernel.getBody(), &cluster.getBody(), kEquivalence))
        return kernel;
    std::string name = "k" + std::to_string(count++) + "_" + getHint(cluster);
    auto kernel = KernelOp::create(builder, cluster.getLoc(), name, cluster.getKind());
    kernel.getBody().takeBody(cluster.getBody());
    symbols.insert(kernel);
    bucket.push_back(kernel);
    return kernel;
  }

private:
  SymbolTable symbols;
  OpBuilder builder;
  size_t count = 0;
  DenseMap<size_t, SmallVector<KernelOp>> buckets;
};

struct OutlineKernelsPass : epl::impl::OutlineKernelsBase<OutlineKernelsPass> {
  void runOnOperation() override {
    KernelTable kernels(getOperation());
    SmallVector<ClusterOp> clusters;
    getOperation().walk([&](ClusterOp cluster) { clusters.push_back(cluster); });
    for (ClusterOp cluster : clusters) {
      OpBuilder builder(cluster);
      auto launch = LaunchOp::create(builder, cluster.getLoc(), cluster.getResultTypes(),
                                     FlatSymbolRefAttr::get(kernels.getKernel(cluster)), cluster.getInputs());
      launch->setDiscardableAttrs(cluster->getDiscardableAttrDictionary());
      cluster.replaceAllUsesWith(launch.getResults());
      cluster.erase();
    }
  }
};

} // namespace
