//===- Machine.cpp - What the devices of a module can do ------------------===//

#include "dialect/Machine.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mlir::epl;

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

namespace {
/// In the units of the attributes. Sheets count a multiply-add as two operations, and both directions of a
/// link.
struct Table {
  StringLiteral kind;
  struct {
    int64_t f64, f32, f16;
  } compute;
  struct {
    int64_t bytes, bytesPerSecond, latencyNs;
  } memory;
  struct Link {
    int64_t bytesPerSecond, latencyNs;
  } withinProcess, betweenProcesses, betweenNodes;
};
} // namespace

static constexpr int64_t kGiga = 1'000'000'000, kGiB = int64_t(1) << 30;

/// cpu: one core. 50 to 100 multiply-adds of f32 in a nanosecond, in which it gets some ten bytes from
/// another core (docs/performance.md). The latency is that of threads which share cores, where members wait
/// for each other's turn: 100 microseconds, where idle cores need less than one (`epl-plan machine`). The
/// rate is said to be one for all types, so that a step is sharded alike in each precision, though f64 takes
/// twice the time and bf16, on CPUs that multiply it, half. Figures are such that what follows from them is a
/// power of two. Between processes: shared memory, woken by the kernel; between nodes: 10 Gb/s Ethernet.
///
/// GPUs: NVIDIA's data sheets "A100 Tensor Core GPU" (80 GB SXM, 2022), "H100 Tensor Core GPU" (SXM, 2023)
/// and "HGX B200" (2025, an eighth of it): f64 and f16 in tensor cores, dense, f32 in CUDA cores, since TF32
/// rounds to ten bits; NVLink one way; between nodes one network card for each GPU, as in DGX systems: 200
/// Gb/s, then 400 Gb/s. Latencies are those that NCCL's tuner takes for two ranks (src/graph/tuning.cc:
/// base 6.6 us of a ring in the protocol LL, 0.6 us a step over NVLink, 2.7 over a network). Of memory they
/// are not said there: some 400 to 550 ns, which nothing depends on yet.
static constexpr Table kTables[] = {
    {"cpu",
     {83'886'080'000, 83'886'080'000, 83'886'080'000},
     {4 * kGiB, 10 * kGiga, 100},
     {10'485'760'000, 100'000},
     {5 * kGiga, 200'000},
     {1'250'000'000, 250'000}},
    {"a100",
     {9'750 * kGiga, 9'750 * kGiga, 156'000 * kGiga},
     {80 * kGiga, 2'039 * kGiga, 400},
     {300 * kGiga, 7'800},
     {300 * kGiga, 7'800},
     {25 * kGiga, 12'000}},
    {"h100",
     {33'500 * kGiga, 33'500 * kGiga, 494'500 * kGiga},
     {80 * kGiga, 3'350 * kGiga, 450},
     {450 * kGiga, 7'800},
     {450 * kGiga, 7'800},
     {50 * kGiga, 12'000}},
    {"b200",
     {18'500 * kGiga, 37'500 * kGiga, 1'125'000 * kGiga},
     {180 * kGiga, 7'700 * kGiga, 550},
     {900 * kGiga, 7'800},
     {900 * kGiga, 7'800},
     {50 * kGiga, 12'000}},
};

static MachineAttr getMachineOf(MLIRContext *context, const Table &table) {
  auto link = [&](const Table::Link &link) {
    return LinkAttr::get(context, link.bytesPerSecond, link.latencyNs);
  };
  const auto &[f64, f32, f16] = table.compute;
  const auto &[bytes, bytesPerSecond, latencyNs] = table.memory;
  return MachineAttr::get(context, table.kind, ComputeAttr::get(context, f64, f32, f16),
                          MemoryAttr::get(context, bytes, bytesPerSecond, latencyNs),
                          link(table.withinProcess), link(table.betweenProcesses), link(table.betweenNodes));
}

SmallVector<StringRef> mlir::epl::getMachineKinds() {
  return llvm::map_to_vector(kTables, [](const Table &table) { return StringRef(table.kind); });
}

std::string mlir::epl::listMachineKinds() { return "\"" + llvm::join(getMachineKinds(), "\", \"") + "\""; }

MachineAttr mlir::epl::getMachineOfKind(MLIRContext *context, StringRef kind) {
  const Table *found = llvm::find_if(kTables, [&](const Table &table) { return table.kind == kind; });
  return found == std::end(kTables) ? MachineAttr() : getMachineOf(context, *found);
}

MachineAttr mlir::epl::getMachine(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  auto mesh = dyn_cast<MeshOp>(op);
  if (auto symbol = op->getAttrOfType<FlatSymbolRefAttr>(EplDialect::kMeshAttr); symbol && module)
    mesh = module.lookupSymbol<MeshOp>(symbol.getAttr());
  if (auto own = mesh ? mesh->getAttrOfType<MachineAttr>(EplDialect::kMachineAttr) : MachineAttr())
    return own;
  auto said = module ? module->getAttrOfType<MachineAttr>(EplDialect::kMachineAttr) : MachineAttr();
  return said ? said : getMachineOf(op->getContext(), kTables[0]);
}

//===----------------------------------------------------------------------===//
// What follows from them
//===----------------------------------------------------------------------===//

int64_t mlir::epl::getMultiplyAddsPerSecond(MachineAttr machine, Type type) {
  ComputeAttr compute = machine.getCompute();
  Type element = getElementTypeOrSelf(type);
  unsigned bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 32;
  if (bits <= 16)
    return compute.getF16();
  return bits <= 32 ? compute.getF32() : compute.getF64();
}

LinkAttr mlir::epl::getMeshLink(MachineAttr machine) { return machine.getWithinProcess(); }

double mlir::epl::getMultiplyAddsPerByte(MachineAttr machine) {
  return double(machine.getCompute().getF32()) / double(getMeshLink(machine).getBytesPerSecond());
}

/// At least 1: whatever the machine, one more sum costs something, and tensors of no bytes join.
static int64_t getPartOfLatency(MachineAttr machine, double part) {
  static constexpr double kMost = double(int64_t(1) << 48); // the most bytes that a plan's buffer has
  return int64_t(std::round(std::clamp(getMeshLink(machine).getLatencyBytes() / part, 1.0, kMost)));
}

int64_t mlir::epl::getLargestBucketBytes(MachineAttr machine) { return getPartOfLatency(machine, 1); }

int64_t mlir::epl::getSmallBytes(MachineAttr machine) { return getPartOfLatency(machine, 1024); }

int64_t mlir::epl::getBytesOfASum(MachineAttr machine) { return getPartOfLatency(machine, 1024 * 16); }

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

using EmitError = function_ref<InFlightDiagnostic()>;

namespace {
struct Figure {
  StringLiteral name;
  int64_t value;
};
} // namespace

static LogicalResult verifyPositive(EmitError emitError, ArrayRef<Figure> figures) {
  for (const Figure &figure : figures)
    if (figure.value < 1) // (P1)
      return emitError() << "\"" << figure.name << "\" of a machine is " << figure.value
                         << ", expected at least 1";
  return success();
}

LogicalResult ComputeAttr::verify(EmitError emitError, int64_t f64, int64_t f32, int64_t f16) {
  return verifyPositive(emitError, {{"f64", f64}, {"f32", f32}, {"f16", f16}});
}

LogicalResult MemoryAttr::verify(EmitError emitError, int64_t bytes, int64_t bytesPerSecond,
                                 int64_t latencyNs) {
  return verifyPositive(emitError,
                        {{"bytes", bytes}, {"bytes_per_second", bytesPerSecond}, {"latency_ns", latencyNs}});
}

LogicalResult LinkAttr::verify(EmitError emitError, int64_t bytesPerSecond, int64_t latencyNs) {
  return verifyPositive(emitError, {{"bytes_per_second", bytesPerSecond}, {"latency_ns", latencyNs}});
}

LogicalResult MachineAttr::verify(EmitError emitError, StringRef kind, ComputeAttr, MemoryAttr, LinkAttr,
                                  LinkAttr, LinkAttr) {
  if (!llvm::is_contained(getMachineKinds(), kind)) // (M1)
    return emitError() << "machine of kind \"" << kind << "\", expected one of " << listMachineKinds();
  return success();
}
