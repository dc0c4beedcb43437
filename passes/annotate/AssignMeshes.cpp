//===- AssignMeshes.cpp - Devices for the task graphs ---------------------===//
//
// Problem: a task graph says how many devices one replica of it wants, not which ones there are.
// Method: task graphs that share their devices, or a lone one, are on one mesh of all devices. The devices of
// a replica are an axis "model" of what is split, and as many replicas as fit are an axis "data". Counts that
// do not divide each other have axes of their own (SplitAxes.h); an axis that a task graph is not split over
// is one more of its batch. Other task graphs have a mesh each, or, as stages of a pipeline that has several
// on a mesh, one in turn. As many replicas of the whole model as fit stand one behind the other, the meshes
// of each in their order: replica, mesh, device.
//
//   body replicate(1), head split(2), on 6 devices      body: "data" = 2, first device 0, every 3rd
//     0 body | 1 2 head | 3 body | 4 5 head             head: "data" = 2, "model" = 2, first device 1
//
// A task graph that replicates over several devices slices its batch over them, too, along "data2". Each axis
// has its role. A module may bring its own mesh, for arguments that are sharded by hand, or that of an
// earlier step, on which its arguments arrive (Arrivals.h). One that makes the states of another step brings
// the meshes of that, and has a task graph of the name of each.
//
// Invariant in: no mesh, or those of a module that brings some. Invariant out: every task graph is on a mesh.
// Reference: EPL's nested data parallelism, its automatic layout, and that of scopes that share devices.
//
//===----------------------------------------------------------------------===//

#include "dialect/SplitAxes.h"
#include "dialect/Stages.h"
#include "passes/annotate/Arrivals.h"
#include "passes/annotate/Passes.h"

#include "llvm/ADT/STLExtras.h"

namespace mlir::epl {
#define GEN_PASS_DEF_ASSIGNMESHESPASS
#include "passes/annotate/Passes.h.inc"
} // namespace mlir::epl

using namespace mlir;
using namespace mlir::epl;

using TaskGraphs = ArrayRef<TaskGraphOp>;

//===----------------------------------------------------------------------===//
// One mesh for all
//===----------------------------------------------------------------------===//

/// The devices of one replica must divide them all.
static LogicalResult verifyCounts(TaskGraphs taskgraphs, int64_t devices) {
  for (TaskGraphOp taskgraph : taskgraphs) {
    StrategyAttr strategy = taskgraph.getStrategy();
    if (devices % strategy.getDeviceCount() != 0)
      return emitError(taskgraph.getLoc())
             << stringifyStrategyKind(strategy.getKind()) << " over " << strategy.getDeviceCount()
             << " devices on " << devices << ", expected a number of devices that its device count divides";
  }
  return success();
}

static AxisAttr getAxis(OpBuilder &builder, StringRef name, int64_t size, AxisRole role) {
  return AxisAttr::get(builder.getContext(), name, size, role);
}

/// The axes of a mesh of `devices`: "data", and those that task graphs are split over.
static SmallVector<Attribute> getAxes(OpBuilder &builder, TaskGraphs taskgraphs, int64_t devices) {
  SmallVector<Attribute> axes = {Attribute()};
  for (const SplitAxis &axis : getSplitAxes(taskgraphs)) {
    axes.push_back(getAxis(builder, axis.name, axis.size, AxisRole::model));
    devices /= axis.size;
  }
  axes.front() = getAxis(builder, kDataAxis, devices, AxisRole::data);
  return axes;
}

//===----------------------------------------------------------------------===//
// A mesh for each
//===----------------------------------------------------------------------===//

/// The task graphs of each mesh, in their order.
using Meshes = SmallVector<SmallVector<TaskGraphOp>>;

static TaskGraphOp getFirst(TaskGraphs taskgraphs) { return taskgraphs.front(); }

/// The stages that `epl-find-stages` will deal work out to.
static size_t countFound(TaskGraphs taskgraphs) {
  size_t found = 0;
  for (TaskGraphOp taskgraph : taskgraphs)
    found += getStages(taskgraph).size();
  return found;
}

/// What task graphs are to the user: "1 scope and 3 found stages".
static std::string describe(TaskGraphs taskgraphs) {
  auto count = [](size_t number, StringRef what) {
    return (Twine(number) + " " + what + (number == 1 ? "" : "s")).str();
  };
  size_t found = countFound(taskgraphs), scopes = taskgraphs.size() - found;
  if (found == 0)
    return count(scopes, "scope");
  return (scopes == 0 ? "" : count(scopes, "scope") + " and ") + count(found, "found stage");
}

/// The devices of one replica of the model.
static int64_t sumCounts(const Meshes &meshes) {
  int64_t sum = 0;
  for (const SmallVector<TaskGraphOp> &taskgraphs : meshes)
    sum += getFirst(taskgraphs).getStrategy().getDeviceCount();
  return sum;
}

static Diagnostic &noteStrategy(InFlightDiagnostic &error, TaskGraphOp taskgraph) {
  Diagnostic &note = error.attachNote(taskgraph.getLoc());
  if (std::optional<StringRef> name = taskgraph.getScopeName())
    note << "\"" << *name << "\": ";
  return note << stringifyStrategyKind(taskgraph.getStrategy().getKind()) << " over "
              << taskgraph.getStrategy().getDeviceCount() << " devices";
}

static LogicalResult verifySum(const Meshes &meshes, int64_t devices) {
  int64_t sum = sumCounts(meshes);
  if (devices % sum == 0)
    return success();
  InFlightDiagnostic error =
      emitError(getFirst(meshes.front()).getLoc())
      << meshes.size() << " task graphs over " << sum << " devices on " << devices
      << ", expected a number of devices that the sum of their device counts divides, "
         "or cluster.colocate_split_and_replicate (--colocate), with which they share the "
         "devices";
  for (const SmallVector<TaskGraphOp> &taskgraphs : meshes)
    noteStrategy(error, getFirst(taskgraphs));
  return error;
}

/// The stages of one mesh share its devices.
static LogicalResult verifyAlike(TaskGraphs taskgraphs) {
  for (TaskGraphOp taskgraph : taskgraphs) {
    if (taskgraph.getStrategy() == getFirst(taskgraphs).getStrategy())
      continue;
    InFlightDiagnostic error = emitError(taskgraph.getLoc())
                               << "stages of one mesh ask for different devices, expected the same of all";
    noteStrategy(error, getFirst(taskgraphs));
    noteStrategy(error, taskgraph);
    return error;
  }
  return success();
}

/// The axes of task graphs with devices of their own, of which there are `replicas`.
static SmallVector<Attribute> getOwnAxes(OpBuilder &builder, TaskGraphs taskgraphs, int64_t replicas) {
  StrategyAttr strategy = getFirst(taskgraphs).getStrategy();
  int64_t count = strategy.getDeviceCount();
  SmallVector<Attribute> axes = getAxes(builder, taskgraphs, replicas * count);
  if (strategy.getKind() == StrategyKind::replicate && count > 1)
    axes = {getAxis(builder, kDataAxis, replicas, AxisRole::data),
            getAxis(builder, kDataAxis.str() + "2", count, AxisRole::data)};
  return axes;
}

namespace {
struct AssignMeshesPass : epl::impl::AssignMeshesPassBase<AssignMeshesPass> {
  using AssignMeshesPassBase::AssignMeshesPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (devices < 1) {
      emitError(module.getLoc()) << "mesh of " << int64_t(devices) << " devices, expected at least 1";
      return signalPassFailure();
    }
    auto taskgraphs = llvm::to_vector(module.getOps<TaskGraphOp>());
    if (MeshOp mesh = getArrivalMesh(module);
        mesh && !(sharesAll(taskgraphs) && canShare(mesh, taskgraphs, devices)))
      dropArrivals(module);
    auto meshes = llvm::to_vector(module.getOps<MeshOp>());
    LogicalResult placed = meshes.size() > 1       ? useMeshes(meshes, taskgraphs)
                           : !meshes.empty()       ? useMesh(meshes.front(), taskgraphs)
                           : sharesAll(taskgraphs) ? createMesh(module, taskgraphs)
                                                   : createMeshes(module, taskgraphs);
    if (failed(placed))
      signalPassFailure();
  }

private:
  /// On one device there is nothing to place: it is that of all who want one.
  bool sharesAll(TaskGraphs taskgraphs) const {
    auto wantsOne = [](TaskGraphOp taskgraph) { return taskgraph.getStrategy().getDeviceCount() == 1; };
    return colocate || taskgraphs.size() < 2 || (devices == 1 && llvm::all_of(taskgraphs, wantsOne));
  }

  static InFlightDiagnostic refuse(TaskGraphs taskgraphs) {
    return emitError(getFirst(taskgraphs).getLoc()) << describe(taskgraphs);
  }

  size_t countMeshes(TaskGraphs taskgraphs) const {
    if (!stageMeshes.empty())
      return size_t(*llvm::max_element(stageMeshes)) + 1;
    return numStages > 0 ? size_t(numStages) : taskgraphs.size();
  }

  /// A table has a mesh for each task graph, and as many meshes as the user says.
  LogicalResult verifyTable(TaskGraphs taskgraphs) const {
    if (stageMeshes.empty())
      return success();
    if (stageMeshes.size() != taskgraphs.size())
      return refuse(taskgraphs) << ", but the schedule has " << stageMeshes.size()
                                << " stages, expected one for each"
                                << (countFound(taskgraphs) ? "; epl.auto_stages says how many are found, or "
                                                             "pipeline.num_stages with auto.auto_parallel"
                                                           : "");
    for (int64_t mesh : stageMeshes)
      if (mesh < 0 || mesh >= int64_t(taskgraphs.size()))
        return refuse(taskgraphs) << ", but one is on mesh " << mesh;
    size_t meshes = countMeshes(taskgraphs);
    if (numStages > 0 && size_t(numStages) != meshes)
      return refuse(taskgraphs) << " on " << int64_t(numStages)
                                << " meshes (pipeline.num_stages), but the schedule has " << meshes
                                << ", expected as many, or none said beside a table";
    return success();
  }

  /// Deals the task graphs out to meshes.
  FailureOr<Meshes> deal(TaskGraphs taskgraphs) const {
    if (failed(verifyTable(taskgraphs)))
      return failure();
    size_t count = countMeshes(taskgraphs);
    if (stageMeshes.empty() && taskgraphs.size() % count != 0)
      return refuse(taskgraphs) << " on " << count << " meshes (pipeline.num_stages), expected a multiple";
    Meshes meshes(count);
    for (auto [index, taskgraph] : llvm::enumerate(taskgraphs))
      meshes[stageMeshes.empty() ? index % count : size_t(stageMeshes[index])].push_back(taskgraph);
    for (auto [mesh, own] : llvm::enumerate(meshes))
      if (own.empty())
        return refuse(taskgraphs) << " on " << count << " meshes, but none is on mesh " << mesh;
      else if (failed(verifyAlike(own)))
        return failure();
    return meshes;
  }

  static void putOn(MeshOp mesh, TaskGraphs taskgraphs) {
    for (TaskGraphOp taskgraph : taskgraphs)
      taskgraph.setMesh(mesh.getSymName());
  }

  LogicalResult useMesh(MeshOp mesh, TaskGraphs taskgraphs) {
    if (failed(verifyCounts(taskgraphs, devices)))
      return failure();
    if (mesh.getNumDevices() != devices)
      return mesh.emitOpError() << "has " << mesh.getNumDevices() << " devices, expected "
                                << int64_t(devices);
    putOn(mesh, taskgraphs);
    return success();
  }

  /// Each task graph is on the mesh of its name.
  LogicalResult useMeshes(ArrayRef<MeshOp> meshes, TaskGraphs taskgraphs) {
    int64_t found = 0;
    for (MeshOp mesh : meshes)
      found += mesh.getNumDevices();
    if (found != devices) {
      MeshOp first = meshes.front();
      return first.emitOpError() << "and " << meshes.size() - 1 << " others have " << found
                                 << " devices, expected " << int64_t(devices);
    }
    for (TaskGraphOp taskgraph : taskgraphs) {
      auto isNamed = [&](MeshOp mesh) { return taskgraph.getScopeName() == mesh.getSymName(); };
      const MeshOp *own = llvm::find_if(meshes, isNamed);
      if (own == meshes.end())
        return emitError(taskgraph.getLoc())
               << "scope \"" << taskgraph.getScopeName().value_or("") << "\" has the name of none of the "
               << meshes.size() << " meshes that the module brings";
      putOn(*own, taskgraph);
    }
    return success();
  }

  static LogicalResult verifyFree(ModuleOp module, StringRef name) {
    if (Operation *taken = module.lookupSymbol(name))
      return emitError(taken->getLoc())
             << "symbol \"" << name << "\" is taken, expected it free for the mesh of the devices";
    return success();
  }

  LogicalResult createMesh(ModuleOp module, TaskGraphs taskgraphs) {
    if (failed(verifyCounts(taskgraphs, devices)) || failed(verifyFree(module, "mesh")))
      return failure();
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    ArrayAttr axes = builder.getArrayAttr(getAxes(builder, taskgraphs, devices));
    putOn(MeshOp::create(builder, module.getLoc(), "mesh", axes), taskgraphs);
    return success();
  }

  LogicalResult createMeshes(ModuleOp module, TaskGraphs taskgraphs) {
    FailureOr<Meshes> meshes = deal(taskgraphs);
    if (failed(meshes) || failed(verifySum(*meshes, devices)))
      return failure();
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    int64_t first = 0, sum = sumCounts(*meshes);
    for (auto [index, own] : llvm::enumerate(*meshes)) {
      std::string name = "mesh" + std::to_string(index);
      if (failed(verifyFree(module, name)))
        return failure();
      SmallVector<Attribute> axes = getOwnAxes(builder, own, devices / sum);
      SmallVector<int64_t> strides(axes.size(), 1); // of the axis of a replica's devices, if there is one
      strides.front() = sum;
      putOn(MeshOp::create(builder, getFirst(own).getLoc(), name, builder.getArrayAttr(axes),
                           builder.getI64IntegerAttr(first), builder.getDenseI64ArrayAttr(strides)),
            own);
      first += getFirst(own).getStrategy().getDeviceCount();
    }
    return success();
  }
};
} // namespace
