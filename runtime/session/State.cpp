#include "runtime/session/State.h"

#include "runtime/Error.h"
#include "runtime/session/BlockCopies.h"

#include <algorithm>

namespace epl::runtime {

HostTensor HostTensor::allocate(TensorType type, Memory::Fill fill) {
  auto memory = std::make_shared<Memory>(type.bytes(), fill);
  return {std::move(type), memory->data(), memory};
}

Storage::Storage(std::shared_ptr<DeviceSet> deviceSet, SlotLayout layout, RankDevices ranks, bool isShared)
    : devices(std::move(deviceSet)), blocks(std::move(layout)), homes(std::move(ranks)),
      shared(isShared && blocks.isReplicated() && devices->usesHostMemory()) {
  for (uint32_t rank = 0; rank < (shared ? 1 : homes.size()); ++rank) {
    bool isHere = shared || homes[rank];
    memory.push_back(isHere
                         ? devices->allocate(homes[rank].value_or(0), blocks.localBytes(), Memory::Fill::none)
                         : nullptr);
  }
}

bool Storage::fits(const DeviceSet &others, const SlotLayout &layout, const RankDevices &ranks) const {
  auto isSame = [inHost = others.usesHostMemory()](std::optional<uint32_t> one,
                                                   std::optional<uint32_t> other) {
    return inHost ? one.has_value() == other.has_value() : one == other;
  };
  return devices.get() == &others && std::ranges::equal(homes, ranks, isSame) && blocks == layout;
}

std::shared_ptr<Storage> Storage::makeAlike() const {
  return std::make_shared<Storage>(devices, blocks, homes, shared);
}

const std::byte *Storage::wholeInHost() const {
  if (!devices->usesHostMemory() || !blocks.isReplicated() || !blocks.isContiguous())
    return nullptr;
  uint32_t rank = firstHere();
  return rank < memory.size() ? memory[rank]->address() : nullptr;
}

/// The first rank that is here; behind all of them if none is.
uint32_t Storage::firstHere() const {
  auto isHere = [](const auto &each) { return each != nullptr; };
  return uint32_t(std::ranges::find_if(memory, isHere) - memory.begin());
}

void Storage::copyFromHost(const std::byte *global) {
  for (uint32_t rank = 0; rank < memory.size(); ++rank)
    if (memory[rank])
      copyIn(*devices, blocks, rank, global, *memory[rank]);
}

void Storage::copyToHost(std::byte *global) const {
  if (uint32_t first = firstHere(); first < memory.size() && blocks.isReplicated())
    return copyOut(*devices, blocks, first, *memory[first], global);
  for (uint32_t rank = 0; rank < memory.size(); ++rank) {
    if (!blocks.isPrimary(rank))
      continue;
    if (!memory[rank])
      throw Error("rank " + std::to_string(rank) + " of the state is in another process");
    copyOut(*devices, blocks, rank, *memory[rank], global);
  }
}

void Storage::copyFrom(const Storage &other) {
  for (uint32_t rank = 0; rank < memory.size(); ++rank)
    if (memory[rank])
      devices->copy(*other.memory[rank], *memory[rank]);
}

void StateBuffer::wait() const {
  if (call)
    call->wait();
}

const std::shared_ptr<Storage> &StateBuffer::use() const {
  if (isDonated())
    throw DonatedError("state \"" + name() + "\" was donated by " + consumer->describe());
  if (isGone())
    throw Error("state \"" + name() + "\" was deleted");
  if (call && call->done() && !memory->poison.empty())
    throw Error("state \"" + name() + "\" is lost: " + memory->poison);
  return memory;
}

HostTensor StateBuffer::toHost() const {
  use();
  wait();
  const std::shared_ptr<Storage> &storage = use(); // again: waiting may have brought an error
  const std::byte *whole = storage->wholeInHost();
  if (!whole)
    return copyToHost();
  ++storage->numViews;
  std::shared_ptr<const void> view(whole, [storage](const void *) { --storage->numViews; });
  return {type(), const_cast<std::byte *>(whole), std::move(view)};
}

HostTensor StateBuffer::copyToHost() const {
  use();
  wait();
  HostTensor copy = HostTensor::allocate(type(), Memory::Fill::none);
  use()->copyToHost(copy.data);
  return copy;
}

std::shared_ptr<StateBuffer> StateBuffer::copy() const {
  use();
  wait();
  const Storage &from = *use();
  std::shared_ptr<Storage> to = from.makeAlike();
  to->copyFrom(from);
  return std::make_shared<StateBuffer>(kind, std::move(to), nullptr);
}

} // namespace epl::runtime
