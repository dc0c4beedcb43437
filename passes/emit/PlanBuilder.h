//===- PlanBuilder.h - The walk that makes a plan ---------------*- C++ -*-===//
//
// What the files of plan building share: the driver, tables and launches (BuildPlan.cpp), collectives
// (PlanCollectives.cpp), kernels (PlanKernels.cpp), loops (PlanLoops.cpp), what they add up
// (PlanSums.cpp), those over micro-batches (PlanMicroBatches.cpp) and what meshes send each other
// (PlanChannels.cpp).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialect/Bytes.h"
#include "dialect/Loops.h"
#include "dialect/Sharding.h"
#include "dialect/SourceLocation.h"
#include "passes/emit/BuildPlan.h"
#include "passes/emit/PlanSchedule.h"
#include "passes/emit/PlanTypes.h"
#include "passes/emit/ScopePath.h"
#include "runtime/plan/build/Builder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::epl {

namespace runtime = ::epl::runtime;
namespace plan = ::epl::runtime::plan;

inline std::vector<std::string> toStrings(ArrayRef<StringRef> names) { return {names.begin(), names.end()}; }

/// How the dimensions of a tensor are split, for a plan.
std::vector<std::unique_ptr<plan::DimShardingT>> toDimShardings(ShardingAttr sharding);

/// Whether an argument or a result of a function is what another mesh sends, or is sent: no slot.
bool isChannel(DictionaryAttr attrs);
/// Where the caller sees an argument or a result of one of several functions; `index` if there is one.
int64_t getPosition(DictionaryAttr attrs, unsigned index);

/// The state of one walk over a function: what one mesh does.
class PlanBuilder {
public:
  PlanBuilder(func::FuncOp func, const PlanSchedule &planSchedule, StringRef deviceKind)
      : func(func), planSchedule(planSchedule), builder(deviceKind.str()) {}

  /// Adds what the function does.
  LogicalResult add();
  /// To add what the whole module has, and to finish.
  runtime::Builder &getBuilder() { return builder; }
  MeshOp getMesh() const { return mesh; }

private:
  LogicalResult addMesh();
  /// Where a kernel stands in the plan's table, and the bytes that a launch works in.
  struct KernelEntry {
    uint32_t index;
    uint64_t workspace;
  };
  FailureOr<KernelEntry> addKernel(KernelOp kernel);
  LogicalResult addArgument(unsigned index);
  LogicalResult addResult(unsigned index);
  LogicalResult addSlot(plan::SlotT slot, DistType type, DictionaryAttr attrs, StringRef defaultName);
  void findChannels();
  template <typename EndT> EndT makeEnd(DistType type, Attribute channel, int64_t message = 0);
  void addReceives(Operation *reader);
  void addSends(Value value, WorkAttr work);
  void receivePart(LoopSliceOp op, int64_t part);
  void sendPart(LoopStackOp op, int64_t part);
  void setGuards(Operation *op);
  plan::Owner getOwner(OwnerAttr owner);
  void setOwner(Operation *op);
  LogicalResult addOps(Block &body);
  LogicalResult addLoop(ArrayRef<Operation *> ops, LoopAttr loop, const Loops &loops);
  void addUnits();
  LogicalResult addMicroBatches(LoopAttr loop, const Loops &loops);
  LogicalResult addUnit(schedule::Unit unit, LoopAttr loop, const PlanUnits &units, const Loops &loops);
  LogicalResult addUnitOps(schedule::Unit unit, LoopAttr loop, ArrayRef<Operation *> ops, const Loops &loops);
  void beginIteration(ArrayRef<Operation *> ops, LoopAttr loop, const Loops &loops, bool isFirst);
  LogicalResult addIterationOp(Operation *op, int64_t iteration);
  void addSlice(LoopSliceOp op, int64_t part);
  void addPart(LoopStackOp op, int64_t part);
  void addCopy(Operation *op, StringRef name, plan::CopyT copy);
  LogicalResult addOp(Operation *op);
  LogicalResult addTask(TaskOp task);
  LogicalResult addTaskOp(Operation *op, WorkAttr work);
  LogicalResult addLaunch(LaunchOp launch, WorkAttr work);
  bool startsSums(LaunchOp launch, KernelOp kernel) const;
  void beginSum(LaunchOp launch, plan::ContractT &contract, WorkAttr work);
  std::unique_ptr<plan::AttentionT> getAttention(LaunchOp launch, AttentionAttr attr) const;
  void addAttentionGradient(LaunchOp launch, KernelOp kernel, WorkAttr work);
  void addContraction(LaunchOp launch, KernelOp kernel, GemmAttr gemm, WorkAttr work);
  void addCopies(LaunchOp launch, KernelOp kernel, WorkAttr work);
  std::vector<plan::ReducedTensorT> getReducedTensors(Operation *op, StringRef name);
  LogicalResult addAllReduce(AllReduceOp op);
  LogicalResult addReduce(ReduceOp op);
  uint32_t getSent(BroadcastOp op, unsigned index);
  LogicalResult addBroadcast(BroadcastOp op);
  LogicalResult addReduceScatter(ReduceScatterOp op);
  LogicalResult addExchange(Operation *op, StringRef name);
  LogicalResult addAllGather(AllGatherOp op);

  runtime::CommandInfo getInfo(Operation *op, StringRef name, WorkAttr work) {
    std::string kind =
        work ? (work.getTaskgraph().getValue() + "." + stringifyWorkKind(work.getKind())).str() : "";
    std::string scope = getScopePath(op->getLoc());
    auto cause = op->getAttrOfType<StringAttr>(EplDialect::kCauseAttr);
    return {scope.empty() ? name.str() : (name + " in " + scope).str(), getSourceLine(op->getLoc()), kind,
            cause ? cause.str() : ""};
  }
  runtime::CommandInfo getInfo(Operation *collective, StringRef name) {
    return getInfo(collective, name, collective->getAttrOfType<WorkAttr>(EplDialect::kWorkAttr));
  }
  /// A new buffer for a tensor of that type, bound to `value`.
  uint32_t addBuffer(Value value, RankedTensorType type, StringRef name) {
    return buffers[value] = builder.addBuffer(name.str(), getBytes(type));
  }

  /// What units of an iteration over micro-batches hand to later ones of it.
  struct Kept {
    DenseMap<Value, uint32_t> buffers;
    DenseMap<Value, SmallVector<uint32_t>> stacks;
    DenseMap<int64_t, uint32_t> predicates;
  };

  func::FuncOp func;
  const PlanSchedule &planSchedule;
  runtime::Builder builder;
  MeshOp mesh;
  DenseMap<Value, uint32_t> buffers;
  /// The command that was added last for a launch.
  DenseMap<Operation *, uint32_t> commands;
  /// The command that ends the attention whose rows a buffer keeps for the gradient.
  DenseMap<uint32_t, uint32_t> attentions;
  /// The buffer of zeros that only start sums: none, as the first product is their first summand.
  static constexpr uint32_t kZeros = UINT32_MAX;
  DenseSet<Value> beginning; ///< carried values whose loop is in its first iteration
  /// The parts of stacks that only slices read.
  DenseMap<Value, SmallVector<uint32_t>> stacks;
  llvm::StringMap<KernelEntry> kernels;
  std::vector<Kept> kept; ///< of each iteration over micro-batches
  /// What holds the predicate of each number, now.
  DenseMap<int64_t, uint32_t> predicates;
  DenseMap<Operation *, SmallVector<BlockArgument>>
      received;                                ///< what comes before an op, by ascending channel
  DenseMap<Value, SmallVector<unsigned>> sent; ///< the results that a value is sent as
};

} // namespace mlir::epl
