//===- BuildPlan.cpp - From the last module to a plan ---------------------===//
//
// Problem: a plan is data for a runtime that knows no MLIR; the module says the same in ops.
// Method: one walk in program order for each function (PlanBuilder.cpp); where there are several, of as many
// meshes, their plans are the parts of one. Invariant in: level "kernels"; every kernel is lowered, or
// matched to the matrix library. Invariant out: a plan that the verifier accepted.
//
//===----------------------------------------------------------------------===//

#include "passes/emit/PlanBuilder.h"
#include "runtime/plan/build/JoinParts.h"
#include "runtime/plan/format/Error.h"
#include "runtime/plan/model/Parts.h"
#include "runtime/plan/simulate/Predict.h"

#include <map>

using namespace mlir;
using namespace mlir::epl;

static plan::ImageKind getPlanKind(ImageKind kind) {
  switch (kind) {
  case ImageKind::elf:
    return plan::ImageKind::elf;
  case ImageKind::ptx:
    return plan::ImageKind::ptx;
  case ImageKind::cubin:
    return plan::ImageKind::cubin;
  }
  llvm_unreachable("a kind that does not exist");
}

static plan::ImageT getImage(BinaryOp binary) {
  plan::ImageT image;
  image.kind = getPlanKind(binary.getKind());
  image.target = binary.getTarget().str();
  image.features = toStrings(llvm::to_vector(binary.getFeatures().getAsValueRange<StringAttr>()));
  image.isa = uint32_t(binary.getIsa());
  image.bytes.assign(binary.getImage().bytes_begin(), binary.getImage().bytes_end());
  return image;
}

/// What all that the module computes shares: the images of its kernels, and where it comes from.
static plan::PlanT getCommon(ModuleOp module, const PlanOptions &options) {
  plan::PlanT common;
  common.device_kind = options.deviceKind;
  common.nodes = options.nodes;
  for (BinaryOp binary : module.getOps<BinaryOp>())
    common.images.push_back(std::make_unique<plan::ImageT>(getImage(binary)));
  common.provenance = std::make_unique<plan::ProvenanceT>();
  common.provenance->producer = "epl-compile";
  common.provenance->options = options.options;
  common.provenance->source = options.source;
  return common;
}

static FailureOr<plan::PlanT> buildWhole(func::FuncOp func, const PlanSchedule &schedule,
                                         const PlanOptions &options) {
  PlanBuilder builder(func, schedule, options.deviceKind);
  builder.getBuilder().setSequential(options.sequential);
  builder.getBuilder().setNumCommunicators(options.numCommunicators);
  builder.getBuilder().setOffload(options.offload, options.offloadResults);
  if (failed(builder.add()))
    return failure();
  plan::PlanT common = getCommon(func->getParentOfType<ModuleOp>(), options);
  builder.getBuilder().setImages(std::move(common.images));
  builder.getBuilder().setProvenance(std::move(*common.provenance));
  plan::PlanT plan = builder.getBuilder().finish();
  plan.layout = options.layout + runtime::scheduleText(plan);
  plan.nodes = options.nodes;
  return plan;
}

/// The slots of the whole plan that those of a function's plan are: arguments, then results, by position.
static std::vector<uint32_t> getSlots(func::FuncOp func, uint32_t numArguments) {
  std::vector<uint32_t> slots;
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    if (!isChannel(func.getArgAttrDict(i)))
      slots.push_back(getPosition(func.getArgAttrDict(i), i));
  for (unsigned i = 0; i < func.getNumResults(); ++i)
    if (!isChannel(func.getResultAttrDict(i)))
      slots.push_back(numArguments + getPosition(func.getResultAttrDict(i), i));
  return slots;
}

/// How many arguments the caller has.
static uint32_t countArguments(ArrayRef<func::FuncOp> functions) {
  int64_t last = -1;
  for (func::FuncOp func : functions)
    for (unsigned i = 0; i < func.getNumArguments(); ++i)
      if (!isChannel(func.getArgAttrDict(i)))
        last = std::max(last, getPosition(func.getArgAttrDict(i), i));
  return last + 1;
}

/// A slot of a part as the caller sees it.
static plan::SlotT toWhole(const plan::SlotT &own, const plan::PartT &part) {
  plan::SlotT slot = own;
  if (slot.caller_rows) {
    slot.shape = runtime::callerShape(own);
    slot.caller_shape.clear();
    slot.caller_parts.clear();
    slot.caller_rows.reset();
    slot.origins.clear();
    slot.sharding.clear();
    for (size_t dim = 0; dim < slot.shape.size(); ++dim)
      slot.sharding.push_back(std::make_unique<plan::DimShardingT>());
  }
  for (auto &dim : slot.sharding)
    dim->axes.clear();
  slot.owner.reset();
  if (slot.updates >= 0)
    slot.updates = int32_t(part.slots[slot.updates]);
  return slot;
}

static FailureOr<plan::PartT> buildPart(func::FuncOp func, const PlanSchedule &schedule,
                                        const PlanOptions &options, uint32_t numArguments) {
  PlanBuilder builder(func, schedule, options.deviceKind);
  builder.getBuilder().setSequential(options.sequential);
  builder.getBuilder().setNumCommunicators(options.numCommunicators);
  builder.getBuilder().setOffload(options.offload, options.offloadResults);
  if (failed(builder.add()))
    return failure();
  MeshOp mesh = builder.getMesh();
  plan::PartT part;
  part.plan = std::make_unique<plan::PlanT>(builder.getBuilder().finish());
  part.first = uint32_t(mesh.getFirstDevice());
  for (int64_t stride : mesh.getDeviceStrides())
    part.strides.push_back(uint32_t(stride));
  part.slots = getSlots(func, numArguments);
  return part;
}

/// A part for each mesh.
static FailureOr<plan::PlanT> buildParts(ModuleOp module, ArrayRef<func::FuncOp> functions,
                                         const PlanSchedule &schedule, const PlanOptions &options) {
  uint32_t numArguments = countArguments(functions);
  std::vector<plan::PartT> parts;
  std::map<uint32_t, plan::SlotT> slots;
  for (func::FuncOp func : functions) {
    FailureOr<plan::PartT> part = buildPart(func, schedule, options, numArguments);
    if (failed(part))
      return failure();
    for (auto [index, slot] : llvm::enumerate(part->slots))
      slots.try_emplace(slot, toWhole(*part->plan->slots[index], *part));
    parts.push_back(std::move(*part));
  }
  std::vector<plan::SlotT> whole;
  whole.reserve(slots.size());
  for (auto &[index, slot] : slots)
    whole.push_back(std::move(slot));
  return runtime::joinParts(getCommon(module, options), std::move(whole), std::move(parts));
}

FailureOr<plan::PlanT> mlir::epl::buildPlan(ModuleOp module, const PlanOptions &options) {
  SmallVector<func::FuncOp> functions;
  for (auto func : module.getOps<func::FuncOp>())
    if (func.isPublic())
      functions.push_back(func);
  if (functions.empty())
    return module.emitError() << "has no public function";
  try {
    FailureOr<PlanSchedule> schedule = PlanSchedule::create(functions, options.schedule);
    if (failed(schedule))
      return failure();
    return functions.size() == 1 ? buildWhole(functions.front(), *schedule, options)
                                 : buildParts(module, functions, *schedule, options);
  } catch (const runtime::PlanError &error) {
    return module.emitError() << error.what();
  }
}
