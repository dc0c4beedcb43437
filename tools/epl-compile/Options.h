//===- Options.h - What a compilation is told -------------------*- C++ -*-===//
#pragma once

#include "passes/shard/Passes.h"
#include "runtime/plan/model/Devices.h"
#include "runtime/plan/schedule/Schedule.h"

#include <CLI/CLI.hpp>

namespace mlir::epl {

/// Where a compilation may stop and print the module instead, or, at `roles`, who has what of it.
enum class Stage { input, roles, global, local, kernel, ptx, plan };

/// Whose part of the step is compiled where servers hold the parameters; else the whole.
enum class Role { whole, worker, server };

/// Mixed precision: none, or contractions of bf16 that add up in f32.
enum class AmpLevel { off, o1 };

/// What becomes of kernels that no library runs.
enum class Kernels { vectorized, loops };

struct Options {
  std::vector<std::string> inputs;
  std::string output;
  ::epl::runtime::Devices devices = {.kind = "cpu", .count = 1};
  Stage stage = Stage::plan;
  Kernels kernels = Kernels::vectorized;
  bool reference = false;
  bool timing = false;
  bool explainSplit = false;
  bool explainSharding = false;
  bool explainPrecision = false;
  bool explainStages = false;
  bool colocate = false;
  bool acrossNodes = false;
  int64_t microBatches = 1;
  int64_t numStages = 0;     ///< meshes that task graphs are on in turn; 0: one for each
  bool autoParallel = false; ///< the compiler finds the stages of a step without scopes
  ::epl::runtime::schedule::Schedule schedule = ::epl::runtime::schedule::Schedule::of("1f1b");
  RecomputeMode recompute = RecomputeMode::off;
  int64_t recomputeEnd = -1; ///< the last task graph of which work is computed again; -1: all
  ZeroLevel zero = ZeroLevel::off;
  bool owners = false; ///< each parameter with its optimizer's state belongs to one device
  bool sequenceParallel = false;
  GradientType gradientType = GradientType::f32; ///< in which devices exchange gradients of f32
  int64_t gradientScale = 128;                   ///< what those of f16 are multiplied by
  bool sparseAsDense = false;                    ///< gradients of tables are summed whole
  bool fuseCollectives = true;
  bool fuseBroadcasts = true;    ///< if collectives are joined
  int64_t maxSplits = 0;         ///< groups that gradients are joined into; 0: as the machine wants it
  bool sequential = false;       ///< the commands of a device are run in program order
  uint32_t numCommunicators = 1; ///< collectives of the same devices that may be under way at a time
  bool offload = false;          ///< states are in memory of the host, whence devices copy them
  bool offloadResults = false;   ///< with that, results are, too
  Role role = Role::whole;
  int64_t servers = 1;         ///< that share parameters
  int64_t minBlockSize = 8192; ///< elements of a block at least, of a parameter that has them
  bool slice = true;           ///< parameters are cut into blocks
  bool compensate = false;     ///< servers compensate gradients for delay (DC-ASGD)
  bool withTables = false;     ///< servers hold rows of tables, and maybe nothing else
  std::string program;         ///< of servers, the one to compile; empty: all
  std::string part;            ///< what made the step, if it is a program of servers: for `describe`
  AmpLevel amp = AmpLevel::off;
  std::string cpu = "host";
  std::string gpu = "sm_80"; ///< if devices are GPUs
  bool lineInfo = false;     ///< of code for them
  std::string machine;       ///< a kind or a file; empty: what the module says
  bool progress = false;
  bool statistics = false;
  std::vector<std::string> debugOnly; ///< passes that say what they decide
  std::string reproducer;             ///< the file to keep a phase in that fails; empty for none

  /// The plan file of an input: `output`, or a file in that folder.
  std::string getPlanFile(llvm::StringRef input) const;
  /// Whether what servers do is compiled, or said.
  bool isOfServers() const { return role == Role::server || stage == Stage::roles; }
  /// Whether the plans of all programs of servers are written to the folder `output`.
  bool writesPrograms() const { return role == Role::server && program.empty() && stage != Stage::roles; }
  bool isForGpus() const { return devices.kind == "cuda"; }
  /// Those that a plan depends on, as arguments: a plan says how it was made.
  std::string describe() const;
};

/// Adds the options, with their help, to the tool. What does not go together is an error of CLI11.
void addOptions(CLI::App &app, Options &options);

} // namespace mlir::epl
