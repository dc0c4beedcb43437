//===- PlanKernels.cpp - The kernels of a plan ----------------------------===//
//
// A kernel that was lowered is code with facts; one that a library runs is what the library needs to know.
//
//===----------------------------------------------------------------------===//

#include "dialect/Matrices.h"
#include "passes/emit/PlanBuilder.h"
#include "runtime/plan/model/Convolutions.h"
#include "runtime/plan/model/Factorizations.h"

using namespace mlir;
using namespace mlir::epl;

/// The plan's name of a kind.
static plan::FactorizationKind getPlanKind(FactorizationKind kind) {
  switch (kind) {
  case FactorizationKind::cholesky:
    return plan::FactorizationKind::cholesky;
  case FactorizationKind::lu:
    return plan::FactorizationKind::lu;
  case FactorizationKind::qr:
    return plan::FactorizationKind::qr;
  case FactorizationKind::orthogonal:
    return plan::FactorizationKind::orthogonal;
  case FactorizationKind::eigh:
    return plan::FactorizationKind::eigh;
  case FactorizationKind::svd:
    return plan::FactorizationKind::svd;
  }
  llvm_unreachable("a kind that does not exist");
}

static plan::FactorizationT describe(TriangularSolveOp op) {
  ArrayRef<int64_t> shape = op.getRhs().getType().getShape();
  plan::FactorizationT factorization;
  factorization.kind = plan::FactorizationKind::triangular_solve;
  factorization.rows = shape.drop_back().back();
  factorization.columns = shape.back();
  factorization.left = op.getLeft();
  factorization.lower = op.getLower();
  factorization.transpose = op.getTranspose();
  factorization.unit_diagonal = op.getUnitDiagonal();
  return factorization;
}

static plan::FactorizationT describe(FactorizeOp op) {
  plan::FactorizationT factorization;
  factorization.kind = getPlanKind(op.getKind());
  factorization.rows = op.getRows();
  factorization.columns = op.getColumns();
  if (op.getKind() == FactorizationKind::orthogonal)
    factorization.reflectors = cast<RankedTensorType>(op.getOperands()[1].getType()).getShape().back();
  factorization.vectors = op.hasVectors();
  factorization.full = op.isFull();
  return factorization;
}

/// Makes of `entry` what the library is asked for. Fails if that is beyond it.
static LogicalResult setFactorization(Operation *op, plan::KernelT &entry) {
  auto solve = dyn_cast<TriangularSolveOp>(op);
  plan::FactorizationT factorization = solve ? describe(solve) : describe(cast<FactorizeOp>(op));
  auto matrices = cast<RankedTensorType>(op->getOperand(0).getType());
  factorization.type = *getElementType(matrices.getElementType());
  if (std::string fault = runtime::faultOf(factorization); !fault.empty())
    return op->emitError() << "\"" << op->getName() << "\"" << fault;
  entry.form = "library";
  entry.extent = 1;
  for (int64_t extent : matrices.getShape().drop_back(2))
    entry.extent *= extent;
  entry.workspace = runtime::memoryOf(factorization).workspace;
  entry.flops = getMatrixFlops(op);
  entry.factorization = std::make_unique<plan::FactorizationT>(factorization);
  return success();
}

static std::unique_ptr<plan::GridT> toGrid(GridAttr grid) {
  auto made = std::make_unique<plan::GridT>();
  made->blocks = uint32_t(grid.getBlocks());
  made->threads = uint32_t(grid.getThreads());
  made->shared = uint32_t(grid.getShared());
  made->group = uint32_t(grid.getGroup());
  made->slice = uint32_t(grid.getSlice());
  made->extent = grid.getExtent();
  return made;
}

static plan::ConvolutionLoop toLoop(ArrayRef<int64_t> numbers) {
  return {numbers[0], numbers[1], numbers[2], numbers[3]};
}

static std::unique_ptr<plan::ConvolutionT> describe(ConvolutionAttr attr, Block &body) {
  auto made = std::make_unique<plan::ConvolutionT>();
  made->writes = plan::ConvolutionTensor(attr.getWrites());
  made->type = *getElementType(getElementTypeOrSelf(body.getArgument(0)));
  made->result = *getElementType(getElementTypeOrSelf(body.getTerminator()->getOperand(0)));
  ArrayRef<int64_t> operands = attr.getOperands();
  made->image = uint32_t(operands[0]), made->filter = uint32_t(operands[1]),
  made->output = uint32_t(operands[2]);
  made->flips = attr.getFlips();
  made->accumulate = attr.getAccumulate();
  made->samples = toLoop(attr.getSamples()), made->groups = toLoop(attr.getGroups());
  made->channels = toLoop(attr.getChannels()), made->features = toLoop(attr.getFeatures());
  ArrayRef<int64_t> axes = attr.getAxes();
  for (; !axes.empty(); axes = axes.drop_front(10))
    made->axes.emplace_back(axes[0], axes[1], axes[2], axes[3], axes[4], axes[5], axes[6], axes[7], axes[8],
                            axes[9]);
  return made;
}

/// What lowering has said of a kernel that is code.
static void setCode(KernelOp kernel, plan::KernelT &entry) {
  entry.form = kernel.getForm().value_or("").str();
  entry.workspace = kernel.getWorkspace().value_or(0);
  entry.extent = kernel.getExtent().value_or(1);
  entry.flops = kernel.getFlops().value_or(0);
  if (ConvolutionAttr convolution = kernel.getConvolutionAttr()) {
    entry.convolution = describe(convolution, kernel.getBody().front());
    entry.workspace = std::max(entry.workspace, runtime::widenedOf(entry).size);
  }
  if (ArrayAttr grids = kernel.getGridsAttr())
    for (GridAttr grid : grids.getAsRange<GridAttr>())
      entry.grids.push_back(toGrid(grid));
}

FailureOr<PlanBuilder::KernelEntry> PlanBuilder::addKernel(KernelOp kernel) {
  if (auto known = kernels.find(kernel.getSymName()); known != kernels.end())
    return known->second;
  Block &body = kernel.getBody().front();
  plan::KernelT entry;
  entry.name = kernel.getSymName().str();
  entry.symbol = kernel.getSymbol().value_or(kernel.getSymName()).str();
  entry.num_inputs = body.getNumArguments();
  entry.num_outputs = body.getTerminator()->getNumOperands();
  for (Type type : body.getArgumentTypes())
    entry.operand_sizes.push_back(getBytes(cast<RankedTensorType>(type)));
  for (Type type : body.getTerminator()->getOperandTypes())
    entry.operand_sizes.push_back(getBytes(cast<RankedTensorType>(type)));
  if (auto inPlace = kernel.getInPlace())
    entry.in_place.assign(inPlace->begin(), inPlace->end());
  else
    entry.in_place.assign(entry.num_outputs, -1);
  if (kernel.getKind() != KernelKind::factorization)
    setCode(kernel, entry);
  else if (failed(setFactorization(&body.front(), entry)))
    return failure();
  uint64_t workspace = entry.workspace;
  return kernels[kernel.getSymName()] = {builder.addKernel(std::move(entry)), workspace};
}
