//===- Machine.cpp - What the devices of a module can do ------------------===//

#include "dialect/Machine.h"

#include "dialect/MachineFigures.h"

#include "mlir/IR/TypeUtilities.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mlir::epl;

namespace machine = ::epl::runtime::machine;

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

MachineAttr mlir::epl::getMachineOf(MLIRContext *context, const machine::Machine &table) {
  auto link = [&](const machine::Link &link) {
    return LinkAttr::get(context, link.bytesPerSecond, link.latencyNs);
  };
  const auto &[f64, f32, f16] = table.compute;
  const auto &[bytes, bytesPerSecond, latencyNs] = table.memory;
  return MachineAttr::get(context, table.kind, ComputeAttr::get(context, f64, f32, f16),
                          MemoryAttr::get(context, bytes, bytesPerSecond, latencyNs),
                          link(table.withinProcess), link(table.betweenProcesses), link(table.betweenNodes));
}

MachineAttr mlir::epl::getMachineOfKind(MLIRContext *context, StringRef kind) {
  const machine::Machine *found = machine::findMachine(kind.str());
  return found ? getMachineOf(context, *found) : MachineAttr();
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
  return said ? said : getMachineOf(op->getContext(), machine::machines().front());
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
  if (!machine::findMachine(kind.str())) // (M1)
    return emitError() << "machine of kind \"" << kind << "\", expected one of " << machine::machineKinds();
  return success();
}
