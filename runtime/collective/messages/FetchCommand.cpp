#include "runtime/collective/messages/FetchCommand.h"

namespace epl::runtime {

namespace {

class FetchCommand final : public Command {
public:
  FetchCommand(std::unique_ptr<Command> action, std::vector<Mail> mail, Transport &transport)
      : action(std::move(action)), mail(std::move(mail)), instances(this->mail.size()), transport(transport) {
  }

  CommandState start(const CommandContext &context) override {
    const Mail &own = mail[context.rank];
    instances[context.rank] = {};
    if (own.outbox)
      own.outbox->send(own.sent, context.rank, /*copies=*/false,
                       [&](uint32_t buffer) { return context.addresses.get(context.rank, buffer); });
    return proceed(context);
  }

  CommandState proceed(const CommandContext &context) override {
    transport.progress();
    Instance &instance = instances[context.rank];
    const Mail &own = mail[context.rank];
    if (!instance.hasRun && !receive(context, instance))
      return CommandState::pending;
    return own.outbox && !own.outbox->isEmpty() ? CommandState::pending : CommandState::done;
  }

  void cancel(const CommandContext &context) noexcept override {
    const Mail &own = mail[context.rank];
    if (own.outbox)
      own.outbox->abandon();
    if (own.inbox)
      own.inbox->abandon();
  }

  size_t numPointers() const override { return action->numPointers(); }

private:
  /// How far the command is on a rank.
  struct Instance {
    bool isOpen = false, hasRun = false;
  };

  /// Whether what is read has come, and was read.
  bool receive(const CommandContext &context, Instance &instance) {
    const Mail &own = mail[context.rank];
    if (own.inbox && !instance.isOpen)
      instance.isOpen = own.inbox->open(*own.delivery);
    if (own.inbox && (!instance.isOpen || !own.inbox->hasCome()))
      return false;
    CommandContext whole = context;
    whole.fetched = &own.fetched;
    action->start(whole);
    if (own.inbox)
      own.inbox->close();
    return instance.hasRun = true;
  }

  std::unique_ptr<Command> action;
  std::vector<Mail> mail;          // of each rank
  std::vector<Instance> instances; // of each rank
  Transport &transport;
};

class SendCommand final : public Command {
public:
  SendCommand(std::unique_ptr<Command> action, uint32_t source, std::vector<Mail> mail, Transport &transport)
      : action(std::move(action)), source(source), mail(std::move(mail)), transport(transport) {}

  CommandState start(const CommandContext &context) override { return proceed(context); }

  CommandState proceed(const CommandContext &context) override {
    transport.progress();
    const Mail &own = mail[context.rank];
    if (own.outbox && !own.outbox->isEmpty())
      return CommandState::pending;
    action->start(context); // for those who are here
    if (own.outbox)
      own.outbox->send(own.sent, context.rank, /*copies=*/true,
                       [&](uint32_t) { return context.addresses.get(context.rank, source); });
    return CommandState::done;
  }

private:
  std::unique_ptr<Command> action;
  uint32_t source; // buffer
  std::vector<Mail> mail;
  Transport &transport;
};

} // namespace

std::unique_ptr<Command> makeFetchCommand(std::unique_ptr<Command> action, std::vector<Mail> mail,
                                          Transport &transport) {
  return std::make_unique<FetchCommand>(std::move(action), std::move(mail), transport);
}

std::unique_ptr<Command> makeSendCommand(std::unique_ptr<Command> action, uint32_t source,
                                         std::vector<Mail> mail, Transport &transport) {
  return std::make_unique<SendCommand>(std::move(action), source, std::move(mail), transport);
}

} // namespace epl::runtime
