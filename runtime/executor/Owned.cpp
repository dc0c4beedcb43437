#include "runtime/executor/Owned.h"

namespace epl::runtime {

namespace {

/// A command that was skipped is not pending, so that what follows a start concerns the command alone.
class Owned final : public Command {
public:
  Owned(plan::Owner owner, std::unique_ptr<Command> command) : owner(owner), command(std::move(command)) {}

  CommandState start(const CommandContext &context) override {
    uint32_t member = context.topology.position(owner.communicator(), context.rank);
    return member == owner.member() ? command->start(context) : CommandState::skipped;
  }
  CommandState proceed(const CommandContext &context) override { return command->proceed(context); }
  void cancel(const CommandContext &context) noexcept override { command->cancel(context); }
  size_t numPointers() const override { return command->numPointers(); }

private:
  plan::Owner owner;
  std::unique_ptr<Command> command;
};

} // namespace

std::unique_ptr<Command> ownedBy(const plan::Owner *owner, std::unique_ptr<Command> command) {
  return owner ? std::make_unique<Owned>(*owner, std::move(command)) : std::move(command);
}

} // namespace epl::runtime
