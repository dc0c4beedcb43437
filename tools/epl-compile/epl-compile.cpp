//===- epl-compile.cpp - From an annotated step to a plan -----------------===//
//
// Runs every phase on a module and writes the plan. Exit codes: 0 done, 1 a step could not be compiled,
// 2 wrong usage. Errors go to stderr, with the source location of the op. Several steps share nothing but
// the process, whose start costs as much as compiling a small one.
//
//===----------------------------------------------------------------------===//

#include "dialect/MachineFile.h"
#include "dialect/SourceLocation.h"
#include "passes/annotate/Passes.h"
#include "passes/emit/BuildPlan.h"
#include "passes/kernel/Passes.h"
#include "passes/pipeline/Passes.h"
#include "passes/shard/Passes.h"
#include "passes/shard/explain/Listing.h"
#include "runtime/plan/format/Error.h"
#include "runtime/plan/format/Writer.h"
#include "runtime/plan/model/Devices.h"
#include "tools/PassLogs.h"
#include "tools/Tool.h"
#include "tools/epl-compile/CrashReport.h"
#include "tools/epl-compile/PassOptions.h"
#include "tools/epl-compile/Progress.h"
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
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace mlir::epl;
using ::epl::runtime::Devices;
namespace tool = ::epl::runtime::tool;

namespace {

/// Where a compilation may stop and print the module instead.
enum class Stage { input, global, local, kernel, plan };

/// What becomes of kernels that no library runs.
enum class Kernels { vectorized, loops };

struct Options {
  std::vector<std::string> inputs;
  std::string output;
  Devices devices = {.kind = "cpu", .count = 1};
  Stage stage = Stage::plan;
  Kernels kernels = Kernels::vectorized;
  bool reference = false;
  bool timing = false;
  bool explainSplit = false;
  bool explainSharding = false;
  bool colocate = false;
  bool acrossNodes = false;
  ZeroLevel zero = ZeroLevel::off;
  bool sequenceParallel = false;
  std::string cpu = "host";
  std::string machine; ///< a kind or a file; empty: what the module says
  bool progress = false;
  bool statistics = false;
  std::vector<std::string> debugOnly; ///< passes that say what they decide
  std::string reproducer;             ///< the file to keep a phase in that fails; empty for none

  /// The plan file of an input: `output`, or a file in that folder.
  std::string getPlanFile(StringRef input) const {
    if (inputs.size() == 1)
      return output;
    SmallString<128> path(output);
    llvm::sys::path::append(path, llvm::sys::path::stem(input) + ".eplan");
    return path.str().str();
  }
};

Devices parseDevices(const std::string &text) {
  try {
    return Devices::parse(text);
  } catch (const ::epl::runtime::Error &error) {
    throw CLI::ValidationError("--devices", error.what());
  }
}

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

/// Runs the phases up to `options.stage`. MLIR's own verifier looks at what a phase leaves, not at what each
/// of its passes does: it would take a third of the time. Tests run it behind every pass.
LogicalResult runPhases(ModuleOp module, const Options &options, Reports &reports) {
  auto run = [&](Stage stage, Progress::Phase phase, const char *name,
                 function_ref<void(OpPassManager &)> build) -> LogicalResult {
    if (stage > options.stage)
      return success();
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
  };
  auto annotate = [&](OpPassManager &pm) {
    AnnotateOptions annotateOptions;
    annotateOptions.devices = options.devices.count;
    annotateOptions.colocate = options.colocate;
    if (options.reference)
      pm.addPass(createStripPass());
    buildAnnotatePipeline(pm, annotateOptions);
  };
  auto shard = [&](OpPassManager &pm) {
    ShardOptions shardOptions;
    shardOptions.explainSplit = options.explainSplit;
    shardOptions.explainSharding = options.explainSharding;
    shardOptions.zero = options.zero;
    shardOptions.sequenceParallel = options.sequenceParallel;
    buildPlacePipeline(pm, shardOptions);
  };
  auto localize = [&](OpPassManager &pm) {
    buildLocalizePipeline(pm);
    buildPipelinePipeline(pm);
  };
  auto codegen = [&](OpPassManager &pm) {
    CodegenOptions codegenOptions;
    codegenOptions.cpu = options.cpu;
    codegenOptions.loops = options.reference || options.kernels == Kernels::loops;
    codegenOptions.progress = [&](size_t done, size_t total) {
      reports.progress.report(done, total, std::to_string(done) + "/" + std::to_string(total) + " kernels");
    };
    buildCodegenPipeline(pm, codegenOptions);
  };
  using Phase = Progress::Phase;
  return success(succeeded(run(Stage::global, Phase::annotate, "annotate", annotate)) &&
                 succeeded(run(Stage::global, Phase::shard, "shard", shard)) &&
                 succeeded(run(Stage::local, Phase::localize, "localize", localize)) &&
                 succeeded(run(Stage::kernel, Phase::kernel, "kernel", buildKernelPipeline)) &&
                 succeeded(run(Stage::plan, Phase::codegen, "codegen", codegen)));
}

/// Prints a remark, which explains and needs no source text below it, as lines "FILE:LINE: remark: ...".
LogicalResult printRemark(Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() != DiagnosticSeverity::Remark)
    return failure(); // for the handler before
  auto print = [](Diagnostic &line, StringRef kind) {
    std::string source = getSourceLine(line.getLocation());
    llvm::errs() << source << (source.empty() ? "" : ": ") << kind << ": " << line.str() << "\n";
  };
  print(diagnostic, "remark");
  for (Diagnostic &note : diagnostic.getNotes())
    print(note, "note");
  return success();
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

LogicalResult writePlan(ModuleOp module, const std::string &input, const Options &options) {
  PlanOptions planOptions;
  planOptions.nodes = options.acrossNodes ? options.devices.nodes : 1;
  planOptions.layout = describeLayout(module, {"cpu", options.devices.count, planOptions.nodes});
  planOptions.options = "--devices=" + options.devices.str() + " --cpu=" + options.cpu;
  if (options.kernels == Kernels::loops)
    planOptions.options += " --kernels=loops";
  if (options.colocate)
    planOptions.options += " --colocate";
  if (options.acrossNodes)
    planOptions.options += " --across-nodes";
  if (!options.machine.empty())
    planOptions.options += " --machine=" + options.machine;
  if (options.zero != ZeroLevel::off)
    planOptions.options += " --zero=v" + std::to_string(int(options.zero));
  if (options.reference)
    planOptions.options += " --reference";
  planOptions.source = input;
  auto plan = buildPlan(module, planOptions);
  if (failed(plan))
    return failure();
  try {
    ::epl::runtime::writePlan(*plan, options.getPlanFile(input));
  } catch (const ::epl::runtime::PlanError &error) {
    tool::printError(error.what());
    return failure();
  }
  return success();
}

/// Puts the machine that was asked for on the module, instead of its own.
LogicalResult setMachine(ModuleOp module, const std::string &kindOrFile) {
  if (kindOrFile.empty())
    return success();
  module.getContext()->loadDialect<EplDialect>();
  llvm::Expected<MachineAttr> machine = readMachine(module.getContext(), kindOrFile);
  if (!machine) {
    tool::printError(llvm::toString(machine.takeError()));
    return failure();
  }
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
  SourceMgrDiagnosticHandler handler(sources, &context);
  ScopedDiagnosticHandler remarks(&context, printRemark);
  TimingScope parsing = reports.begin(Progress::Phase::parse, "parse");
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  parsing.stop();
  if (!module || failed(setMachine(*module, options.machine)) || failed(runPhases(*module, options, reports)))
    return failure();
  if (options.stage == Stage::plan) {
    TimingScope timing = reports.begin(Progress::Phase::plan, "plan");
    return writePlan(*module, input, options);
  }
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (options.stage == Stage::global)
    printListing(*module, stream);
  else
    module->print(stream, OpPrintingFlags().useLocalScope());
  tool::print(text + "\n");
  return success();
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

/// Throws what CLI11 reports if the options do not go together.
void checkUsage(const Options &options) {
  if (options.stage == Stage::plan && options.output.empty())
    throw CLI::RequiredError("-o");
  if (options.reference && options.devices.count != 1)
    throw CLI::ValidationError("--reference", "the reference runs on one device");
  if (options.inputs.size() > 1 && !options.reproducer.empty())
    throw CLI::ValidationError(kReproducerOption, "keeps a phase of one step, found several steps");
  if (llvm::sys::fs::equivalent(options.inputs.front(), options.reproducer))
    throw CLI::ValidationError(kReproducerOption,
                               "\"" + options.reproducer + "\" is the step, expected another file");
  if (options.inputs.size() == 1 || options.stage != Stage::plan)
    return;
  if (!llvm::sys::fs::is_directory(options.output))
    throw CLI::ValidationError("-o", "\"" + options.output + "\" is not a folder, as several steps need");
  llvm::StringSet<> files;
  for (const std::string &input : options.inputs)
    if (std::string file = options.getPlanFile(input); !files.insert(file).second)
      throw CLI::ValidationError("-o", "two of the steps are to become \"" + file + "\"");
}

} // namespace

int main(int argc, char **argv) {
  installCrashReport(argc, argv);
  Options options;
  const std::map<std::string, Stage> stages = {{"input", Stage::input},
                                               {"global", Stage::global},
                                               {"local", Stage::local},
                                               {"kernel", Stage::kernel},
                                               {"plan", Stage::plan}};
  const std::map<std::string, Kernels> kernels = {{"vectorized", Kernels::vectorized},
                                                  {"loops", Kernels::loops}};
  const std::map<std::string, ZeroLevel> zeroLevels = {
      {"off", ZeroLevel::off}, {"v1", ZeroLevel::v1}, {"v2", ZeroLevel::v2}, {"v3", ZeroLevel::v3}};
  CLI::App app("Compiles an annotated training step for one device into a plan for several.\n"
               "Exit codes: 0 done, 1 a step could not be compiled, 2 wrong usage.",
               "epl-compile");
  app.set_version_flag("--version", getVersions(), "print the versions of EPL and LLVM, and this CPU's name");
  app.add_option("inputs", options.inputs,
                 "the step: MLIR text, - for standard input; several are compiled one after another")
      ->required();
  app.add_option("-o,--output", options.output,
                 "the plan file to write; for several steps the folder to write STEP.eplan files to")
      ->type_name("FILE");
  app.add_option_function<std::string>(
         "--devices", [&](const std::string &text) { options.devices = parseDevices(text); },
         "the devices to compile for: cpu:N, or cpu:WxG for W nodes of G devices each (default cpu:1)")
      ->type_name("cpu:N");
  app.add_option(
         "--emit", options.stage,
         "print the program after a phase instead of writing a plan: input (as it came), global (whole "
         "tensors with their shardings, a listing for reading), local (what a device computes), kernel")
      ->transform(tool::isOneOf(stages))
      ->type_name("STAGE");
  app.add_option(
         "--kernels", options.kernels,
         "vectorized (default): fused nests on vectors; loops: plain loops, op by op, compiled quickly")
      ->transform(tool::isOneOf(kernels))
      ->type_name("MODE");
  app.add_flag("--reference", options.reference,
               "compile the unparallelized program: scopes stripped, one device, plain loops");
  app.add_option(
         "--cpu", options.cpu,
         "the CPU to compile for, by LLVM's name (znver4) or by level (x86-64-v3); host is this machine's")
      ->capture_default_str()
      ->envname("EPL_CPU")
      ->type_name("CPU");
  app.add_flag(
      "--explain-split", options.explainSplit,
      "remark, as a table, for each kind of parameter of a split step along which dimension it is split, the "
      "bytes that the devices exchange, and the runner-up with its bytes");
  app.add_flag("--explain-sharding", options.explainSharding,
               "remark where a value is wanted with two shardings which was dropped, and why, and where each "
               "pending reduction is completed, and for whom");
  app.add_option("--zero", options.zero,
                 "what devices share that compute the same: v1: the optimizer's state; v2: gradients too; "
                 "v3: parameters too; off (default): nothing")
      ->transform(tool::isOneOf(zeroLevels))
      ->type_name("LEVEL");
  app.add_flag("--sequence-parallel", options.sequenceParallel,
               "share among the devices of a split what each would compute whole between its sums and its "
               "products: norms, dropout, residual additions");
  app.add_flag("--colocate", options.colocate,
               "run all scopes of the step on the same devices; without it each has devices of its own");
  app.add_flag("--across-nodes", options.acrossNodes,
               "place a copy of the model across the nodes, so that the replicas of a scope are within one; "
               "without it a copy is within a node as far as its devices are");
  app.add_option(
         "--machine", options.machine,
         "what the devices can do, by which sharding and collectives are chosen: cpu, a100, h100, b200, "
         "or a file as epl-plan machine prints it (default: what the step's module says, else cpu)")
      ->type_name("KIND|FILE");
  app.add_flag("--timing", options.timing, "report the time of every phase and pass on stderr");
  app.add_flag(
      "--progress", options.progress,
      "report on stderr how far the compilation is, as lines \"progress: 81% codegen, 12/40 kernels\"");
  app.add_flag("--statistics", options.statistics, kStatisticsHelp);
  app.add_option("--debug-only", options.debugOnly, kDebugOnlyHelp)->delimiter(',')->type_name("PASSES");
  app.add_option(kReproducerOption, options.reproducer,
                 "write a phase that fails or crashes to this file: its module and its passes, for epl-opt")
      ->type_name("FILE");
  app.footer(kMlirOptionsHelp);
  app.parse_complete_callback([&] { checkUsage(options); });
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
