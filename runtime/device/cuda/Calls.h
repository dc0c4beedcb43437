// Commands of ranks as calls of kernels.
#ifndef EPL_RUNTIME_DEVICE_CUDA_CALLS_H
#define EPL_RUNTIME_DEVICE_CUDA_CALLS_H

#include "runtime/device/cuda/CudaMemory.h"
#include "runtime/device/cuda/HostCall.h"
#include "runtime/device/cuda/Images.h"
#include "runtime/device/cuda/KernelCall.h"
#include "runtime/device/cuda/collectives/TransferMemory.h"
#include "runtime/device/cuda/factorizations/FactorizationCall.h"

#include <cstring>
#include <map>

namespace epl::runtime::cuda {

/// What kernels that move data read: lists of runs, on each card.
class Tables {
public:
  explicit Tables(std::shared_ptr<const Cards> cards) : cards(std::move(cards)), bytes(this->cards->size()) {}

  /// Where the list will be in the table of a card.
  template <typename T> uint64_t add(uint32_t card, const std::vector<T> &list) {
    uint64_t begin = bytes[card].size();
    bytes[card].resize(begin + (list.size() * sizeof(T) + 7) / 8 * 8);
    std::memcpy(bytes[card].data() + begin, list.data(), list.size() * sizeof(T));
    return begin;
  }
  /// Puts all of it on the cards. Throws Error if there is no memory left.
  void upload(Copies &copies);
  /// How much is in the table of a card so far.
  uint64_t size(uint32_t card) const { return bytes[card].size(); }
  /// Puts what is in another table for a card in the place of what is here, from `begin` on.
  void replace(uint32_t card, uint64_t begin, const Tables &other, Copies &copies);
  /// Where a card's table begins, afterwards.
  uint64_t begin(uint32_t card) const { return memory[card]->pointer(); }

private:
  std::shared_ptr<const Cards> cards;
  std::vector<std::vector<std::byte>> bytes; // of each card
  std::vector<std::unique_ptr<CudaAllocation>> memory;
};

/// What a rank does together with other cards or processes: calls of NCCL, which begin together with those of
/// the others; or messages through a room of the host.
struct TransferCall {
  nccl::Comm comm; ///< null of messages through the host
  HostRoom *room;  ///< null of calls of NCCL
  std::vector<LibraryCall> calls;
};

/// A copy between memory of a card and pinned memory, which a copy engine does beside the kernels.
struct HostCopy {
  CUdeviceptr source, target;
  size_t bytes;
  bool isIn; ///< to the card

  /// Enqueues it. Throws nothing: who enqueues names the command.
  CUresult enqueue(const Driver &api, CUstream stream) const;
};

/// What a command is on one rank: kernels, in this order, or a copy, or a call of the host, or of a library.
/// Of what is moved by NCCL kernels before it and behind it.
struct Calls {
  std::vector<KernelCall> packs;
  std::optional<TransferCall> transfer;
  std::vector<KernelCall> kernels;
  std::unique_ptr<HostCall> host;
  std::unique_ptr<const LibraryWork> library;
  std::optional<HostCopy> copy;

  bool isEmpty() const { return kernels.empty() && isOwn(); }
  /// Whether all of it is kernels of ours, whose arguments a graph can be given anew.
  bool isOwn() const { return !host && !library && !copy && !transfer; }
  /// Whether it may be captured into a graph, but for what it transfers.
  bool isCapturable() const { return !library || library->isCapturable(); }
  /// Enqueues the call of a library or of the host, or the copy, if it is one. Throws Error if that fails.
  void enqueueCall(const Driver &api, CUdeviceptr workspace, CUstream stream) const;
};

/// A command's rank on its card: where its coordinates and the conditions of the command are; 0 of a command
/// that runs in any case.
struct PlaceOfCommand {
  uint32_t rank, card;
  uint64_t coordinates, conditions;
};

/// What a command has to transfer on a rank: how, through which memory of the card, by what.
struct TransferPlace {
  const Transfer &transfer;
  CUdeviceptr staging;
  nccl::Comm comm;
  HostRoom *room;
};

/// Makes calls of the commands of a plan for one mesh.
class CallMaker {
public:
  CallMaker(const Driver &api, const plan::PlanT &plan, const Channels &channels, const Topology &topology,
            const Images &images, Tables &tables)
      : api(api), plan(plan), channels(channels), topology(topology), images(images), tables(tables) {}

  /// Kernels that compute obey the command's guards; what moves data and calls of libraries and of the host
  /// run in any case, as plans allow. Throws Error if a kernel or a library is missing.
  Calls make(const plan::CommandT &command, const PlaceOfCommand &place, const MoveAddresses &addresses);
  /// One that transfers; `remote` has given `addresses` those of ranks that are elsewhere.
  Calls transfer(const plan::CommandT &command, uint32_t rank, uint32_t card, const TransferPlace &place,
                 const MoveAddresses &addresses, RemoteAddresses &remote);
  /// What a rank sends of a value at an address, as another part receives it.
  Calls send(const TransferPlace &place, CUdeviceptr value, uint32_t card);
  /// A phase of launches of one code as one (LaunchLists.h), from the calls of each.
  KernelCall makeList(const plan::KernelT &kernel, size_t phase, uint32_t card,
                      std::span<const KernelCall *const> launches);

private:
  bool convolve(const plan::LaunchT &launch, const plan::KernelT &kernel, const PlaceOfCommand &place,
                const MoveAddresses &addresses, Calls &calls);
  KernelCall widen(plan::ElementType type, CUdeviceptr from, CUdeviceptr to, uint64_t count,
                   uint32_t card) const;
  void factorize(const plan::LaunchT &launch, const plan::KernelT &kernel, const PlaceOfCommand &place,
                 const MoveAddresses &addresses, Calls &calls) const;
  std::optional<AttentionCall> attend(const plan::ContractT &contract, const PlaceOfCommand &place,
                                      const MoveAddresses &addresses) const;
  std::optional<AttentionGradientCall> attendBack(const plan::AttentionGradientT &gradient,
                                                  const PlaceOfCommand &place,
                                                  const MoveAddresses &addresses) const;
  std::unique_ptr<const LibraryWork> attentionOf(const plan::CommandT &end, const PlaceOfCommand &place,
                                                 const MoveAddresses &addresses) const;
  bool isAttended(const plan::CommandT &command, const PlaceOfCommand &place,
                  const MoveAddresses &addresses) const;
  KernelCall launch(const plan::LaunchT &launch, const plan::KernelT &kernel, size_t phase,
                    const PlaceOfCommand &place, const MoveAddresses &addresses) const;
  KernelCall contract(const plan::ContractT &contract, const ProductOperands &operands,
                      const PlaceOfCommand &place) const;
  KernelCall copy(const std::vector<CopyRun> &runs, uint32_t card);
  std::optional<HostCopy> copyHost(const plan::CopyT &copy, uint32_t rank,
                                   const MoveAddresses &addresses) const;
  void add(const Moves &moves, uint32_t card, Calls &calls);
  Calls exchange(const TransferPlace &place, uint32_t card,
                 const std::function<CUdeviceptr(uint32_t buffer)> &addressOf);
  KernelCall sum(const Sums &sums, uint32_t card);

  const Driver &api;
  const plan::PlanT &plan;
  const Channels &channels;
  const Topology &topology;
  const Images &images;
  Tables &tables;
};

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_CALLS_H
