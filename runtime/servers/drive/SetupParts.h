// What worker 0 sends a server first, as it comes, and what is made of it.
#ifndef EPL_RUNTIME_SERVERS_DRIVE_SETUPPARTS_H
#define EPL_RUNTIME_SERVERS_DRIVE_SETUPPARTS_H

#include "runtime/servers/logic/SetupItems.h"
#include "runtime/servers/store/BlockStore.h"

#include <map>

namespace epl::runtime::servers {

/// The bytes of plans and first values. For one thread at a time.
class SetupParts {
public:
  /// A piece of an item; the logic has checked that it fits. The manifest is not kept: the logic has it.
  void store(const SetupItem &item, uint64_t offset, uint64_t total, const Payload &bytes);

  /// A store of a server's blocks with their first values, of all that has come. Throws Error if a plan or a
  /// value is not what the manifest says.
  std::unique_ptr<BlockStore> load(const std::shared_ptr<const Job> &job, uint32_t server,
                                   uint32_t threads) const;

private:
  std::map<uint32_t, std::vector<uint8_t>> plans;
  std::map<std::pair<uint32_t, int32_t>, std::vector<uint8_t>> values; // by block and state
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_DRIVE_SETUPPARTS_H
