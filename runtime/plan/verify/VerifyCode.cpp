// The code of a plan: its images, and what its kernels say of themselves.

#include "runtime/plan/model/Convolutions.h"
#include "runtime/plan/model/Factorizations.h"
#include "runtime/plan/model/Names.h"
#include "runtime/plan/verify/VerifyStages.h"

#include <algorithm>
#include <set>

namespace epl::runtime {
namespace {

// What the driver of GPUs takes (CUDA's Programming Guide, compute capabilities; of shared memory, which
// depends on the card, more than any has).
constexpr uint32_t maxBlocks = 0x7fffffff, maxThreads = 1024, maxShared = 1 << 20;

class Code {
public:
  Code(const plan::PlanT &plan, Report &report)
      : plan(plan), report(report), isForGpus(plan.device_kind == "cuda") {}

  void run() {
    checkImages();
    for (uint32_t i = 0; i < plan.kernels.size(); ++i)
      checkKernel(i);
  }

private:
  void checkImages() {
    size_t bytes = 0;
    std::set<std::string> found;
    for (uint32_t i = 0; i < plan.images.size(); ++i) {
      bytes += plan.images[i]->bytes.size();
      checkImage(i, found);
    }
    if (bytes > maxImageBytes)
      report.add("images have ", bytes, " bytes, expected at most ", maxImageBytes);
  }

  /// `found`: the images before it, each as what there may be one of.
  void checkImage(uint32_t index, std::set<std::string> &found) {
    const plan::ImageT &image = *plan.images[index];
    std::string user = "image " + std::to_string(index);
    if (image.kind < plan::ImageKind::MIN || image.kind > plan::ImageKind::MAX)
      return report.add(user, " has kind ", int(image.kind), ", which does not exist");
    std::string kind = plan::EnumNameImageKind(image.kind);
    bool isElf = image.kind == plan::ImageKind::elf, isPtx = image.kind == plan::ImageKind::ptx;
    if (isElf == isForGpus)
      return report.add(user, " is of kind ", kind, ", expected ", isForGpus ? "ptx or cubin" : "elf",
                        " for devices of kind ", quoted(plan.device_kind));
    if (!isElf && !image.features.empty())
      report.add(user, " names CPU features, which code for GPUs does not need");
    if (isPtx != (image.isa != 0))
      report.add(user, " has instruction set ", image.isa, ", expected ",
                 isPtx ? "a version" : "0, as it is no PTX");
    if (!found.insert(kind + (isElf || isPtx ? "" : " for " + quoted(image.target))).second)
      report.add(user, " is another one of kind ", kind, isElf || isPtx ? "" : " for " + quoted(image.target),
                 ", expected one");
  }

  void checkKernel(uint32_t index) {
    const plan::KernelT &kernel = *plan.kernels[index];
    std::string user = "kernel " + kernelName(plan, index);
    uint64_t operands = uint64_t(kernel.num_inputs) + kernel.num_outputs;
    if (kernel.symbol.empty())
      report.add(user, " has no symbol");
    if (kernel.extent < 0 || kernel.flops < 0)
      report.add(user, " has extent ", kernel.extent, " and ", kernel.flops,
                 " flops, expected none negative");
    if (kernel.operand_sizes.size() != operands)
      return report.add(user, " has ", operands, " operands and ", kernel.operand_sizes.size(), " sizes");
    if (kernel.in_place.size() != kernel.num_outputs)
      return report.add(user, " has ", kernel.num_outputs, " outputs and in-place entries for ",
                        kernel.in_place.size());
    std::set<int32_t> taken;
    for (uint32_t output = 0; output < kernel.num_outputs; ++output) {
      int32_t input = kernel.in_place[output];
      if (input == -1)
        continue;
      if (input < 0 || uint32_t(input) >= kernel.num_inputs)
        report.add(user, " writes output ", output, " over input ", input, " of ", kernel.num_inputs);
      else if (kernel.operand_sizes[size_t(input)] != kernel.operand_sizes[kernel.num_inputs + output])
        report.add(user, " writes output ", output, " over input ", input, " of another size");
      else if (!taken.insert(input).second)
        report.add(user, " writes two outputs over input ", input);
    }
    if (kernel.factorization)
      checkFactorization(user, kernel);
    if (kernel.convolution)
      checkConvolution(user, kernel);
    checkGrid(user, kernel);
  }

  /// Threads of a GPU, where code runs on one.
  void checkGrid(const std::string &user, const plan::KernelT &kernel) {
    bool hasThreads = isForGpus && !kernel.factorization;
    if (hasThreads == kernel.grids.empty())
      return report.add(user, hasThreads ? " has no grid, expected one on a GPU"
                                         : " has a grid, expected none but for code on a GPU");
    for (const std::unique_ptr<plan::GridT> &grid : kernel.grids)
      checkPhase(user, *grid);
  }

  void checkPhase(const std::string &user, const plan::GridT &grid) {
    if (grid.blocks == 0 || grid.blocks > maxBlocks || grid.threads == 0 || grid.threads > maxThreads)
      report.add(user, " has ", grid.blocks, " blocks of ", grid.threads, " threads, expected 1 to ",
                 maxBlocks, " of 1 to ", maxThreads);
    else if (grid.group == 0 || grid.threads % grid.group != 0)
      report.add(user, " has blocks of ", grid.threads, " threads in groups of ", grid.group,
                 ", expected whole groups");
    if (grid.shared > maxShared)
      report.add(user, " takes ", grid.shared, " bytes of shared memory, expected at most ", maxShared);
    if (grid.slice == 0)
      report.add(user, " has slices of no indices");
    if (grid.extent < 0)
      report.add(user, " has a grid of extent ", grid.extent, ", expected none negative");
  }

  void checkConvolution(const std::string &user, const plan::KernelT &kernel) {
    if (!isForGpus || kernel.factorization)
      report.add(user, " has a convolution, expected none but for code on a GPU");
    if (std::string fault = faultOfConvolution(kernel); !fault.empty())
      report.add(user, ": ", fault);
  }

  /// What the library reads, writes and works in is what the launches of the kernel say.
  void checkFactorization(const std::string &user, const plan::KernelT &kernel) {
    const plan::FactorizationT &factorization = *kernel.factorization;
    if (std::string fault = faultOf(factorization); !fault.empty())
      return report.add(user, fault);
    FactorizationMemory memory = memoryOf(factorization);
    std::vector<uint64_t> sizes = memory.inputs;
    sizes.insert(sizes.end(), memory.outputs.begin(), memory.outputs.end());
    bool fits = kernel.num_inputs == memory.inputs.size() && kernel.operand_sizes.size() == sizes.size();
    for (size_t i = 0; fits && i < sizes.size(); ++i)
      fits = !__builtin_mul_overflow(sizes[i], uint64_t(kernel.extent), &sizes[i]) &&
             sizes[i] == kernel.operand_sizes[i];
    if (!fits || kernel.workspace != memory.workspace)
      report.add(user, " has operands or a workspace of other sizes than ",
                 plan::EnumNameFactorizationKind(factorization.kind), " of ", kernel.extent, " matrices of ",
                 factorization.rows, " x ", factorization.columns, " has");
    if (std::ranges::any_of(kernel.in_place, [](int32_t input) { return input != -1; }))
      report.add(user, " writes over an input, which no factorization does");
  }

  const plan::PlanT &plan;
  Report &report;
  bool isForGpus;
};

} // namespace

void checkCode(const plan::PlanT &plan, Report &report) { Code(plan, report).run(); }

} // namespace epl::runtime
