#include "runtime/session/State.h"

#include "runtime/Error.h"
#include "runtime/session/BlockCopies.h"

#include <algorithm>

namespace epl::runtime {

HostTensor HostTensor::allocate(TensorType type, Memory::Fill fill) {
  auto memory = std::make_shared<Memory>(type.bytes(), fill);
  return {std::move(type), memory->data(), memory};
}

bool StorageKind::operator==(const StorageKind &other) const {
  auto isSame = [inHost = devices->usesHostMemory()](std::optional<uint32_t> one,
                                                     std::optional<uint32_t> two) {
    return inHost ? one.has_value() == two.has_value() : one == two;
  };
  return devices == other.devices && std::ranges::equal(ranks, other.ranks, isSame) && layout == other.layout;
}

Storage::Storage(std::shared_ptr<const StorageKind> storageKind, bool isShared)
    : kind(std::move(storageKind)),
      shared(isShared && kind->layout.isReplicated() && kind->devices->usesHostMemory()) {
  for (uint32_t rank = 0; rank < (shared ? 1 : kind->ranks.size()); ++rank) {
    bool isHere = shared || kind->ranks[rank];
    memory.push_back(isHere ? kind->devices->allocate(kind->ranks[rank].value_or(0),
                                                      kind->layout.localBytes(), Memory::Fill::none)
                            : nullptr);
    addresses.push_back(isHere ? memory.back()->address() : nullptr);
  }
}

std::shared_ptr<Storage> Storage::makeAlike() const { return std::make_shared<Storage>(kind, shared); }

const std::byte *Storage::wholeInHost() const {
  if (!kind->devices->usesHostMemory() || !kind->layout.isReplicated() || !kind->layout.isContiguous())
    return nullptr;
  uint32_t rank = firstHere();
  return rank < memory.size() ? addresses[rank] : nullptr;
}

/// The first rank that is here; behind all of them if none is.
uint32_t Storage::firstHere() const {
  auto isHere = [](const auto &each) { return each != nullptr; };
  return uint32_t(std::ranges::find_if(memory, isHere) - memory.begin());
}

void Storage::copyFromHost(const std::byte *global) {
  for (uint32_t rank = 0; rank < memory.size(); ++rank)
    if (memory[rank])
      copyIn(*kind->devices, kind->layout, rank, global, *memory[rank]);
}

void Storage::copyToHost(std::byte *global) const {
  if (uint32_t first = firstHere(); first < memory.size() && kind->layout.isReplicated())
    return copyOut(*kind->devices, kind->layout, first, *memory[first], global);
  for (uint32_t rank = 0; rank < memory.size(); ++rank) {
    if (!kind->layout.isPrimary(rank))
      continue;
    if (!memory[rank])
      throw Error("rank " + std::to_string(rank) + " of the state is in another process");
    copyOut(*kind->devices, kind->layout, rank, *memory[rank], global);
  }
}

void Storage::copyFrom(const Storage &other) {
  for (uint32_t rank = 0; rank < memory.size(); ++rank)
    if (memory[rank])
      kind->devices->copy(*other.memory[rank], *memory[rank]);
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
