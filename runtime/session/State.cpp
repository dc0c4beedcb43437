#include "runtime/session/State.h"

#include "runtime/Error.h"
#include "runtime/session/BlockCopies.h"

#include <algorithm>
#include <map>
#include <set>

namespace epl::runtime {

HostTensor HostTensor::allocate(TensorType type, Memory::Fill fill) {
  auto memory = std::make_shared<Memory>(type.bytes(), fill);
  return {std::move(type), memory->data(), memory};
}

StorageKind::Piece::Piece(SlotLayout heldSo, RankDevices own, std::vector<uint32_t> all)
    : layout(std::move(heldSo)), ranks(std::move(own)), devices(std::move(all)), gives(ranks.size()),
      isHere(true) {
  std::vector<bool> isGiven(ranks.size()); // by the first rank that has it, wherever that is
  for (uint32_t rank = 0; rank < ranks.size(); ++rank)
    if (!layout.isHeldBy(rank))
      ranks[rank] = std::nullopt;
  for (uint32_t rank = 0; rank < ranks.size(); ++rank)
    if (ranks[rank] && !isGiven[layout.firstAlike(rank)])
      gives[rank] = isGiven[layout.firstAlike(rank)] = true;
  for (uint32_t rank = 0; rank < ranks.size(); ++rank)
    isHere &= isGiven[layout.firstAlike(rank)] || !layout.isHeldBy(rank);
}

bool StorageKind::isShareable() const {
  return usesHostMemory() &&
         std::ranges::all_of(pieces, [](const Piece &piece) { return piece.layout.isReplicated(); });
}

bool StorageKind::operator==(const StorageKind &other) const {
  auto isSame = [inHost = usesHostMemory()](std::optional<uint32_t> one, std::optional<uint32_t> two) {
    return inHost ? one.has_value() == two.has_value() : one == two;
  };
  auto isAlike = [&](const Piece &one, const Piece &two) {
    return std::ranges::equal(one.ranks, two.ranks, isSame) && one.layout == two.layout;
  };
  return devices == other.devices && usesHostMemory() == other.usesHostMemory() &&
         std::ranges::equal(pieces, other.pieces, isAlike);
}

Storage::Storage(std::shared_ptr<const StorageKind> storageKind, bool isShared)
    : kind(std::move(storageKind)), shared(isShared && kind->isShareable()) {
  for (const StorageKind::Piece &piece : kind->pieces)
    pieces.push_back(allocate(piece));
}

Storage::Piece Storage::allocate(const StorageKind::Piece &piece) const {
  std::vector<std::optional<uint32_t>> takers = piece.ranks; // of the memories: the device of each
  if (shared) {
    auto here = std::ranges::find_if(piece.ranks, [](const auto &device) { return device.has_value(); });
    takers = {here == piece.ranks.end() ? std::nullopt : *here};
  }
  Piece made;
  size_t size = piece.layout.localBytes();
  for (std::optional<uint32_t> device : takers) {
    made.memory.push_back(!device        ? nullptr
                          : kind->inHost ? kind->devices->allocateInHost(*device, size)
                                         : kind->devices->allocate(*device, size, Memory::Fill::none));
    made.addresses.push_back(device ? made.memory.back()->address() : nullptr);
  }
  return made;
}

std::shared_ptr<Storage> Storage::makeAlike() {
  std::shared_ptr<Storage> found = takeSpare();
  return found ? found : std::make_shared<Storage>(kind, shared);
}

void Storage::keepSpare(std::shared_ptr<Storage> storage, std::shared_ptr<const Call> copier) {
  storage->spare = nullptr; // one is enough
  spare = std::move(storage);
  spareReader = std::move(copier);
}

std::shared_ptr<Storage> Storage::takeSpare() {
  // The end of the call comes after all that steps do with the memory, and that there are no views after all
  // that others read in it.
  if (!spare || !spareReader->done() || spare.use_count() > 1 || spare->numViews != 0 ||
      !spare->poison.empty())
    return nullptr;
  spareReader = nullptr;
  return std::move(spare);
}

const std::byte *Storage::wholeInHost() const {
  const SlotLayout &layout = kind->pieces.front().layout; // whole, if it is the only one
  if (!kind->usesHostMemory() || !layout.isWhole() || !layout.isContiguous())
    return nullptr;
  uint32_t rank = pieces.front().firstHere();
  return rank < pieces.front().memory.size() ? pieces.front().addresses[rank] : nullptr;
}

/// The first rank that is here; behind all of them if none is.
uint32_t Storage::Piece::firstHere() const {
  auto isHere = [](const auto &each) { return each != nullptr; };
  return uint32_t(std::ranges::find_if(memory, isHere) - memory.begin());
}

void Storage::copyFromHost(const std::byte *global) {
  for (size_t index = 0; index < pieces.size(); ++index)
    for (uint32_t rank = 0; rank < pieces[index].memory.size(); ++rank)
      if (const auto &memory = pieces[index].memory[rank])
        copyIn(*kind->devices, kind->pieces[index].layout, rank, global, *memory);
}

void Storage::copyToHost(std::byte *global) const {
  for (size_t index = 0; index < pieces.size(); ++index)
    for (uint32_t rank = 0; rank < pieces[index].memory.size(); ++rank)
      if (pieces[index].memory[rank] && (shared || kind->pieces[index].gives[rank]))
        copyOut(*kind->devices, kind->pieces[index].layout, rank, *pieces[index].memory[rank], global);
}

HostBlocks::HostBlocks(const StorageKind &kind) {
  for (const StorageKind::Piece &piece : kind.pieces) {
    std::map<uint32_t, std::shared_ptr<Memory>> blocks; // by the first rank that has one
    auto &ranks = pieces.emplace_back(piece.ranks.size());
    for (uint32_t rank = 0; rank < ranks.size(); ++rank) {
      if (!piece.ranks[rank])
        continue;
      std::shared_ptr<Memory> &block = blocks[piece.layout.firstAlike(rank)];
      if (!block)
        block = std::make_shared<Memory>(piece.layout.localBytes(), Memory::Fill::none);
      ranks[rank] = block;
    }
  }
}

std::shared_ptr<const HostBlocks> Storage::copyBlocks() const {
  if (kind->usesHostMemory())
    return nullptr;
  auto copy = std::make_shared<HostBlocks>(*kind);
  std::set<std::byte *> copied; // ranks that hold the same have one block there
  for (size_t piece = 0; piece < pieces.size(); ++piece)
    for (uint32_t rank = 0; rank < pieces[piece].memory.size(); ++rank)
      if (std::byte *block = copy->at(piece, rank); block && copied.insert(block).second)
        kind->devices->copyOut(*pieces[piece].memory[rank], block);
  return copy;
}

const std::shared_ptr<HostBlocks> &Storage::makeDraft() {
  if (!kind->usesHostMemory())
    draft = std::make_shared<HostBlocks>(*kind);
  return draft;
}

void Storage::takeDraft() {
  if (!draft)
    return;
  for (size_t piece = 0; piece < pieces.size(); ++piece)
    for (uint32_t rank = 0; rank < pieces[piece].memory.size(); ++rank)
      if (std::byte *block = draft->at(piece, rank))
        kind->devices->copyIn(block, *pieces[piece].memory[rank]);
  draft = nullptr;
}

std::vector<Shard> Storage::shards(const HostBlocks *host) const {
  bool usesHostMemory = kind->usesHostMemory();
  return shardsAt([&](uint32_t piece, uint32_t rank) {
    return usesHostMemory ? address(piece, rank) : host ? host->at(piece, rank) : nullptr;
  });
}

std::vector<Shard> Storage::blocks() const {
  std::vector<Shard> here = shardsAt([&](uint32_t piece, uint32_t rank) { return address(piece, rank); });
  std::erase_if(here, [](const Shard &shard) { return shard.data == nullptr; });
  return here;
}

std::vector<Holder> Storage::holders() const {
  std::map<uint32_t, std::optional<uint32_t>> cards; // of each device
  for (const StorageKind::Piece &piece : kind->pieces)
    for (uint32_t rank = 0; rank < piece.ranks.size(); ++rank)
      if (piece.layout.isHeldBy(rank))
        cards[piece.devices[rank]] =
            piece.ranks[rank] && !kind->inHost ? kind->devices->cardOf(*piece.ranks[rank]) : std::nullopt;
  std::vector<Holder> all;
  all.reserve(cards.size());
  for (auto [device, card] : cards)
    all.push_back({device, card});
  return all;
}

std::vector<Shard> Storage::shardsAt(const std::function<std::byte *(uint32_t, uint32_t)> &find) const {
  std::vector<Shard> all;
  for (uint32_t piece = 0; piece < pieces.size(); ++piece) {
    const auto &[layout, ranks, devices, gives, isHere] = kind->pieces[piece];
    std::vector<uint32_t> copies(ranks.size()); // so far, by the first rank that has one
    for (uint32_t rank = 0; rank < ranks.size(); ++rank) {
      if (!layout.isHeldBy(rank))
        continue;
      if (!layout.boxes(rank))
        throw Error("what a device holds is in no boxes of the caller's tensor");
      uint32_t copy = copies[layout.firstAlike(rank)]++;
      for (const Box &box : *layout.boxes(rank))
        all.push_back({devices[rank], box,
                       ranks[rank] && find(piece, rank) ? find(piece, rank) + box.offset : nullptr, copy});
    }
  }
  std::ranges::sort(all, {}, [](const Shard &shard) { return std::pair(shard.device, shard.data); });
  return all;
}

void Storage::copyFrom(const Storage &other) {
  for (size_t index = 0; index < pieces.size(); ++index)
    for (uint32_t rank = 0; rank < pieces[index].memory.size(); ++rank)
      if (const auto &memory = pieces[index].memory[rank])
        kind->devices->copy(*other.pieces[index].memory[rank], *memory);
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
  memory->takeDraft();
  return memory;
}

/// Keeps the memory from being written in place while it lives.
static std::shared_ptr<const void> viewOf(const std::shared_ptr<Storage> &storage) {
  ++storage->numViews;
  return {storage.get(), [storage](const void *) { --storage->numViews; }};
}

HostTensor StateBuffer::toHost() const {
  use();
  wait();
  const std::shared_ptr<Storage> &storage = use(); // again: waiting may have brought an error
  const std::byte *whole = storage->wholeInHost();
  if (!whole)
    return copyToHost();
  return {type(), const_cast<std::byte *>(whole), viewOf(storage)};
}

/// Those whose bytes are in memory of the host: of the storage, or in `host`.
static std::pair<std::vector<Shard>, std::shared_ptr<const void>>
shardsOf(const std::shared_ptr<Storage> &storage, const std::shared_ptr<const HostBlocks> &host) {
  std::vector<Shard> here = storage->shards(host.get());
  std::erase_if(here, [](const Shard &shard) { return shard.data == nullptr; });
  return {std::move(here), host ? std::shared_ptr<const void>(host) : viewOf(storage)};
}

std::pair<std::vector<Shard>, std::shared_ptr<const void>> StateBuffer::shards() const {
  use();
  wait();
  const std::shared_ptr<Storage> &storage = use();
  return shardsOf(storage, storage->copyBlocks());
}

std::pair<std::vector<Shard>, std::shared_ptr<const void>> StateBuffer::draft() const {
  return shardsOf(use(), memory->makeDraft());
}

/// A tensor without elements has no boxes: it is one without memory, on the first device that has it.
std::vector<Shard> StateBuffer::blocks() const {
  std::vector<Shard> here = use()->blocks();
  if (type().bytes() != 0 || !use()->isHere())
    return here;
  Box whole;
  for (int64_t extent : type().shape)
    whole.dims.push_back({0, size_t(extent), elementBytes(type().element)});
  return {{use()->holders().front().device, whole, nullptr, 0}};
}

std::shared_ptr<const void> StateBuffer::lend() const {
  use();
  wait();
  const std::shared_ptr<Storage> &storage = use();
  ++storage->numViews;
  return storage;
}

std::shared_ptr<StateBuffer> StateBuffer::view() const {
  const std::shared_ptr<Storage> &storage = use();
  std::shared_ptr<Storage> viewed(storage.get(), [view = viewOf(storage)](Storage *) {});
  return std::make_shared<StateBuffer>(kind, std::move(viewed), call);
}

std::shared_ptr<StateBuffer> StateBuffer::snapshot() const {
  const std::shared_ptr<Storage> &storage = use();
  ++storage->numSnapshots;
  std::shared_ptr<Storage> viewed(storage.get(),
                                  [view = viewOf(storage)](Storage *viewed) { --viewed->numSnapshots; });
  return std::make_shared<StateBuffer>(kind, std::move(viewed), call);
}

std::shared_ptr<StateBuffer> StateBuffer::makeAlike() const {
  return std::make_shared<StateBuffer>(kind, use()->makeAlike(), nullptr);
}

HostTensor StateBuffer::copyToHost() const {
  use();
  wait();
  if (!use()->isHere())
    throw Error("\"" + name() +
                "\" is in parts that other processes have: epl.gather gives the whole of it in "
                "all of them, addressable_shards what is here");
  HostTensor copy = HostTensor::allocate(type(), Memory::Fill::none);
  use()->copyToHost(copy.data);
  return copy;
}

std::shared_ptr<StateBuffer> StateBuffer::copy() const {
  use();
  wait();
  Storage &from = *use();
  std::shared_ptr<Storage> to = from.makeAlike();
  to->copyFrom(from);
  return std::make_shared<StateBuffer>(kind, std::move(to), nullptr);
}

} // namespace epl::runtime
