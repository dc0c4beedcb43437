// The cards of a run, and which devices of a plan are on them.
#ifndef EPL_RUNTIME_DEVICE_CUDA_CARDS_H
#define EPL_RUNTIME_DEVICE_CUDA_CARDS_H

#include "runtime/device/cuda/Handles.h"
#include "runtime/device/cuda/collectives/Peers.h"

#include <shared_mutex>
#include <vector>

namespace epl::runtime::cuda {

enum class MemoryKind : uint8_t { card, pinned };

/// The cards that have the devices of this process, open for it. Where there are several, each reads the
/// memory of the others.
class Cards {
public:
  /// Throws Error if there is no such card, or if one cannot read another's memory.
  Cards(const Devices &devices, const Peers &peers);
  ~Cards();
  Cards(const Cards &) = delete;

  const Driver &driver() const { return api; }
  uint32_t size() const { return uint32_t(cards.size()); }
  /// The card of a device that is here, among these.
  uint32_t cardOf(uint32_t device) const { return cardOfDevice[device - firstDevice]; }
  /// The driver's number of a card.
  uint32_t number(uint32_t card) const { return cards[card].number; }
  /// The architecture of a card, 10 * major + minor: 90 is sm_90.
  uint32_t architecture(uint32_t card) const { return cards[card].architecture; }
  /// A name of a card that no other one has, on any machine.
  std::string uniqueName(uint32_t card) const;
  /// Makes a card that of the calling thread. Throws Error if the card has failed.
  void use(uint32_t card) const;
  /// The same for what cannot fail; false if the card has failed: then it runs nothing, and its memory is
  /// lost.
  bool tryUse(uint32_t card) const noexcept {
    return api.cuCtxSetCurrent(cards[card].context) == CUDA_SUCCESS;
  }

  /// Takes memory that nobody uses any more. It is freed when no step runs in the process, on these cards or
  /// on others that are open: a driver waits for steps in that, and they may wait for other processes.
  void giveBack(uint32_t card, CUdeviceptr memory, MemoryKind kind) const noexcept;
  /// Frees what was given back, to whichever cards, if no step runs; with `waits` it waits for that.
  void freeUnused(bool waits = false) const noexcept;
  /// While it lives, nothing is freed: to be held while work is enqueued.
  std::shared_lock<std::shared_mutex> enqueuing() const;

  /// On which steps are launched, one behind another, and what goes to them and comes from them is copied. It
  /// is the first card's.
  CUstream steps() const { return stepStream; }
  /// On which what later steps read comes to a card.
  CUstream arrivals(uint32_t card) const { return cards[card].arrivals; }

private:
  struct Card {
    uint32_t number, architecture;
    CUdevice device;
    CUcontext context;
    Stream arrivals;
  };
  void open(uint32_t number);
  void enablePeers();
  bool isIdle(bool waits) const noexcept;

  const Driver &api;
  uint32_t firstDevice;
  std::vector<uint32_t> cardOfDevice; // of those that are here
  std::vector<Card> cards;
  Stream stepStream;
  struct Unused {
    uint32_t card;
    CUdeviceptr memory;
    MemoryKind kind;
  };
  mutable std::vector<Unused> unused;
};

/// Gives the calling thread at its end the card back that it had, if it had one. Callers may use cards by
/// other libraries, such as PyTorch, which take the thread's for theirs: so whatever they call of this
/// plugin, and what frees its things, has one around all that it does.
class KeptCard {
public:
  explicit KeptCard(const Driver &api) : api(api) {
    if (api.cuCtxGetCurrent(&before) != CUDA_SUCCESS)
      before = nullptr;
  }
  KeptCard(const KeptCard &) = delete;
  ~KeptCard() {
    if (before)
      api.cuCtxSetCurrent(before);
  }

private:
  const Driver &api;
  CUcontext before = nullptr;
};

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_CARDS_H
