// Which messages a process sends and receives for each command of a plan.
#ifndef EPL_RUNTIME_COLLECTIVE_MESSAGES_MESSAGETABLE_H
#define EPL_RUNTIME_COLLECTIVE_MESSAGES_MESSAGETABLE_H

#include "runtime/plan/model/Channels.h"
#include "runtime/plan/model/LocalRanks.h"
#include "runtime/plan/model/Processes.h"
#include "runtime/plan/model/Runs.h"

#include <map>

namespace epl::runtime {

/// What one rank has that ranks of another process read, for one command: all of it in one message, so that
/// it goes to that process once, however many of its ranks read it.
struct Message {
  uint32_t holder;  ///< the rank that sends it, of the sender's part
  uint32_t process; ///< the other one: who receives what is sent, who sends what is received
  uint32_t number;  ///< among all from that process to this one, or the other way
  /// In order, one behind the other. Of a transfer: of the value that is sent, whose buffer is 0.
  std::vector<ByteRun> runs;
  /// Whether its runs are put together to be sent. Large ones are not: each goes from where it is and comes
  /// to where it belongs, by the number of the message, in their order. None has more than `kMostRun` bytes,
  /// so that one may be read while the next one comes.
  bool isPacked = false;

  static constexpr size_t kMostRun = size_t(256) << 10;
};

/// The messages of a whole plan, as one process sees them. All processes number alike: from 0 on for each two
/// of them and direction, in the order of parts, commands and ranks; first those of collectives, then of
/// channels.
class MessageTable {
public:
  /// `plan` has passed the verifier.
  MessageTable(const plan::PlanT &plan, const Channels &channels, const LocalRanks &ranks,
               const Processes &processes);

  /// What ranks that are here send by a collective or a send; what is received here by a collective or a
  /// receive.
  std::span<const Message> sent(uint32_t part, uint32_t command) const { return parts[part].sent[command]; }
  std::span<const Message> received(uint32_t part, uint32_t command) const {
    return parts[part].received[command];
  }

private:
  struct Part {
    std::vector<std::vector<Message>> sent, received; // of each command
  };
  /// How many messages there are already to and from each process.
  struct Counts {
    std::map<uint32_t, uint32_t> to, from;
  };

  void addCollective(const plan::PlanT &plan, const Mesh &mesh, uint32_t part, uint32_t command,
                     Counts &counts);
  void addChannel(uint32_t channel, Counts &counts);
  template <typename GetRuns>
  void add(PartCommand send, PartCommand receive, uint32_t holder, std::span<const uint32_t> readers,
           const GetRuns &getRuns, Counts &counts);

  const Channels &channels;
  const LocalRanks &ranks;
  Processes processes;
  std::vector<Part> parts;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_COLLECTIVE_MESSAGES_MESSAGETABLE_H
