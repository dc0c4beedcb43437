//===- Options.cpp - What a compilation is told ---------------------------===//

#include "tools/epl-compile/Options.h"

#include "runtime/plan/format/Error.h"
#include "tools/PassLogs.h"
#include "tools/Tool.h"
#include "tools/epl-compile/PassOptions.h"
#include "tools/epl-compile/Roles.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir::epl;
using ::epl::runtime::Devices;
using llvm::StringRef;
namespace schedule = ::epl::runtime::schedule;
namespace tool = ::epl::runtime::tool;

std::string Options::getPlanFile(StringRef input) const {
  if (inputs.size() == 1)
    return output;
  llvm::SmallString<128> path(output);
  llvm::sys::path::append(path, llvm::sys::path::stem(input) + ".eplan");
  return path.str().str();
}

std::string Options::describe() const {
  if (!part.empty())
    return part;
  std::string text = "--devices=" + devices.str() + (isForGpus() ? " --gpu=" + gpu : " --cpu=" + cpu);
  if (lineInfo)
    text += " --line-info";
  if (kernels == Kernels::loops)
    text += " --kernels=loops";
  if (colocate)
    text += " --colocate";
  if (acrossNodes)
    text += " --across-nodes";
  if (!machine.empty())
    text += " --machine=" + machine;
  if (microBatches > 1)
    text += " --micro-batches=" + std::to_string(microBatches) + " --schedule=" + schedule.name();
  if (autoParallel)
    text += " --auto-parallel";
  if (numStages > 0)
    text += " --num-stages=" + std::to_string(numStages);
  if (recompute != RecomputeMode::off)
    text += recompute == RecomputeMode::automatic ? " --recompute=auto" : " --recompute=collection";
  if (recomputeEnd >= 0)
    text += " --recompute-end=" + std::to_string(recomputeEnd);
  if (zero != ZeroLevel::off)
    text += " --zero=v" + std::to_string(int(zero));
  if (owners)
    text += " --owners";
  if (sequenceParallel)
    text += " --sequence-parallel";
  if (gradientType != GradientType::f32)
    text += gradientType == GradientType::f16 ? " --gradient-type=f16" : " --gradient-type=bf16";
  if (gradientType == GradientType::f16)
    text += " --gradient-scale=" + std::to_string(gradientScale);
  if (sparseAsDense)
    text += " --sparse-as-dense";
  if (!fuseCollectives)
    text += " --no-fuse-collectives";
  if (!fuseBroadcasts)
    text += " --no-fuse-broadcasts";
  if (maxSplits != 0)
    text += " --max-splits=" + std::to_string(maxSplits);
  if (sequential)
    text += " --sequential";
  if (numCommunicators != 1)
    text += " --communicators=" + std::to_string(numCommunicators);
  if (offload)
    text += offloadResults ? " --offload --offload-results" : " --offload";
  if (amp != AmpLevel::off)
    text += " --amp=o" + std::to_string(int(amp));
  if (reference)
    text += " --reference";
  return text + describeRole(*this);
}

static Devices parseDevices(const std::string &text) {
  try {
    return Devices::parse(text);
  } catch (const ::epl::runtime::Error &error) {
    throw CLI::ValidationError("--devices", error.what());
  }
}

static std::string getScheduleHelp() {
  std::string text =
      "in which order a mesh does the forward and backward work of its micro-batches: a file with "
      "a table, or a name (default 1f1b)";
  for (const schedule::Generator &generator : schedule::getGenerators())
    text += "; " + std::string(generator.name) + ": " + std::string(generator.description);
  return text;
}

static schedule::Schedule parseSchedule(const std::string &text) {
  try {
    return schedule::Schedule::of(text);
  } catch (const ::epl::runtime::Error &error) {
    throw CLI::ValidationError("--schedule", error.what());
  }
}

/// What is wrong with a table whatever the step is like is said before anything is compiled.
static void checkSchedule(const Options &options) {
  try {
    if (options.microBatches > 1)
      options.schedule.check(uint32_t(options.microBatches));
  } catch (const ::epl::runtime::Error &error) {
    throw CLI::ValidationError("--schedule", error.what());
  }
}

/// Throws what CLI11 reports if the options do not go together.
static void checkUsage(const Options &options) {
  if (options.stage == Stage::plan && options.output.empty())
    throw CLI::RequiredError("-o");
  if (options.reference && options.isForGpus())
    throw CLI::ValidationError("--reference",
                               "the reference runs on a CPU, found --devices=" + options.devices.str());
  if (options.stage == Stage::ptx && !options.isForGpus())
    throw CLI::ValidationError("--emit", "ptx is code for GPUs, found --devices=" + options.devices.str());
  if (options.lineInfo && !options.isForGpus())
    throw CLI::ValidationError("--line-info",
                               "is of code for GPUs, found --devices=" + options.devices.str());
  if (options.reference && options.devices.count != 1)
    throw CLI::ValidationError("--reference", "the reference runs on one device");
  checkSchedule(options);
  if (options.owners && options.zero != ZeroLevel::off)
    throw CLI::ValidationError("--owners", "a state belongs to one device, or devices share it (--zero=v" +
                                               std::to_string(int(options.zero)) + "): expected one of both");
  if (options.autoParallel && options.numStages == 0)
    throw CLI::ValidationError("--auto-parallel", "needs --num-stages, into how many stages a step is cut");
  checkRole(options);
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

/// What is compiled, for which devices, and what is written.
static void addGoals(CLI::App &app, Options &options) {
  const std::map<std::string, Stage> stages = {
      {"input", Stage::input},   {"roles", Stage::roles}, {"global", Stage::global}, {"local", Stage::local},
      {"kernel", Stage::kernel}, {"ptx", Stage::ptx},     {"plan", Stage::plan}};
  const std::map<std::string, Kernels> kernels = {{"vectorized", Kernels::vectorized},
                                                  {"loops", Kernels::loops}};
  app.add_option("inputs", options.inputs,
                 "the step: MLIR text, - for standard input; several are compiled one after another")
      ->required();
  app.add_option("-o,--output", options.output,
                 "the plan file to write; for several steps the folder to write STEP.eplan files to")
      ->type_name("FILE");
  app.add_option_function<std::string>(
         "--devices", [&](const std::string &text) { options.devices = parseDevices(text); },
         "the devices to compile for: cpu:N, or cpu:WxG for W nodes of G devices each; cuda:CARDS for a "
         "device on each GPU (cuda:0-3), or cuda:CARDSxN for N virtual ones on each (default cpu:1)")
      ->type_name("DEVICES");
  app.add_option(
         "--emit", options.stage,
         "print the program after a phase instead of writing a plan: input (as it came), roles (as JSON "
         "what workers and servers have of it, where these hold the parameters), global (whole "
         "tensors with their shardings, a listing for reading), local (what a device computes), kernel, ptx "
         "(the code of its kernels, for GPUs)")
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
  app.add_option(
         "--gpu", options.gpu,
         "the least architecture of GPUs to compile for, by NVIDIA's name (sm_90), if --devices are GPUs")
      ->capture_default_str()
      ->type_name("GPU");
  app.add_flag(
      "--line-info", options.lineInfo,
      "have the code for GPUs say which source line each instruction is of, for profilers and python "
      "-m epl.sass; the instructions stay the same");
}

/// What is computed with fewer digits than the step says.
static void addPrecision(CLI::App &app, Options &options) {
  const std::map<std::string, AmpLevel> ampLevels = {{"off", AmpLevel::off}, {"o1", AmpLevel::o1}};
  app.add_option(
         "--amp", options.amp,
         "mixed precision: o1: contractions take operands of bf16 and add up in f32, but for those of "
         "the optimizer; all else stays what it is; off (default): nothing changes. Holds for the "
         "reference, too")
      ->transform(tool::isOneOf(ampLevels))
      ->type_name("LEVEL");
}

/// How the step is parallelized.
static void addParallelism(CLI::App &app, Options &options) {
  const std::map<std::string, ZeroLevel> zeroLevels = {
      {"off", ZeroLevel::off}, {"v1", ZeroLevel::v1}, {"v2", ZeroLevel::v2}, {"v3", ZeroLevel::v3}};
  const std::map<std::string, RecomputeMode> recomputeModes = {{"off", RecomputeMode::off},
                                                               {"collection", RecomputeMode::collection},
                                                               {"auto", RecomputeMode::automatic}};
  app.add_option("--micro-batches", options.microBatches,
                 "how many micro-batches the batch is cut into, one after another; gradients are added up")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 20).description(""));
  app.add_option(
         "--num-stages", options.numStages,
         "on how many meshes the scopes are in turn, several stages of a pipeline on each; default: as "
         "many as there are scopes, or as a table of --schedule has; with --auto-parallel how many stages "
         "are "
         "found")
      ->check(CLI::Range(int64_t(1), int64_t(::epl::runtime::maxDevices)).description(""));
  app.add_flag(
      "--auto-parallel", options.autoParallel,
      "cut a step without scopes into --num-stages stages of a pipeline, where the largest takes least "
      "time; with --reference, and on one device, it is not cut");
  app.add_option_function<std::string>(
         "--schedule", [&](const std::string &text) { options.schedule = parseSchedule(text); },
         getScheduleHelp())
      ->type_name("NAME|FILE");
  app.add_option(
         "--recompute", options.recompute,
         "which values are kept for the gradient, what lies between being computed again: collection: "
         "those that an epl.checkpoint names; auto: the narrowest; off (default): all")
      ->transform(tool::isOneOf(recomputeModes))
      ->type_name("MODE");
  app.add_option("--recompute-end", options.recomputeEnd,
                 "the last task graph of which values are computed again, from 0; -1 (default): all")
      ->check(CLI::Range(int64_t(-1), int64_t(1) << 20).description(""));
  app.add_option("--zero", options.zero,
                 "what devices share that compute the same: v1: the optimizer's state; v2: gradients too; "
                 "v3: parameters too; off (default): nothing")
      ->transform(tool::isOneOf(zeroLevels))
      ->type_name("LEVEL");
  app.add_flag(
      "--owners", options.owners,
      "give each parameter, with what the optimizer keeps of it, to one of the devices that would have "
      "copies: it sums the gradient, computes the new value and sends it to the others");
  app.add_flag("--sequence-parallel", options.sequenceParallel,
               "share among the devices of a split what each would compute whole between its sums and its "
               "products: norms, dropout, residual additions");
  app.add_flag("--sequential", options.sequential,
               "run the commands of a device one after another in the order of the program; without it "
               "collectives go beside computation");
  app.add_flag("--colocate", options.colocate,
               "run all scopes of the step on the same devices; without it each has devices of its own");
  app.add_flag("--across-nodes", options.acrossNodes,
               "place a copy of the model across the nodes, so that the replicas of a scope are within one; "
               "without it a copy is within a node as far as its devices are");
  app.add_option(
         "--machine", options.machine,
         "what the devices can do, by which sharding and collectives are chosen: cpu, a100, h100, h200, "
         "b200, "
         "or a file as epl-plan machine prints it (default: what the step's module says, else cpu); several, "
         "with commas between them, are those of the meshes in their order")
      ->type_name("KIND|FILE[,...]");
}

/// How devices exchange values.
static void addCommunication(CLI::App &app, Options &options) {
  const std::map<std::string, GradientType> gradientTypes = {
      {"f32", GradientType::f32}, {"f16", GradientType::f16}, {"bf16", GradientType::bf16}};
  app.add_option(
         "--gradient-type", options.gradientType,
         "in which type devices exchange gradients of f32: f16 (multiplied by --gradient-scale before, "
         "divided by it after), bf16, f32 (default)")
      ->transform(tool::isOneOf(gradientTypes))
      ->type_name("TYPE");
  app.add_option("--gradient-scale", options.gradientScale,
                 "what gradients are multiplied by before they are rounded to f16")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 15).description(""))
      ->capture_default_str();
  app.add_flag(
      "--sparse-as-dense", options.sparseAsDense,
      "sum gradients of tables whole; without it devices exchange the rows that a batch looks up, and "
      "their positions, where that moves less");
  app.add_flag("--fuse-collectives,!--no-fuse-collectives", options.fuseCollectives,
               "join collectives of the same devices that nothing has to stand between (default), or do each "
               "by itself");
  app.add_flag("--fuse-broadcasts,!--no-fuse-broadcasts", options.fuseBroadcasts,
               "join broadcasts as other collectives (default), or do each by itself");
  app.add_option(
         "--max-splits", options.maxSplits,
         "into how many groups gradients are joined, about; 0 (default): as the link between the devices "
         "wants it")
      ->check(CLI::Range(int64_t(0), int64_t(1) << 20).description(""));
  app.add_option("--communicators", options.numCommunicators,
                 "how many collectives of the same devices may be under way at a time; they take turns")
      ->check(CLI::Range(1, 8))
      ->capture_default_str();
}

static void addMemory(CLI::App &app, Options &options) {
  app.add_flag(
      "--offload", options.offload,
      "keep states in memory of the host; what reads one reads a copy, which a device makes just before "
      "that and drops behind it, and new values are copied back");
  app.add_flag("--offload-results", options.offloadResults,
               "with --offload: results, too, as a step has them that makes the states of another one")
      ->needs("--offload");
}

/// What is said while that is done.
static void addReports(CLI::App &app, Options &options) {
  app.add_flag(
      "--explain-split", options.explainSplit,
      "remark, as a table, for each kind of parameter of a split step along which dimension it is split, the "
      "bytes that the devices exchange, and the runner-up with its bytes");
  app.add_flag("--explain-sharding", options.explainSharding,
               "remark where a value is wanted with two shardings which was dropped, and why, and where each "
               "pending reduction is completed, and for whom; with --owners who owns each parameter");
  app.add_flag("--explain-precision", options.explainPrecision,
               "remark which operations --amp has take bf16, and which stay what they are");
  app.add_flag(
      "--explain-stages", options.explainStages,
      "remark, as a table, for each stage that is found what it takes and sends in a step by the numbers "
      "of the machine, and the next best cut");
  app.add_flag("--timing", options.timing, "report the time of every phase and pass on stderr");
  app.add_flag(
      "--progress", options.progress,
      "report on stderr how far the compilation is, as lines \"progress: 81% codegen, 12/40 kernels\"");
  app.add_flag("--statistics", options.statistics, kStatisticsHelp);
  app.add_option("--debug-only", options.debugOnly, kDebugOnlyHelp)->delimiter(',')->type_name("PASSES");
  app.add_option(kReproducerOption, options.reproducer,
                 "write a phase that fails or crashes to this file: its module and its passes, for epl-opt")
      ->type_name("FILE");
}

void mlir::epl::addOptions(CLI::App &app, Options &options) {
  addGoals(app, options);
  addPrecision(app, options);
  addParallelism(app, options);
  addCommunication(app, options);
  addMemory(app, options);
  addRoleOptions(app, options);
  addReports(app, options);
  app.footer(kMlirOptionsHelp);
  app.parse_complete_callback([&options] { checkUsage(options); });
}
