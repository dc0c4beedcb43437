#include "runtime/device/cpu/Commands.h"

#include "runtime/Error.h"
#include "runtime/device/cpu/Contraction.h"
#include "runtime/device/cpu/Factorization.h"
#include "runtime/device/cpu/Guarded.h"

#include <cstring>

namespace epl::runtime {

namespace {

/// Where a launch finds its buffers.
void *const *findBuffers(const CommandContext &context, std::span<const uint32_t> buffers) {
  void *const *addresses = context.addresses.of(context.rank);
  for (size_t i = 0; i < buffers.size(); ++i)
    context.pointers[i] = addresses[buffers[i]];
  return context.pointers;
}

class Launch final : public Command {
public:
  Launch(KernelEntry entry, int64_t extent, std::span<const uint32_t> buffers)
      : entry(entry), extent(extent), buffers(buffers) {}

  CommandState start(const CommandContext &context) override {
    void *const *operands = findBuffers(context, buffers);
    entry(operands, context.topology.coordinates(context.rank).data(), 0, extent);
    return CommandState::done;
  }
  size_t numPointers() const override { return buffers.size(); }

private:
  KernelEntry entry;
  int64_t extent;
  std::span<const uint32_t> buffers;
};

/// A launch of a library's kernel.
class Factorize final : public Command {
public:
  Factorize(const plan::KernelT &kernel, std::span<const uint32_t> buffers)
      : factorization(*kernel.factorization), extent(kernel.extent), buffers(buffers) {}

  CommandState start(const CommandContext &context) override {
    factorization.run(findBuffers(context, buffers), 0, extent);
    return CommandState::done;
  }
  size_t numPointers() const override { return buffers.size(); }

private:
  Factorization factorization;
  int64_t extent;
  std::span<const uint32_t> buffers;
};

class Contract final : public Command {
public:
  explicit Contract(const plan::ContractT &action) : contraction(action), action(action) {}

  CommandState start(const CommandContext &context) override {
    void *const *addresses = context.addresses.of(context.rank);
    contraction.run(addresses[action.a], addresses[action.b], addresses[action.c]);
    return CommandState::done;
  }

private:
  Contraction contraction;
  const plan::ContractT &action;
};

class Copy final : public Command {
public:
  explicit Copy(const plan::CopyT &action) : action(action) {}

  CommandState start(const CommandContext &context) override {
    auto at = [&](uint32_t buffer, size_t offset) {
      return static_cast<std::byte *>(context.addresses.get(context.rank, buffer)) + offset;
    };
    if (action.size != 0)
      std::memmove(at(action.target, action.to), at(action.source, action.from), action.size);
    return CommandState::done;
  }

private:
  const plan::CopyT &action;
};

std::unique_ptr<Command> bindLaunch(const plan::PlanT &plan, const plan::LaunchT &launch,
                                    const Image &image) {
  const plan::KernelT &kernel = *plan.kernels[launch.kernel];
  if (kernel.factorization)
    return std::make_unique<Factorize>(kernel, launch.buffers);
  return std::make_unique<Launch>(image.find(kernel.symbol), kernel.extent, launch.buffers);
}

std::unique_ptr<Command> bindAction(const plan::PlanT &plan, const plan::ActionUnion &action,
                                    const Image &image) {
  if (const plan::LaunchT *launch = action.AsLaunch())
    return bindLaunch(plan, *launch, image);
  if (const plan::ContractT *contract = action.AsContract())
    return std::make_unique<Contract>(*contract);
  if (const plan::CopyT *copy = action.AsCopy())
    return std::make_unique<Copy>(*copy);
  throw Error("the plan has a command without an action that CPU devices know");
}

} // namespace

std::unique_ptr<Command> CpuCode::bind(const plan::PlanT &plan, uint32_t command) const {
  const plan::CommandT &source = *plan.commands[command];
  return guarded(bindAction(plan, source.action, image), source.guards);
}

} // namespace epl::runtime
