// Plans for tests, all of i8 tensors: a byte is an element.

#ifndef EPL_TEST_UNIT_PLAN_PLANS_H
#define EPL_TEST_UNIT_PLAN_PLANS_H

#include "runtime/plan/build/Builder.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace epl::runtime::test {

/// A builder with shorthands for tests.
class PlanMaker : public Builder {
public:
  explicit PlanMaker(std::string devices = "cpu") : Builder(std::move(devices)) {}

  uint32_t axis(const std::string &name, uint32_t size);

  /// A one-dimensional slot of `size` elements, split over `axes`.
  uint32_t slot(const std::string &name, plan::SlotRole role, int64_t size,
                const std::vector<std::string> &axes = {}, int32_t updates = -1);

  /// The buffer of a new argument.
  uint32_t argument(const std::string &name, plan::SlotRole role, int64_t size,
                    const std::vector<std::string> &axes = {});

  uint32_t buffer(const std::string &name, uint64_t size);
  /// `size` bytes of a buffer behind `part` parts of so many.
  uint32_t view(const std::string &name, uint32_t of, uint64_t part, uint64_t size);
  uint64_t sizeOf(uint32_t buffer) const { return sizes.at(buffer); }

  /// Launches a kernel of its own, made for the sizes of the buffers. Without `inPlace`, no output may take
  /// an input's place; a workspace of -1 is none.
  void run(const std::string &name, const std::vector<uint32_t> &inputs, const std::vector<uint32_t> &outputs,
           const std::vector<int32_t> &inPlace = {}, int64_t workspace = -1);

  /// The same by a library, for `count` matrices. With room for what it works in.
  void factorize(const std::string &name, const plan::FactorizationT &factorization, int64_t count,
                 const std::vector<uint32_t> &inputs, const std::vector<uint32_t> &outputs);

  /// All-reduces the whole of `source`.
  void sum(const std::string &name, uint32_t communicator, uint32_t source, uint32_t target);
  /// The same of pairs of source and target, by one command.
  void sum(const std::string &name, uint32_t communicator,
           const std::vector<std::pair<uint32_t, uint32_t>> &tensors);

  /// All-gathers the whole of `source`, cut into `outer` rows.
  void gather(const std::string &name, uint32_t communicator, uint32_t source, uint32_t target,
              int64_t outer);
  /// The same of pairs of source and target, by one command.
  void gather(const std::string &name, uint32_t communicator,
              const std::vector<std::pair<uint32_t, uint32_t>> &tensors, int64_t outer);

  /// A sum that member `root` gets, and what it has for all others: whole buffers.
  void reduce(const std::string &name, uint32_t communicator, uint32_t root, uint32_t source,
              uint32_t target);
  void broadcast(const std::string &name, uint32_t communicator, uint32_t root,
                 const std::vector<uint32_t> &buffers);
  /// A slot that one member has alone.
  uint32_t ownedSlot(const std::string &name, plan::SlotRole role, int64_t size, plan::Owner owner,
                     int32_t updates = -1);

  /// How axes split the dimensions of a tensor.
  using Axes = std::vector<std::vector<std::string>>;

  /// Reduce-scatters the whole of `source`, a tensor of `shape`, to the parts that `to` says.
  void scatter(const std::string &name, uint32_t communicator, uint32_t source, uint32_t target,
               std::vector<int64_t> shape, const Axes &to);
  /// One of several tensors that are scattered by one command.
  struct Scattered {
    uint32_t source, target;
    std::vector<int64_t> shape;
    Axes to;
  };
  void scatter(const std::string &name, uint32_t communicator, const std::vector<Scattered> &tensors);

  /// Exchanges parts of a tensor of `shape`.
  void exchange(const std::string &name, uint32_t communicator, uint32_t source, uint32_t target,
                std::vector<int64_t> shape, const Axes &from, const Axes &to);

  /// Sends or receives the whole of a buffer, the rank's part of a tensor of `size` elements split over
  /// `axes`; the channel has room for `depth` messages.
  void put(uint32_t channel, uint32_t source, int64_t size, const std::vector<std::string> &axes,
           uint32_t message = 0, uint32_t depth = 1);
  void take(uint32_t channel, uint32_t target, int64_t size, const std::vector<std::string> &axes,
            uint32_t message = 0, uint32_t depth = 1);

private:
  void run(plan::KernelT kernel, const std::vector<uint32_t> &inputs, const std::vector<uint32_t> &outputs,
           const std::vector<int32_t> &inPlace, int64_t workspace);

  std::map<uint32_t, uint64_t> sizes; // of each buffer
  std::map<std::string, uint32_t> axisSizes;
};

/// Two layers forward and backward, two gradients summed over "data", states updated in place, the loss
/// summed.
plan::PlanT trainingPlan(uint32_t devices);

/// Weights split over "data", gathered before their use, on a mesh that also has "model".
plan::PlanT gatherPlan();

/// Sums over each axis of a 2 x 2 mesh and over both at once, into other buffers and in place.
plan::PlanT meshPlan();

/// Sums over x and over both axes of a 2 x 2 mesh, and a gather over y between them. The last sum waits for
/// the first one on all ranks, though what stands between comes behind the one and before the other: on a
/// third rank, which may be in another process.
plan::PlanT thirdRankPlan();

/// Sums of several tensors at once, odd sizes and one byte among them, into other buffers and in place; one
/// source twice.
plan::PlanT sumsPlan();

/// Two gradients scattered at once, by other dimensions, and their states gathered at once.
plan::PlanT sharedStatePlan();

/// A sum that each member keeps a block of, an all-to-all, and a permutation, on a 2 x 2 mesh.
plan::PlanT blocksPlan();

/// Results that are copies: an argument as it came, two states exchanged, one value twice.
plan::PlanT copyPlan();

/// Four parameters, dealt out to the members of "data" on a mesh that may have "model", too: gradients are
/// reduced to their owner, new parameters sent from it. Moments exist there alone, two of which change their
/// places in each step; a norm over "model" is the owner's, too.
plan::PlanT ownersPlan(uint32_t members = 2, uint32_t models = 1);

/// A worker's step on two devices: "w", of which each has a half, and "b" are pulled, the gradients of both
/// pushed; b is read first. The gradient of b is a sum, that of w is computed last.
plan::PlanT outsidePlan();

/// Parts of a state copied out of it and back into its next value; one of them is a result.
plan::PlanT partsPlan();

/// Rows of a batch, of a state and of what is computed, read where they lie: by kernels, sums, a gather and a
/// copy. The state is updated in its place; one row is a result.
plan::PlanT viewsPlan();

/// A branch within a branch, sums within both, and kernels that select.
plan::PlanT branchPlan();

/// Eigenvectors of two matrices of 3 x 3, and a system whose matrix they are: kernels of a library.
plan::PlanT factorizationPlan();

/// A layer on two devices beside one that is split over two, both replicated twice: activations go there,
/// their gradients come back. Part 0 has devices 0 and 3.
plan::PlanT sideBySidePlan();

/// An unrolled loop of `iterations`, four commands and one buffer of the arena each: weights that all of them
/// read, a carried value, a history of which each writes its row, and a sum over two devices.
plan::PlanT largePlan(uint32_t iterations);

/// The command of a plan that has this name; it is an error of the test if there is none.
uint32_t findCommand(const plan::PlanT &plan, const std::string &name);

struct NamedPlan {
  std::string name;
  plan::PlanT plan;
};

/// All of the above but those with parts.
std::vector<NamedPlan> allPlans();

/// A random program on a random mesh of up to 12 ranks. With `copiesResults` its last commands copy the
/// values of its results, and the copies are the results. With `offloads` its states are in memory of the
/// host, and with every other seed its other results, too.
plan::PlanT randomPlan(uint64_t seed, bool copiesResults = false, bool offloads = false);

} // namespace epl::runtime::test

#endif // EPL_TEST_UNIT_PLAN_PLANS_H
