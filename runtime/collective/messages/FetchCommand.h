// Commands of a plan that read the memory of ranks of other processes.
#ifndef EPL_RUNTIME_COLLECTIVE_MESSAGES_FETCHCOMMAND_H
#define EPL_RUNTIME_COLLECTIVE_MESSAGES_FETCHCOMMAND_H

#include "runtime/collective/messages/Inbox.h"
#include "runtime/collective/messages/Outbox.h"
#include "runtime/collective/messages/Stream.h"

namespace epl::runtime {

/// What one rank sends and receives for a command; null where it does not. It receives by an inbox or by a
/// stream.
struct Mail {
  std::span<const Message> sent{};
  Outbox *outbox = nullptr;
  const Delivery *delivery = nullptr;
  Inbox *inbox = nullptr;
  FetchedBuffers fetched{}; ///< of the delivery in the inbox
  const Stream::Messages *streamed = nullptr;
  Stream *stream = nullptr;
};

/// A collective or a receive. It sends what others read of the rank, and runs `action`, which reads the
/// memory of all members, when what the rank reads of others has come; of a stream on each run that comes. It
/// ends when what it sent has gone: until then the plan keeps all from overwriting what it reads. `mail` has
/// an entry for each rank, of those that are here.
std::unique_ptr<Command> makeFetchCommand(std::unique_ptr<Command> action, std::vector<Mail> mail,
                                          Endpoint &endpoint);

/// A send. It copies what other processes read of the rank, and ends; so it waits until the message has gone
/// whose place in the ring it takes.
std::unique_ptr<Command> makeSendCommand(std::unique_ptr<Command> action, uint32_t source,
                                         std::vector<Mail> mail, Endpoint &endpoint);

} // namespace epl::runtime

#endif // EPL_RUNTIME_COLLECTIVE_MESSAGES_FETCHCOMMAND_H
