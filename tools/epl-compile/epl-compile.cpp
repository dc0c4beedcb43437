//===- epl-compile.cpp - From an annotated step to a plan -----------------===//
//
// Runs every phase on a module and writes the plan. Exit codes: 0 done, 1 a step could not be compiled,
// 2 wrong usage. Errors go to stderr, with the source location of the op. Several steps share nothing but
// the process, whose start costs as much as compiling a small one.
//
//===----------------------------------------------------------------------===//

#include "dialect/MachineFile.h"
#include "passes/annotate/Passes.h"
#include "passes/emit/BuildPlan.h"
#include "passes/kernel/Passes.h"
#include "passes/pipeline/Passes.h"
#include "passes/shard/Passes.h"
#include "passes/shard/explain/Listing.h"
#include "runtime/plan/format/Error.h"
#include "runtime/plan/format/Writer.h"
#include "tools/PassLogs.h"
#include "tools/Tool.h"
#include "tools/epl-compile/CrashReport.h"
#include "tools/epl-compile/Diagnostics.h"
#include "tools/epl-compile/Options.h"
#include "tools/epl-compile/PassOptions.h"
#include "tools/epl-compile/Progress.h"
#include "tools/epl-compile/Roles.h"
#include "tools/epl-compile/StepFile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/Timing.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::epl;
using ::epl::runtime::Devices;
namespace tool = ::epl::runtime::tool;

namespace {

/// What is said about a compilation while it runs and afterwards.
struct Reports {
  Progress progress;
  TimingScope timing;

  /// A phase begins, and ends with the scope.
  TimingScope begin(Progress::Phase phase, const char *name) {
    setCrashPhase(name);
    progress.begin(phase);
    return timing.nest(name);
  }
};

/// The machine of a name, or after an error none.
FailureOr<MachineAttr> findMachine(ModuleOp module, const std::string &kindOrFile) {
  module.getContext()->loadDialect<EplDialect>();
  llvm::Expected<MachineAttr> machine = readMachine(module.getContext(), kindOrFile);
  if (machine)
    return *machine;
  tool::printError(llvm::toString(machine.takeError()));
  return failure();
}

/// A schedule from a file says which stage is on which mesh.
void setStageMeshes(AnnotateOptions &annotateOptions, const Options &options) {
  std::vector<uint32_t> meshes = options.schedule.stageMeshes();
  if (options.microBatches > 1)
    annotateOptions.stageMeshes = llvm::to_vector_of<int64_t>(meshes);
}

/// How much faster each machine multiplies than the first: "1 : 2.5".
std::string describeSpeeds(ArrayRef<MachineAttr> machines) {
  auto getRate = [](MachineAttr machine) { return double(machine.getCompute().getF32()); };
  return llvm::join(
      llvm::map_range(machines,
                      [&](MachineAttr machine) {
                        return llvm::formatv("{0:F2}", getRate(machine) / getRate(machines.front())).str();
                      }),
      " : ");
}

/// Puts a machine of its own on each mesh, where several were asked for. Replicas share their mesh's batch in
/// equal parts, so that they are of one machine.
LogicalResult setMeshMachines(ModuleOp module, const Options &options) {
  SmallVector<StringRef> names;
  StringRef(options.machine).split(names, ',');
  if (names.size() < 2 || options.stage == Stage::input)
    return success();
  SmallVector<MachineAttr> machines;
  for (StringRef name : names) {
    FailureOr<MachineAttr> machine = findMachine(module, name.str());
    if (failed(machine))
      return failure();
    machines.push_back(*machine);
  }
  auto meshes = llvm::to_vector(module.getOps<MeshOp>());
  if (machines.size() != meshes.size()) {
    tool::printError(std::to_string(machines.size()) + " machines for " + std::to_string(meshes.size()) +
                     (meshes.size() == 1 ? " mesh" : " meshes") +
                     ", expected one, or one for each mesh: the replicas on a mesh have equal parts of the "
                     "batch, which are not shared as the machines' speeds, " +
                     describeSpeeds(machines) + "; stages on meshes of their own are (epl.auto_stages)");
    return failure();
  }
  for (auto [mesh, machine] : llvm::zip_equal(meshes, machines))
    mesh->setAttr(EplDialect::kMachineAttr, machine);
  return success();
}

/// Runs the passes of a phase. MLIR's own verifier looks at what the phase leaves, not at what each of its
/// passes does: it would take a third of the time. Tests run it behind every pass.
LogicalResult runPhase(ModuleOp module, const Options &options, Reports &reports, Progress::Phase phase,
                       const char *name, function_ref<void(OpPassManager &)> build) {
  TimingScope timing = reports.begin(phase, name);
  PassManager pm(module.getContext());
  build(pm);
  if (phase != Progress::Phase::codegen) // which counts its kernels
    reports.progress.watch(pm);
  applyMlirOptions(pm);
  pm.enableTiming(timing);
  pm.enableVerifier(false);
  Reproducer reproducer(options.reproducer, name);
  if (failed(reproducer.begin(pm, module)))
    return failure();
  return reproducer.end(success(succeeded(pm.run(module)) && succeeded(verify(module))));
}

/// Adds the annotate phase; with a role what makes that part of the step.
void buildAnnotate(OpPassManager &pm, const Options &options) {
  AnnotateOptions annotateOptions;
  annotateOptions.devices = options.devices.count;
  annotateOptions.colocate = options.colocate;
  annotateOptions.numStages = options.numStages;
  annotateOptions.lowerPrecision = options.amp == AmpLevel::o1;
  annotateOptions.explainPrecision = options.explainPrecision;
  if (options.autoParallel) {
    annotateOptions.findStages = options.numStages;
    annotateOptions.numStages = 0;
  }
  setStageMeshes(annotateOptions, options);
  if (options.reference)
    pm.addPass(createStripPass());
  buildAnnotatePipeline(pm, annotateOptions);
  if (options.role == Role::worker || options.isOfServers())
    pm.addPass(createRolePass(options));
}

/// Runs the phases up to `options.stage`.
LogicalResult runPhases(ModuleOp module, const Options &options, Reports &reports) {
  auto run = [&](Stage stage, Progress::Phase phase, const char *name,
                 function_ref<void(OpPassManager &)> build) -> LogicalResult {
    return stage > options.stage ? success() : runPhase(module, options, reports, phase, name, build);
  };
  auto annotate = [&](OpPassManager &pm) { buildAnnotate(pm, options); };
  auto shard = [&](OpPassManager &pm) {
    ShardOptions shardOptions;
    shardOptions.explainSplit = options.explainSplit;
    shardOptions.explainSharding = options.explainSharding;
    shardOptions.explainStages = options.explainStages;
    shardOptions.microBatches = options.microBatches;
    shardOptions.recompute = options.recompute;
    shardOptions.recomputeEnd = options.recomputeEnd;
    shardOptions.zero = options.zero;
    shardOptions.sequenceParallel = options.sequenceParallel;
    shardOptions.sparseAsDense = options.sparseAsDense;
    buildPlacePipeline(pm, shardOptions);
  };
  auto localize = [&](OpPassManager &pm) {
    ShardOptions shardOptions;
    shardOptions.owners = options.owners && !options.reference;
    shardOptions.gradientType = options.gradientType;
    shardOptions.gradientScale = options.gradientScale;
    shardOptions.explainSharding = options.explainSharding;
    shardOptions.splitBackward = options.microBatches > 1 && options.schedule.splitsBackward();
    buildLocalizePipeline(pm, shardOptions);
    PipelineOptions pipelineOptions;
    pipelineOptions.broadcasts = options.fuseBroadcasts;
    pipelineOptions.maxSplits = options.maxSplits;
    if (options.fuseCollectives)
      buildPipelinePipeline(pm, pipelineOptions);
  };
  auto codegen = [&](OpPassManager &pm) {
    CodegenOptions codegenOptions;
    codegenOptions.cpu = options.cpu;
    codegenOptions.gpu = options.isForGpus() ? options.gpu : "";
    codegenOptions.lineInfo = options.lineInfo;
    codegenOptions.loops = options.reference || options.kernels == Kernels::loops;
    codegenOptions.progress = [&](size_t done, size_t total) {
      reports.progress.report(done, total, std::to_string(done) + "/" + std::to_string(total) + " kernels");
    };
    buildCodegenPipeline(pm, codegenOptions);
  };
  using Phase = Progress::Phase;
  return success(succeeded(run(Stage::global, Phase::annotate, "annotate", annotate)) &&
                 succeeded(setMeshMachines(module, options)) &&
                 succeeded(run(Stage::global, Phase::shard, "shard", shard)) &&
                 succeeded(run(Stage::local, Phase::localize, "localize", localize)) &&
                 succeeded(run(Stage::kernel, Phase::kernel, "kernel", buildKernelPipeline)) &&
                 succeeded(run(Stage::ptx, Phase::codegen, "codegen", codegen)));
}

/// How the devices are used: `cpu:4 = data 2, model 2`. Axes of one device are left out beside others.
std::string describeLayout(ModuleOp module, const Devices &devices) {
  std::string layout;
  for (auto mesh : module.getOps<MeshOp>())
    for (AxisAttr axis : mesh.getAxes().getAsRange<AxisAttr>())
      if (axis.getSize() > 1)
        layout += (layout.empty() ? "" : ", ") + (axis.getName() + " " + Twine(axis.getSize())).str();
  return devices.str() + " = " + (layout.empty() ? "data 1" : layout);
}

LogicalResult writePlan(ModuleOp module, const std::string &input, const Options &options,
                        const std::string &file) {
  PlanOptions planOptions;
  planOptions.nodes = options.acrossNodes ? options.devices.nodes : 1;
  planOptions.deviceKind = options.devices.kind;
  Devices devices = options.devices;
  devices.nodes = planOptions.nodes;
  planOptions.layout = describeLayout(module, devices);
  planOptions.options = options.describe();
  planOptions.source = input;
  planOptions.schedule = options.schedule;
  planOptions.sequential = options.sequential;
  planOptions.numCommunicators = options.numCommunicators;
  planOptions.offload = options.offload;
  planOptions.offloadResults = options.offloadResults;
  auto plan = buildPlan(module, planOptions);
  if (failed(plan))
    return failure();
  try {
    ::epl::runtime::writePlan(*plan, file);
  } catch (const ::epl::runtime::PlanError &error) {
    tool::printError(error.what());
    return failure();
  }
  return success();
}

/// The code of the module's kernels. None is no error: a step may do nothing but call libraries.
LogicalResult printPtx(ModuleOp module) {
  for (BinaryOp binary : module.getOps<BinaryOp>())
    tool::print(binary.getImage().str());
  return success();
}

/// Writes what `options.stage` asks for of a module that the phases have run on.
LogicalResult emit(ModuleOp module, const std::string &input, const Options &options, Reports &reports,
                   const std::string &file) {
  if (options.stage == Stage::plan) {
    TimingScope timing = reports.begin(Progress::Phase::plan, "plan");
    return writePlan(module, input, options, file);
  }
  if (options.stage == Stage::ptx)
    return printPtx(module);
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (options.stage == Stage::global)
    printListing(module, stream);
  else
    module->print(stream, OpPrintingFlags().useLocalScope());
  tool::print(text + "\n");
  return success();
}

/// Compiles the programs of servers, each as a step by itself, or says what workers and servers have.
LogicalResult compileServers(ModuleOp module, const std::string &input, const Options &options,
                             Reports &reports) {
  auto annotate = [&](OpPassManager &pm) { buildAnnotate(pm, options); };
  if (failed(runPhase(module, options, reports, Progress::Phase::annotate, "annotate", annotate)))
    return failure();
  if (options.stage == Stage::roles) {
    tool::print(describeRoles(module) + "\n");
    return success();
  }
  for (const std::string &name : getPrograms(module)) {
    OwningOpRef<ModuleOp> program = takeProgram(module, name);
    Options own = getProgramOptions(options, name);
    if (failed(runPhases(*program, own, reports)) ||
        failed(emit(*program, input, own, reports, getProgramFile(options, name))))
      return failure();
  }
  return success();
}

/// Puts the machine that was asked for on the module, instead of its own. Of several each is for a mesh.
LogicalResult setMachine(ModuleOp module, const std::string &kindOrFile) {
  if (kindOrFile.empty() || StringRef(kindOrFile).contains(','))
    return success();
  FailureOr<MachineAttr> machine = findMachine(module, kindOrFile);
  if (failed(machine))
    return failure();
  module->setAttr(EplDialect::kMachineAttr, *machine);
  return success();
}

LogicalResult compile(const std::string &input, const Options &options, Reports &reports) {
  DialectRegistry registry;
  registry.insert<EplDialect, arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect,
                  math::MathDialect, scf::SCFDialect, tensor::TensorDialect>();
  registerShardModels(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  std::unique_ptr<llvm::MemoryBuffer> file = readStep(input);
  if (!file)
    return failure();
  setCrashInput(input, file->getBuffer());
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(file), SMLoc());
  UserDiagnosticHandler handler(sources, &context);
  ScopedDiagnosticHandler remarks(&context, printRemark);
  TimingScope parsing = reports.begin(Progress::Phase::parse, "parse");
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  parsing.stop();
  if (!module || failed(setMachine(*module, options.machine)))
    return failure();
  if (options.isOfServers())
    return compileServers(*module, input, options, reports);
  if (failed(runPhases(*module, options, reports)))
    return failure();
  return emit(*module, input, options, reports, options.getPlanFile(input));
}

/// Compiles what can be compiled. What EPL throws is an error of the step; nothing else is expected.
LogicalResult compileAll(const Options &options) {
  if (options.statistics)
    enableStatistics();
  if (!options.debugOnly.empty() && !enableDebugLogs(options.debugOnly))
    return failure();
  DefaultTimingManager timing; // prints when it goes
  applyMlirOptions(timing);
  if (options.timing)
    timing.setEnabled(true);
  TimingScope root = timing.getRootScope();
  LogicalResult result = success();
  for (const std::string &input : options.inputs) {
    Reports reports{Progress(options.progress), root.nest(input)};
    if (failed(compile(input, options, reports)))
      result = failure();
  }
  printStatistics();
  return result;
}

} // namespace

int main(int argc, char **argv) {
  installCrashReport(argc, argv);
  Options options;
  CLI::App app("Compiles an annotated training step for one device into a plan for several.\n"
               "Exit codes: 0 done, 1 a step could not be compiled, 2 wrong usage.",
               "epl-compile");
  app.set_version_flag("--version", getVersions(), "print the versions of EPL and LLVM, and this CPU's name");
  addOptions(app, options);
  std::vector<char *> arguments(argv, argv + argc);
  if (!takeMlirOptions(arguments))
    return tool::badUsage;
  return tool::runTool(app, int(arguments.size()), arguments.data(), [&] {
    try {
      return failed(compileAll(options)) ? tool::failed : tool::good;
    } catch (const ::epl::runtime::Error &) {
      throw;
    } catch (const std::exception &error) {
      crash(error.what());
    }
  });
}
