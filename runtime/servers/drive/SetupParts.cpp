#include "runtime/servers/drive/SetupParts.h"

#include "runtime/Error.h"

#include <algorithm>

namespace epl::runtime::servers {

void SetupParts::store(const SetupItem &item, uint64_t offset, uint64_t total, const Payload &bytes) {
  if (item.kind == frames::SetupKind::manifest)
    return;
  std::vector<uint8_t> &target =
      item.kind == frames::SetupKind::plan ? plans[item.index] : values[{item.index, item.state}];
  target.resize(total);
  bytes.copyTo(std::as_writable_bytes(std::span(target)).subspan(offset));
}

std::unique_ptr<BlockStore> SetupParts::load(const std::shared_ptr<const Job> &job, uint32_t server,
                                             uint32_t threads) const {
  std::shared_ptr<const manifest::ManifestT> manifest(job, &job->manifest);
  ApplyPlans read(*manifest, server);
  for (uint32_t plan : read.needed())
    read.set(plan, plans.at(plan));
  auto made = std::make_unique<BlockStore>(manifest, server, read, threads);
  for (const auto &[place, bytes] : values) {
    auto [block, state] = place;
    HostTensor value = HostTensor::allocate(made->typeOf(block, state), Memory::Fill::none);
    if (value.type.bytes() != bytes.size())
      throw Error("the first value of block \"" + job->blocks[block].name + "\" has " +
                  std::to_string(bytes.size()) + " bytes, expected " + value.type.str());
    std::ranges::copy(std::as_bytes(std::span(bytes)), value.data);
    made->set(block, state, value);
  }
  return made;
}

} // namespace epl::runtime::servers
