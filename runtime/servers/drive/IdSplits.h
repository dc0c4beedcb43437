// The ids of a step by server, made once.
#ifndef EPL_RUNTIME_SERVERS_DRIVE_IDSPLITS_H
#define EPL_RUNTIME_SERVERS_DRIVE_IDSPLITS_H

#include "runtime/servers/logic/SetupItems.h"
#include "runtime/servers/model/Ids.h"

#include <map>
#include <memory>

namespace epl::runtime::servers {

/// Throws Error if a job has no such table.
void checkTable(const Job &job, uint32_t number);

/// The ids of lookups by server. A step pushes the ids that it has pulled, which need not be sorted again.
/// For one thread at a time.
class IdSplits {
public:
  using Lookups = IdSplitter::Lookups;

  explicit IdSplits(std::shared_ptr<const Job> job) : job(std::move(job)) {}

  /// Throws Error if there is no such table, and as IdSplitter does.
  std::shared_ptr<const IdsByServer> of(uint32_t table, Lookups lookups, std::optional<int64_t> padding);

private:
  struct Last {
    std::vector<std::vector<int64_t>> lookups;
    std::optional<int64_t> padding;
    std::shared_ptr<IdsByServer> split; // memory for the next ones, once nobody else has it
  };

  std::shared_ptr<const Job> job;
  IdSplitter splitter;
  std::map<uint32_t, Last> last; // of each table
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_DRIVE_IDSPLITS_H
