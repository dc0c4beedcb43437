#include "runtime/device/cpu/Guarded.h"

#include <algorithm>

namespace epl::runtime {

namespace {

/// A command that was skipped is not pending, so that what follows a start concerns the command alone.
class Guarded final : public Command {
public:
  Guarded(std::unique_ptr<Command> command, std::span<const plan::Guard> guards)
      : command(std::move(command)), guards(guards) {}

  CommandState start(const CommandContext &context) override {
    auto holds = [&](const plan::Guard &guard) {
      const void *byte = context.addresses.get(context.rank, guard.buffer());
      return (*static_cast<const uint8_t *>(byte) != 0) == guard.expected();
    };
    return std::ranges::all_of(guards, holds) ? command->start(context) : CommandState::skipped;
  }
  CommandState proceed(const CommandContext &context) override { return command->proceed(context); }
  void cancel(const CommandContext &context) noexcept override { command->cancel(context); }
  size_t numPointers() const override { return command->numPointers(); }

private:
  std::unique_ptr<Command> command;
  std::span<const plan::Guard> guards;
};

} // namespace

std::unique_ptr<Command> guarded(std::unique_ptr<Command> command, std::span<const plan::Guard> guards) {
  if (guards.empty())
    return command;
  return std::make_unique<Guarded>(std::move(command), guards);
}

} // namespace epl::runtime
