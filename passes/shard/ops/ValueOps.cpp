//===- ValueOps.cpp - What constants, casts and reshards mean for sharding ===//
//
// Ops whose result is their operand, in another type or distribution, or that have none.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/analysis/ShardableOp.h"
#include "passes/shard/analysis/TensorType.h"
#include "passes/shard/localize/Localize.h"
#include "passes/shard/ops/Models.h"
#include "passes/shard/prepare/SegmentExpander.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::epl;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// This rank's part of a constant that is not the same everywhere.
static Operation *createConstantSlice(arith::ConstantOp op, Localizer &localizer) {
  ShardingAttr sharding = getSharding(op);
  auto replicated = ShardingAttr::getReplicated(sharding.getMesh(), sharding.getRank());
  Operation *whole = localizer.builder.clone(*op);
  whole->setAttr(EplDialect::kShardingAttr, localizer.builder.getArrayAttr(replicated));
  MeshOp mesh = lookupMesh(op, sharding.getMesh());
  return localizer.createSlice(op.getLoc(), whole->getResult(0), mesh, replicated, sharding).getDefiningOp();
}

static void localizeConstant(arith::ConstantOp op, Localizer &localizer) {
  if (!isa<RankedTensorType>(op.getType()) || getSharding(op).isReplicated()) {
    localizer.builder.clone(*op, localizer.values);
    return;
  }
  auto splat = dyn_cast<SplatElementsAttr>(op.getValue());
  if (!splat)
    return replaceByLocal(op, createConstantSlice(op, localizer), localizer);
  TypedAttr part = splat.resizeSplat(getLocalType(op));
  replaceByLocal(op, arith::ConstantOp::create(localizer.builder, op.getLoc(), part), localizer);
}

static bool expandConstant(arith::ConstantOp op, SegmentExpander &expander) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  Form form = expander.getForm(op);
  if (!elements || llvm::any_of(form, [](DimForm dim) { return dim.parts != nullptr; }))
    return false;
  auto made = arith::ConstantOp::create(expander.builder, op.getLoc(),
                                        elements.reshape(expandSegments(getTensorType(op), form)));
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  expander.define(op, made, form);
  return true;
}

namespace {
struct ConstantModel : ShardableOp::ExternalModel<ConstantModel, arith::ConstantOp> {
  bool localize(Operation *op, Localizer &localizer) const {
    localizeConstant(cast<arith::ConstantOp>(op), localizer);
    return true;
  }
  bool hasSegmentedForm(Operation *op) const { return true; }
  bool expandSegments(Operation *op, SegmentExpander &expander) const {
    return expandConstant(cast<arith::ConstantOp>(op), expander);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

/// Element by element, if the shape is the same: a cast may forget extents, a bitcast of a tensor may not
/// change them.
static bool hasOneShape(Operation *op) {
  return op->getNumOperands() == 1 && op->getNumResults() == 1 &&
         isa<RankedTensorType>(op->getOperand(0).getType()) &&
         isa<RankedTensorType>(op->getResult(0).getType()) &&
         getTensorType(op->getOperand(0)).getShape() == getTensorType(op->getResult(0)).getShape();
}

namespace {
struct CastModel : ShardableOp::ExternalModel<CastModel, tensor::CastOp> {
  FactorRule getFactorRule(Operation *op) const { return getSameShapeRule(op); }
  SmallVector<Steps> getSteps(Operation *op) const { return getPointwiseSteps(op); }
  SmallVector<Status> getStatuses(Operation *, ArrayRef<Status> operands, function_ref<Status(Value)>) const {
    return {operands[0]};
  }
};

/// The bits of a sum are no sum of bits.
template <typename OpT> struct BitsModel : ShardableOp::ExternalModel<BitsModel<OpT>, OpT> {
  FactorRule getFactorRule(Operation *op) const {
    return hasOneShape(op) ? getPointwiseRule(op) : getBlockedRule(op);
  }
  SmallVector<Steps> getSteps(Operation *op) const {
    return hasOneShape(op) ? getPointwiseSteps(op) : deriveSteps(op);
  }
  bool hasSegmentedForm(Operation *op) const { return hasOneShape(op); }
  bool expandSegments(Operation *op, SegmentExpander &expander) const {
    return hasOneShape(op) && expander.expandPointwise(op);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Reshards and constraints
//===----------------------------------------------------------------------===//

static bool expandReshard(ReshardOp op, SegmentExpander &expander) {
  Form form = expander.getForm(op.getResult());
  ShardingAttr sharding =
      expandSegments(op.getSharding(), expander.mesh, getTensorType(op.getResult()), form);
  if (!sharding)
    return false;
  auto made =
      ReshardOp::create(expander.builder, op.getLoc(), expandSegments(getTensorType(op.getResult()), form),
                        expander.getAs(op.getOperand(), form, op), sharding);
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  expander.define(op.getResult(), made, form);
  return true;
}

/// Who says how a whole is split says how each of its segments is.
static bool expandConstrain(ConstrainOp op, SegmentExpander &expander) {
  Form form = expander.getForm(op.getResult());
  ConstraintAttr said = op.getConstraint();
  SmallVector<SmallVector<StringRef>> axes =
      llvm::map_to_vector(llvm::seq(said.getRank()), [&](int64_t dim) { return said.getDimAxes(dim); });
  auto dims = expandSegments(axes, expander.mesh, getTensorType(op.getResult()), form);
  if (!dims)
    return false;
  auto constraint = ConstraintAttr::get(op.getContext(), *dims, said.getWholeAxes());
  auto made =
      ConstrainOp::create(expander.builder, op.getLoc(), expandSegments(getTensorType(op.getResult()), form),
                          expander.getAs(op.getOperand(), form, op), constraint);
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  expander.define(op.getResult(), made, form);
  return true;
}

namespace {
struct ReshardModel : ShardableOp::ExternalModel<ReshardModel, ReshardOp> {
  FactorRule getFactorRule(Operation *op) const { return getPointwiseRule(op); }
  SmallVector<Steps> getSteps(Operation *op) const { return getPointwiseSteps(op); }
  SmallVector<Status> getStatuses(Operation *, ArrayRef<Status> operands, function_ref<Status(Value)>) const {
    return {operands[0]};
  }
  bool localize(Operation *op, Localizer &localizer) const {
    localizeReshard(cast<ReshardOp>(op), localizer);
    return true;
  }
  bool hasSegmentedForm(Operation *op) const { return true; }
  bool expandSegments(Operation *op, SegmentExpander &expander) const {
    return expandReshard(cast<ReshardOp>(op), expander);
  }
};

struct ConstrainModel : ShardableOp::ExternalModel<ConstrainModel, ConstrainOp> {
  FactorRule getFactorRule(Operation *op) const { return getPointwiseRule(op); }
  SmallVector<Steps> getSteps(Operation *op) const { return getPointwiseSteps(op); }
  SmallVector<Status> getStatuses(Operation *, ArrayRef<Status> operands, function_ref<Status(Value)>) const {
    return {operands[0]};
  }
  bool hasSegmentedForm(Operation *op) const { return true; }
  bool expandSegments(Operation *op, SegmentExpander &expander) const {
    return expandConstrain(cast<ConstrainOp>(op), expander);
  }
};
} // namespace

void mlir::epl::registerValueModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    arith::ConstantOp::attachInterface<ConstantModel>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    tensor::CastOp::attachInterface<CastModel>(*context);
    tensor::BitcastOp::attachInterface<BitsModel<tensor::BitcastOp>>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, BuiltinDialect *) {
    UnrealizedConversionCastOp::attachInterface<BitsModel<UnrealizedConversionCastOp>>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, EplDialect *) {
    ReshardOp::attachInterface<ReshardModel>(*context);
    ConstrainOp::attachInterface<ConstrainModel>(*context);
  });
}
