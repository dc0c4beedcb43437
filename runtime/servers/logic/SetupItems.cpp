#include "runtime/servers/logic/SetupItems.h"

#include "runtime/Error.h"

#include <set>

namespace epl::runtime::servers {
namespace {

using frames::SetupKind;

/// Bytes of a manifest or of a plan: a FlatBuffer has fewer than 2^31.
constexpr uint64_t maxFileBytes = uint64_t(1) << 31;

std::string itemName(const SetupItem &item) {
  std::string name = frames::EnumNameSetupKind(item.kind);
  if (item.kind != SetupKind::manifest)
    name += " " + std::to_string(item.index);
  return item.kind == SetupKind::state ? name + "." + std::to_string(item.state) : name;
}

} // namespace

std::vector<SetupItem> setupItems(const BlockTable &blocks, uint32_t server) {
  std::vector<SetupItem> items = {{SetupKind::manifest}};
  std::vector<uint32_t> own = blocks.ofServer(server);
  std::set<uint32_t> plans;
  for (uint32_t block : own)
    plans.insert(blocks[block].plan);
  for (uint32_t block : blocks.allOfServer(server))
    if (blocks.isPart(block))
      plans.insert(blocks.table(block).plan);
  for (uint32_t plan : plans)
    items.push_back({SetupKind::plan, plan});
  for (uint32_t block : own) {
    items.push_back({SetupKind::parameter, block});
    for (size_t state = 0; state < blocks.parameter(block).states.size(); ++state)
      items.push_back({SetupKind::state, block, int32_t(state)});
  }
  return items;
}

std::string SetupReceiver::accept(const frames::SetupT &setup, const Payload &payload) {
  SetupItem item{setup.kind, setup.index, setup.state};
  if (complete() || item != items[next])
    return "sets up " + itemName(item) + ", expected " +
           (complete() ? "nothing more" : itemName(items[next]));
  if (setup.offset == 0)
    firstTotal = setup.total;
  Piece piece{setup.offset, payload.size()};
  if (std::string fault = order.accept(piece, setup.total, expectedBytes(item, firstTotal)); !fault.empty())
    return "sets up " + itemName(item) + ", which " + fault;
  if (item.kind == SetupKind::manifest) {
    if (setup.offset == 0)
      bytes.clear();
    bytes.resize(bytes.size() + payload.size());
    payload.copyTo(std::as_writable_bytes(std::span(bytes)).last(payload.size()));
  }
  if (!order.complete())
    return "";
  order = PieceOrder();
  ++next;
  return item.kind == SetupKind::manifest ? acceptManifest() : "";
}

std::string SetupReceiver::acceptManifest() {
  if (Hash128 hash = hashBytes(bytes); hash != job)
    return "sets up a manifest with hash " + hash.text() + ", expected " + job.text();
  try {
    manifest = std::make_shared<Job>(parseManifest(bytes, job.text()));
  } catch (const Error &error) {
    return std::string("sets up a ") + error.what();
  }
  if (server >= manifest->manifest.servers)
    return "sets up a manifest for " + std::to_string(manifest->manifest.servers) +
           " servers, which server " + std::to_string(server) + " is none of";
  items = setupItems(manifest->blocks, server);
  bytes = {};
  return "";
}

uint64_t SetupReceiver::expectedBytes(const SetupItem &item, uint64_t total) const {
  switch (item.kind) {
  case SetupKind::parameter:
    return manifest->blocks.bytes(item.index);
  case SetupKind::state:
    return manifest->blocks.stateBytes(item.index, uint32_t(item.state));
  default:
    return std::min(total, maxFileBytes);
  }
}

} // namespace epl::runtime::servers
