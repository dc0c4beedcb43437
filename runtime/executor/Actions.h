// The actions of a plan, bound to what runs them.
#ifndef EPL_RUNTIME_EXECUTOR_ACTIONS_H
#define EPL_RUNTIME_EXECUTOR_ACTIONS_H

#include "runtime/collective/inproc/Combine.h"
#include "runtime/device/cpu/Contraction.h"
#include "runtime/device/cpu/Factorization.h"
#include "runtime/device/cpu/Image.h"
#include "runtime/executor/Channels.h"
#include "runtime/executor/Topology.h"
#include "runtime/plan/model/Blocks.h"

#include <variant>

namespace epl::runtime {

/// Where every buffer lies on every rank.
class AddressTable {
public:
  AddressTable(uint32_t numRanks, size_t numBuffers) : width(numBuffers), addresses(numRanks * numBuffers) {}

  void set(uint32_t rank, uint32_t buffer, void *address) { addresses[rank * width + buffer] = address; }
  void *get(uint32_t rank, uint32_t buffer) const { return addresses[rank * width + buffer]; }

private:
  size_t width;
  std::vector<void *> addresses;
};

/// What an action needs besides itself: the rank that runs it, all addresses, and room for
/// Actions::numPointers() pointers.
struct ActionContext {
  const Topology &topology;
  const AddressTable &addresses;
  uint32_t rank;
  void **pointers;
};

/// Runs the actions of a plan for one mesh. That, its code and the channels must outlive it.
class Actions {
public:
  /// Throws Error if a kernel, the library of contractions and factorizations, or a reduction is missing.
  Actions(const plan::PlanT &plan, const Topology &topology, const Image &image, const Channels &channels);

  /// Runs a command's action on one rank, in the calling thread; false if a guard does not hold, and nothing
  /// was done.
  bool run(uint32_t command, const ActionContext &context) const;

  size_t numPointers() const { return maxPointers; }

private:
  struct Launch {
    KernelEntry entry;
    int64_t extent;
    std::span<const uint32_t> buffers;
    void run(const ActionContext &context) const;
  };
  struct Factorize { // a launch of a library's kernel
    Factorization factorization;
    int64_t extent;
    std::span<const uint32_t> buffers;
    void run(const ActionContext &context) const;
  };
  struct Contract {
    Contraction contraction;
    const plan::ContractT &action;
    void run(const ActionContext &context) const;
  };
  struct ReducePart {
    std::vector<CombineFunction> combine; // of each tensor
    const plan::ReducePartT &action;
    void run(const ActionContext &context) const;
  };
  struct GatherParts {
    const plan::GatherPartsT &action;
    void run(const ActionContext &context) const;
  };
  struct GatherBlocks {
    const plan::GatherBlocksT &action;
    void run(const ActionContext &context) const;
  };
  struct Copy {
    uint32_t source, target;
    size_t from, to, size;
    void run(const ActionContext &context) const;
  };
  struct ReduceBlocks {
    struct Tensor {
      CombineFunction combine;
      const plan::ReducedBlocksT &action;
      std::vector<SharedBox> boxes; // of each rank
    };
    uint32_t communicator;
    std::vector<Tensor> tensors;
    void run(const ActionContext &context) const;
  };
  struct ExchangeBlocks {
    size_t elementSize;
    const plan::ExchangeBlocksT &action;
    std::vector<std::vector<Piece>> pieces; // of each rank
    void run(const ActionContext &context) const;
  };
  struct Send {
    const Channels &channels;
    uint32_t channel, source;
    void run(const ActionContext &context) const;
  };
  struct Receive {
    const Channels &channels;
    uint32_t channel, target;
    void run(const ActionContext &context) const;
  };
  using Bound = std::variant<Launch, Factorize, Contract, ReducePart, GatherParts, GatherBlocks, Copy,
                             ReduceBlocks, ExchangeBlocks, Send, Receive>;
  static Bound bind(const plan::PlanT &plan, const plan::ActionUnion &action, const Image &image,
                    const Channels &channels);
  static Bound bindBlocks(const plan::PlanT &plan, const plan::ReduceBlocksT &reduce);
  static Bound bindBlocks(const plan::PlanT &plan, const plan::ExchangeBlocksT &exchange);

  std::vector<Bound> bound;
  std::vector<std::span<const plan::Guard>> guards; // of each command
  size_t maxPointers = 0;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_EXECUTOR_ACTIONS_H
