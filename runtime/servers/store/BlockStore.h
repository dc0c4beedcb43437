// The blocks that a server holds, and the threads that update them.
#ifndef EPL_RUNTIME_SERVERS_STORE_BLOCKSTORE_H
#define EPL_RUNTIME_SERVERS_STORE_BLOCKSTORE_H

#include "runtime/servers/store/ApplyPlans.h"
#include "runtime/servers/store/Lane.h"
#include "runtime/servers/store/TableStore.h"

#include <functional>
#include <memory>

namespace epl::runtime::servers {

/// The blocks of a server: what each holds, and what updates it; and its parts of tables. A block belongs to
/// one of several lanes, so that updates of different blocks run side by side.
/// For one thread at a time.
class BlockStore {
public:
  /// The parameter itself, in the place of a state's number.
  static constexpr int32_t kParameter = -1;

  /// What has come for a block: pushes, whose sum times `factor` is applied, tensor by tensor, and of dc_asgd
  /// the parameter as their worker had it. A push is the bytes of BlockTable::pushParts, whatever type it is
  /// of here. `gradients` are overwritten.
  struct Update {
    std::vector<HostTensor> gradients; ///< at least one
    double factor = 1;
    std::optional<HostTensor> backup = std::nullopt;
  };
  /// Called by a thread of the store; the text is why the update failed, empty if it has not.
  using Done = std::function<void(const std::string &error)>;

  /// `plans` are complete, for the blocks of `server`. `threads`: at least 1.
  BlockStore(std::shared_ptr<const manifest::ManifestT> manifest, uint32_t server, const ApplyPlans &plans,
             uint32_t threads);
  /// Waits for all updates. Values that were asked for may be used on.
  ~BlockStore();
  BlockStore(const BlockStore &) = delete;

  /// The blocks of this server, ascending.
  const std::vector<uint32_t> &blocks() const;

  /// What a block must be given of the parameter, or of a state.
  TensorType typeOf(uint32_t block, int32_t state) const;
  /// Sets a value, before the first update. Throws Error if it does not fit.
  void set(uint32_t block, int32_t state, const HostTensor &value);
  /// Whether all values of all blocks are set.
  bool isComplete() const;

  /// Queues an update of a block, all of whose values are set, and none of whose updates runs.
  void update(uint32_t block, Update update, Done done);

  /// A value as the last update has left it; none of the block's runs. A view, without a copy: while its
  /// owner lives no update writes there. Throws Error if an update has failed.
  HostTensor value(uint32_t block, int32_t state) const;

  /// The parts of tables, which share the lanes.
  TableStore &tables() { return *rows; }

private:
  struct Held;

  Held &held(uint32_t block) const;

  std::shared_ptr<const manifest::ManifestT> manifest;
  BlockTable table;
  std::vector<uint32_t> own;
  std::vector<std::unique_ptr<Lane>> lanes;  // before the values, which are of their executors
  std::vector<std::unique_ptr<Held>> values; // of each block of the job; null of other servers'
  std::unique_ptr<TableStore> rows;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_STORE_BLOCKSTORE_H
