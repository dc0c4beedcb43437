// What worker 0 sends a server before anything else, and its receipt.

#ifndef EPL_RUNTIME_SERVERS_LOGIC_SETUPITEMS_H
#define EPL_RUNTIME_SERVERS_LOGIC_SETUPITEMS_H

#include "runtime/servers/Payload.h"
#include "runtime/servers/model/Manifest.h"
#include "runtime/servers/protocol/Pieces.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace epl::runtime::servers {

/// The manifest, a plan, or the first value of a block's parameter or state.
struct SetupItem {
  frames::SetupKind kind;
  uint32_t index = 0; ///< plan, or block
  int32_t state = -1;

  bool operator==(const SetupItem &) const = default;
};

/// What a server needs, in the order in which it comes.
std::vector<SetupItem> setupItems(const BlockTable &blocks, uint32_t server);

/// A manifest and its blocks.
struct Job {
  explicit Job(manifest::ManifestT from) : manifest(std::move(from)), blocks(manifest) {}
  Job(const Job &) = delete;

  const manifest::ManifestT manifest;
  const BlockTable blocks;
};

/// Receives all that a server needs. It keeps the manifest, and of all else no bytes.
class SetupReceiver {
public:
  /// For a server, and the job that worker 0 has named.
  SetupReceiver(uint32_t server, Hash128 job) : server(server), job(job) {}

  /// Takes the next piece. Returns what is wrong with it, as a part of a sentence; empty if nothing is.
  std::string accept(const frames::SetupT &setup, const Payload &bytes);

  /// The manifest, once it has come.
  const std::shared_ptr<const Job> &received() const { return manifest; }
  bool complete() const { return manifest && next == items.size(); }
  /// How many items have come whole.
  uint32_t count() const { return uint32_t(next); }

private:
  std::string acceptManifest();
  uint64_t expectedBytes(const SetupItem &item, uint64_t total) const;

  uint32_t server;
  Hash128 job;
  std::shared_ptr<const Job> manifest;
  std::vector<SetupItem> items = {{frames::SetupKind::manifest}};
  size_t next = 0;
  PieceOrder order;
  uint64_t firstTotal = 0; ///< what the first piece of a plan, or of the manifest, has said
  std::vector<uint8_t> bytes;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_LOGIC_SETUPITEMS_H
