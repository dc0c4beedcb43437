//===- VerifyInput.cpp - What a step must look like -----------------------===//
//
// Problem: every later pass relies on one flat, static, pure function with roles. Users and front ends write
// something else by mistake, and must be told what and where.
// Method: read-only checks, in the order module, arguments, results, ops. Each argument or result reports its
// first error; ops report the first one of all, because one cause (a dialect that was not lowered) makes
// many. Invariant in: a module that MLIR verified. Invariant out: design 4.1, "Input contract".
//
//===----------------------------------------------------------------------===//

#include "dialect/Bytes.h"
#include "dialect/Loops.h"
#include "dialect/Servers.h"
#include "dialect/Sharding.h"
#include "dialect/Stages.h"
#include "passes/annotate/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace mlir::epl {
#define GEN_PASS_DEF_VERIFYINPUTPASS
#include "passes/annotate/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

/// `argument 3 "x"`, with the name that the user knows, if the front end gave one.
static std::string describe(StringRef what, unsigned index, DictionaryAttr attrs) {
  std::string text = (what + " " + Twine(index)).str();
  if (auto name = attrs ? attrs.getAs<StringAttr>(EplDialect::kNameAttr) : StringAttr())
    text += (" \"" + name.getValue() + "\"").str();
  return text;
}

static std::string describeArg(func::FuncOp func, unsigned index) {
  return describe("argument", index, func.getArgAttrDict(index));
}

static InFlightDiagnostic emitArgError(func::FuncOp func, unsigned index) {
  return emitError(func.getArgument(index).getLoc()) << describeArg(func, index);
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static bool isSupportedElement(Type type) {
  return type.isF16() || type.isBF16() || type.isF32() || type.isF64() || type.isSignlessInteger(1) ||
         type.isSignlessInteger(8) || type.isSignlessInteger(16) || type.isSignlessInteger(32) ||
         type.isSignlessInteger(64);
}

/// Why `type` is no tensor that the compiler can take, or "".
static StringRef getTensorFault(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return "expected a ranked tensor";
  if (!tensor.hasStaticShape())
    return "expected a static shape";
  if (hasTooManyElements(tensor))
    return "expected at most 2^40 elements";
  if (isa<ComplexType>(tensor.getElementType()))
    return "complex numbers are not supported";
  if (!isSupportedElement(tensor.getElementType()))
    return "expected elements of f16, bf16, f32, f64, i1, i8, i16, i32 or i64";
  return "";
}

/// Ops may also work on scalars and indices: bodies of linalg ops do.
static StringRef getValueFault(Type type) {
  return type.isIndex() || isSupportedElement(type) ? "" : getTensorFault(type);
}

//===----------------------------------------------------------------------===//
// The signature
//===----------------------------------------------------------------------===//

static LogicalResult verifyBatchDim(func::FuncOp func, unsigned index, bool isBatch) {
  auto dim = func.getArgAttrOfType<IntegerAttr>(index, EplDialect::kBatchDimAttr);
  if (!isBatch)
    return dim ? emitArgError(func, index) << " has \"epl.batch_dim\" but is no batch" : success();
  auto type = cast<RankedTensorType>(func.getArgument(index).getType());
  if (!dim)
    return emitArgError(func, index) << " is a batch without \"epl.batch_dim\"";
  if (dim.getInt() < 0 || dim.getInt() >= type.getRank())
    return emitArgError(func, index) << " has batch dimension " << dim.getInt()
                                     << ", expected a dimension of " << type;
  return success();
}

/// All arguments that arrive from an earlier step do so on one mesh, of which nothing else is said.
static LogicalResult verifyArrival(func::FuncOp func, unsigned index) {
  auto sharding = func.getArgAttrOfType<ShardingAttr>(index, EplDialect::kArrivesAttr);
  if (!sharding)
    return success();
  auto meshes = func->getParentOfType<ModuleOp>().getOps<MeshOp>();
  if (llvm::hasSingleElement(meshes) && (*meshes.begin()).getSymName() == sharding.getMesh().getValue())
    return success();
  return emitArgError(func, index) << " arrives on mesh " << sharding.getMesh()
                                   << ", expected the only mesh of the module";
}

/// Arguments and results have no attributes that passes write.
static LogicalResult verifyWritten(func::FuncOp func, DictionaryAttr attrs, const Twine &described) {
  for (StringRef name :
       {EplDialect::kCallerShapeAttr, EplDialect::kCallerPartsAttr, EplDialect::kCallerRowsAttr,
        EplDialect::kPositionAttr, EplDialect::kChannelAttr, kPullAttr, kPushAttr})
    if (attrs && attrs.contains(name))
      return emitError(func.getLoc()) << described << " has \"" << name << "\", which passes write";
  return success();
}

static LogicalResult verifyArg(func::FuncOp func, unsigned index) {
  Type type = func.getArgument(index).getType();
  if (StringRef fault = getTensorFault(type); !fault.empty())
    return emitArgError(func, index) << " has type " << type << ": " << fault;
  auto role = func.getArgAttrOfType<StringAttr>(index, EplDialect::kRoleAttr);
  if (!role)
    return emitArgError(func, index) << " has no \"epl.role\", expected \"state\", \"batch\" or \"constant\"";
  if (failed(verifyArrival(func, index)) ||
      failed(verifyWritten(func, func.getArgAttrDict(index), describeArg(func, index))))
    return failure();
  if (role.getValue() != "state" && func.getArgAttr(index, EplDialect::kOwnerAttr))
    return emitArgError(func, index) << " has \"epl.owner\" but is no state";
  return verifyBatchDim(func, index, role.getValue() == "batch");
}

static LogicalResult verifyUpdate(func::FuncOp func, unsigned index, int64_t arg) {
  auto emitResultError = [&] {
    return emitError(func.getLoc()) << describe("result", index, func.getResultAttrDict(index));
  };
  if (arg < 0 || arg >= func.getNumArguments())
    return emitResultError() << " updates argument " << arg << ", expected one of " << func.getNumArguments()
                             << " arguments";
  auto role = func.getArgAttrOfType<StringAttr>(arg, EplDialect::kRoleAttr);
  if (!role || role.getValue() != "state")
    return emitResultError() << " updates " << describeArg(func, arg)
                             << ", expected an argument of role \"state\"";
  Type found = func.getResultTypes()[index], expected = func.getArgumentTypes()[arg];
  if (found != expected) {
    InFlightDiagnostic error = emitResultError() << " has type " << found << ", expected " << expected
                                                 << " to update " << describeArg(func, arg);
    error.attachNote(func.getArgument(arg).getLoc()) << describeArg(func, arg) << " declared here";
    return error;
  }
  return success();
}

/// What another step wants is a whole value on a mesh of the module, and no state of this one.
static LogicalResult verifyWanted(func::FuncOp func, unsigned index) {
  auto wanted = func.getResultAttrOfType<ShardingAttr>(index, EplDialect::kWantedAttr);
  if (!wanted)
    return success();
  std::string result = describe("result", index, func.getResultAttrDict(index));
  if (func.getResultAttr(index, EplDialect::kUpdatesAttr))
    return emitError(func.getLoc()) << result << " has \"" << EplDialect::kWantedAttr
                                    << "\" and updates an argument, which has its own sharding";
  if (wanted.isPartial())
    return emitError(func.getLoc()) << result << " is wanted partial, expected it complete";
  return verifySharding(func, wanted, cast<RankedTensorType>(func.getResultTypes()[index]), result);
}

static LogicalResult verifyResults(func::FuncOp func) {
  LogicalResult result = success();
  llvm::SmallDenseMap<int64_t, unsigned> updates;
  for (auto [index, type] : llvm::enumerate(func.getResultTypes())) {
    auto emitResultError = [&, i = index] {
      result = failure();
      return emitError(func.getLoc()) << describe("result", i, func.getResultAttrDict(i));
    };
    if (StringRef fault = getTensorFault(type); !fault.empty())
      emitResultError() << " has type " << type << ": " << fault;
    DictionaryAttr attrs = func.getResultAttrDict(index);
    // What another step wants so may be a part of the caller's tensor, as it is of an argument there.
    bool isWanted = attrs && attrs.contains(EplDialect::kWantedAttr);
    if (isWanted ? failed(verifyWanted(func, index))
                 : failed(verifyWritten(func, attrs, describe("result", index, attrs)))) {
      result = failure();
      continue;
    }
    auto update = func.getResultAttrOfType<IntegerAttr>(index, EplDialect::kUpdatesAttr);
    if (!update)
      continue;
    if (failed(verifyUpdate(func, index, update.getInt()))) {
      result = failure();
      continue;
    }
    auto [previous, inserted] = updates.try_emplace(update.getInt(), index);
    if (!inserted)
      emitResultError() << " updates " << describeArg(func, update.getInt()) << ", as result "
                        << previous->second << " does";
  }
  return result;
}

//===----------------------------------------------------------------------===//
// The body
//===----------------------------------------------------------------------===//

static bool isScope(Operation *op) { return isa<ReplicateOp, SplitOp>(op); }

/// Ops that the phases behind know, or will say "not supported yet" to.
static bool isKnown(Operation *op) {
  Dialect *dialect = op->getDialect();
  if (isa_and_nonnull<linalg::LinalgDialect>(dialect))
    return isa<linalg::LinalgOp, linalg::YieldOp, linalg::IndexOp, linalg::SoftmaxOp>(op);
  return isa_and_nonnull<tensor::TensorDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect>(
             dialect) ||
         isScope(op) || isa<YieldOp, ConstrainOp, CheckpointOp>(op) || op->hasTrait<TensorLevel>() ||
         op->hasTrait<LoopEdge>();
}

static LogicalResult verifyKnown(Operation *op) {
  if (isa<math::IsInfOp, math::IsNormalOp>(op)) // which MLIR lowers to no code for CPUs
    return emitError(op->getLoc()) << "'" << op->getName()
                                   << "' op is not supported, expected comparisons or \"math.isfinite\"";
  if (isKnown(op))
    return success();
  return emitError(op->getLoc())
         << "'" << op->getName() << "' op of dialect \"" << op->getName().getDialectNamespace()
         << "\" is not supported, expected linalg, tensor, arith, math, scf or a scope";
}

/// Operands are results or arguments of something, so results are all there is to check.
static LogicalResult verifyTypes(Operation *op) {
  for (Type type : op->getResultTypes())
    if (StringRef fault = getValueFault(type); !fault.empty())
      return emitError(op->getLoc()) << "'" << op->getName() << "' op has result type " << type << ": "
                                     << fault;
  return success();
}

/// A padding that cuts would be written outside of its result.
static LogicalResult verifyPadding(tensor::PadOp op) {
  for (auto [dim, low, high] : llvm::enumerate(op.getStaticLow(), op.getStaticHigh()))
    if (int64_t least = std::min(low, high); least < 0 && !ShapedType::isDynamic(least))
      return emitError(op.getLoc()) << "'tensor.pad' op has padding " << least << " of dimension " << dim
                                    << ", expected at least 0 (\"tensor.extract_slice\" cuts)";
  return success();
}

/// A position that is known lies in the tensor.
static LogicalResult verifyPosition(tensor::ExtractOp op) {
  auto type = op.getTensor().getType();
  for (auto [dim, index] : llvm::enumerate(op.getIndices()))
    if (std::optional<int64_t> position = getConstantIntValue(index);
        position && (*position < 0 || *position >= type.getDimSize(dim)))
      return emitError(op.getLoc()) << "'tensor.extract' op reads position " << *position << " of dimension "
                                    << dim << ", expected a position in " << type;
  return success();
}

static LogicalResult verifyReads(Operation *op) {
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return verifyPadding(pad);
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    return verifyPosition(extract);
  if (getMicroBatchLoop(getEdgeLoop(op)))
    return emitError(op->getLoc()) << "'" << op->getName()
                                   << "' op is of a loop over micro-batches, which only "
                                      "\"epl-form-micro-batches\" makes";
  return success();
}

static LogicalResult verifyOp(func::FuncOp func, Operation *op) {
  if (op == func || isa<func::ReturnOp>(op))
    return success();
  if (failed(verifyKnown(op)) || failed(verifyTypes(op)) || failed(verifyReads(op)))
    return failure();
  if (isScope(op) && op->getParentOp() != func)
    return emitError(op->getLoc()) << "'" << op->getName() << "' op is inside '"
                                   << op->getParentOp()->getName() << "', expected the top level of the step";
  return success();
}

static LogicalResult verifyBody(func::FuncOp func) {
  if (!func.getBody().hasOneBlock())
    return emitError(func.getLoc()) << "function \"" << func.getName() << "\" has "
                                    << func.getBody().getBlocks().size() << " blocks, expected 1";
  WalkResult result = func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    return failed(verifyOp(func, op)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(result.wasInterrupted() || failed(verifyLoops(func.getBody().front())));
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

static LogicalResult verifyNoCalls(ModuleOp module) {
  WalkResult result = module.walk([](func::CallOp call) {
    emitError(call.getLoc()) << "call of \"" << call.getCallee() << "\": calls must be inlined";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// The step of the module: the one function in it. Null after an error. MLIR gives public functions a body.
static func::FuncOp findStep(ModuleOp module) {
  func::FuncOp step;
  for (Operation &op :
       llvm::make_filter_range(*module.getBody(), [](auto &op) { return !isa<MeshOp>(op); })) {
    auto func = dyn_cast<func::FuncOp>(op);
    if (!func) {
      emitError(op.getLoc()) << "'" << op.getName()
                             << "' op stands beside the step, expected one public function";
      return {};
    }
    if (func.isPrivate()) {
      emitError(func.getLoc()) << "function \"" << func.getName()
                               << "\" is private, expected one public function";
      return {};
    }
    if (step) {
      InFlightDiagnostic error = emitError(func.getLoc())
                                 << "second public function \"" << func.getName() << "\", expected one";
      error.attachNote(step.getLoc()) << "the first one, \"" << step.getName() << "\", is here";
      return {};
    }
    step = func;
  }
  if (!step)
    emitError(module.getLoc()) << "module has no public function, expected one";
  return step;
}

/// The dialect knows the attributes of arguments and results; ops get more of them in later phases.
static LogicalResult verifyAttributes(func::FuncOp func) {
  const StringRef known[] = {EplDialect::kDefaultStrategyAttr, EplDialect::kScopesAttr, kStagesAttr};
  LogicalResult result = success();
  for (NamedAttribute attr : func->getDiscardableAttrs())
    if (isa_and_nonnull<EplDialect>(attr.getNameDialect()) && !llvm::is_contained(known, attr.getName()))
      result = emitError(func.getLoc())
               << "function \"" << func.getName() << "\" has an unknown attribute \""
               << attr.getName().getValue() << "\", expected one of " << ArrayRef(known);
  return result;
}

static LogicalResult verifyStep(func::FuncOp func) {
  LogicalResult result = verifyAttributes(func);
  for (unsigned index = 0; index < func.getNumArguments(); ++index)
    if (failed(verifyArg(func, index)))
      result = failure();
  if (failed(result) || failed(verifyResults(func)))
    return failure();
  return verifyBody(func);
}

namespace {
struct VerifyInputPass : epl::impl::VerifyInputPassBase<VerifyInputPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verifyNoCalls(getOperation())))
      return signalPassFailure();
    func::FuncOp step = findStep(getOperation());
    if (!step || failed(verifyStep(step)))
      signalPassFailure();
  }
};
} // namespace
