#include "runtime/collective/messages/FetchCommand.h"

namespace epl::runtime {

namespace {

class FetchCommand final : public Command {
public:
  FetchCommand(std::unique_ptr<Command> action, std::vector<Mail> mail, Endpoint &endpoint)
      : action(std::move(action)), mail(std::move(mail)), instances(this->mail.size()), endpoint(endpoint) {}

  CommandState start(const CommandContext &context) override {
    const Mail &own = mail[context.rank];
    instances[context.rank] = {};
    if (own.outbox)
      own.outbox->send(own.sent, context.rank, /*copies=*/false,
                       [&](uint32_t buffer) { return context.addresses.get(context.rank, buffer); });
    if (own.stream)
      own.stream->begin(*own.streamed);
    return proceed(context);
  }

  CommandState proceed(const CommandContext &context) override {
    endpoint.progress();
    Instance &instance = instances[context.rank];
    const Mail &own = mail[context.rank];
    instance.hasRun = instance.hasRun || (own.stream ? readStream(context) : receive(context, instance));
    if (!instance.hasRun)
      return CommandState::pending;
    return own.outbox && !own.outbox->isEmpty() ? CommandState::pending : CommandState::done;
  }

  void cancel(const CommandContext &context) noexcept override {
    const Mail &own = mail[context.rank];
    if (own.outbox)
      own.outbox->abandon();
    if (own.inbox)
      own.inbox->abandon();
    if (own.stream)
      own.stream->abandon();
  }

  size_t numPointers() const override { return action->numPointers(); }

private:
  /// How far the command is on a rank.
  struct Instance {
    bool isOpen = false, hasRun = false;
  };

  /// Reads what has come; whether that was the last.
  bool readStream(const CommandContext &context) {
    Stream &stream = *mail[context.rank].stream;
    while (const ByteRun *run = stream.front()) {
      CommandContext whole = context;
      whole.fetched = &stream.fetched();
      action->startOn(whole, *run);
      stream.pop();
      endpoint.progress();
    }
    return stream.isOver();
  }

  /// Whether what is read has come, and was read.
  bool receive(const CommandContext &context, Instance &instance) {
    const Mail &own = mail[context.rank];
    if (own.inbox && !instance.isOpen)
      instance.isOpen = own.inbox->open(*own.delivery, context.addresses, context.rank);
    if (own.inbox && (!instance.isOpen || !own.inbox->hasCome()))
      return false;
    CommandContext whole = context;
    whole.fetched = &own.fetched;
    action->start(whole);
    if (own.inbox)
      own.inbox->close();
    return true;
  }

  std::unique_ptr<Command> action;
  std::vector<Mail> mail;          // of each rank
  std::vector<Instance> instances; // of each rank
  Endpoint &endpoint;
};

class SendCommand final : public Command {
public:
  SendCommand(std::unique_ptr<Command> action, uint32_t source, std::vector<Mail> mail, Endpoint &endpoint)
      : action(std::move(action)), source(source), mail(std::move(mail)), endpoint(endpoint) {}

  CommandState start(const CommandContext &context) override { return proceed(context); }

  CommandState proceed(const CommandContext &context) override {
    endpoint.progress();
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
  Endpoint &endpoint;
};

} // namespace

std::unique_ptr<Command> makeFetchCommand(std::unique_ptr<Command> action, std::vector<Mail> mail,
                                          Endpoint &endpoint) {
  return std::make_unique<FetchCommand>(std::move(action), std::move(mail), endpoint);
}

std::unique_ptr<Command> makeSendCommand(std::unique_ptr<Command> action, uint32_t source,
                                         std::vector<Mail> mail, Endpoint &endpoint) {
  return std::make_unique<SendCommand>(std::move(action), source, std::move(mail), endpoint);
}

} // namespace epl::runtime
