#include "runtime/device/cuda/Conditions.h"

#include "runtime/device/cuda/kernels/Arguments.h"

namespace epl::runtime::cuda {

// One for each guard, and the end.
static uint64_t bytesFor(size_t guards) { return (guards + 1) * sizeof(Condition); }

Conditions::Guards Conditions::guardsOf(const plan::CommandT &command) {
  Guards guards;
  guards.reserve(command.guards.size());
  for (const plan::Guard &guard : command.guards)
    guards.emplace_back(guard.buffer(), guard.expected());
  return guards;
}

Conditions::Conditions(const std::shared_ptr<const Cards> &cards, std::span<const Place> ranks) {
  std::map<uint32_t, uint64_t> sizes; // of each card's memory
  for (uint32_t rank = 0; rank < ranks.size(); ++rank)
    for (const auto &command : ranks[rank].plan->commands) {
      Guards guards = guardsOf(*command);
      if (guards.empty() || !numbers.try_emplace({rank, guards}, lists.size()).second)
        continue;
      uint64_t &size = sizes[ranks[rank].card];
      lists.push_back({rank, ranks[rank].card, guards, size, {}});
      size += bytesFor(guards.size());
    }
  std::map<uint32_t, CUdeviceptr> begins;
  for (auto [card, size] : sizes) {
    memory.push_back(allocateOn(cards, card, size, "the conditions of commands"));
    begins[card] = memory.back()->pointer();
  }
  for (List &list : lists)
    list.place += begins[list.card];
}

CUdeviceptr Conditions::of(uint32_t rank, const plan::CommandT &command) const {
  return command.guards.empty() ? 0 : lists[numbers.at({rank, guardsOf(command)})].place;
}

void Conditions::bind(const AddressOf &addressOf, Copies &copies) {
  for (List &list : lists) {
    std::vector<uint64_t> words;
    for (auto [buffer, expected] : list.guards)
      words.insert(words.end(), {addressOf(list.rank, buffer), expected});
    words.insert(words.end(), {0, 0});
    if (words == list.words)
      continue;
    copies.in(reinterpret_cast<const std::byte *>(words.data()), list.place, words.size() * sizeof(uint64_t),
              list.card);
    list.words = std::move(words);
  }
}

} // namespace epl::runtime::cuda
