// Hand-written plans.
#ifndef EPL_TEST_UNIT_EXECUTOR_TESTPLAN_H
#define EPL_TEST_UNIT_EXECUTOR_TESTPLAN_H

#include "runtime/plan/format/plan_generated.h"

#include <map>
#include <memory>

namespace epl::runtime::test {

/// Sharding of a slot: the axes of each dimension.
using Sharding = std::vector<std::vector<std::string>>;

/// A plan under construction. Functions give the index of what they add.
class TestPlan {
public:
  /// A mesh of one axis, "data".
  explicit TestPlan(uint32_t devices);
  /// A mesh of several axes. Communicator i is over axis i and has lane i + 1; lane 0 computes.
  explicit TestPlan(const std::vector<std::pair<std::string, uint32_t>> &axes);

  uint32_t slot(plan::SlotRole role, const std::string &name, plan::ElementType type,
                std::vector<int64_t> shape, const Sharding &sharding = {}, int32_t updates = -1);
  /// A buffer that is a slot.
  uint32_t slotBuffer(uint32_t slot);
  /// A buffer in the arena.
  uint32_t buffer(uint64_t size);

  /// The kernels are those of Kernels.cpp.
  uint32_t launch(const std::string &kernel, int64_t extent, std::vector<uint32_t> buffers,
                  std::vector<plan::Wait> waits = {}, uint32_t lane = 0);
  template <typename ActionT>
  uint32_t command(const std::string &name, ActionT action, std::vector<plan::Wait> waits,
                   uint32_t lane = 0) {
    auto command = std::make_unique<plan::CommandT>();
    command->action.Set(std::move(action));
    return add(name, std::move(command), std::move(waits), lane);
  }
  /// Copies a part, or all of the target if the part has no size.
  uint32_t copy(uint32_t source, uint32_t target, std::vector<plan::Wait> waits = {}, uint32_t lane = 0,
                plan::CopyT part = {});
  /// Both halves of an all-reduce; gives the second.
  uint32_t allReduce(plan::ReductionKind reduction, plan::ElementType type, uint32_t source, uint32_t target,
                     int64_t count, std::vector<plan::Wait> waits, uint32_t communicator = 0);
  /// One of several tensors that are reduced by one command.
  struct Reduced {
    plan::ElementType type;
    uint32_t source, target;
    int64_t count;
  };
  uint32_t allReduce(plan::ReductionKind reduction, const std::vector<Reduced> &tensors,
                     std::vector<plan::Wait> waits, uint32_t communicator = 0);
  uint32_t allGather(plan::ElementType type, uint32_t source, uint32_t target, int64_t outer, int64_t inner,
                     std::vector<plan::Wait> waits, uint32_t communicator = 0);
  uint32_t lane(plan::LaneKind kind);

  /// That of the plan, to which `finish` adds the test kernels.
  plan::ImageT &image();

  /// Takes the plan, with the test kernels as its image. Throws PlanError if it is not valid.
  std::shared_ptr<const plan::PlanT> finish();

  plan::PlanT plan;

private:
  uint32_t kernel(const std::string &name, int64_t extent, const std::vector<uint32_t> &buffers);
  uint32_t add(const std::string &name, std::unique_ptr<plan::CommandT> command,
               std::vector<plan::Wait> waits, uint32_t lane);

  std::map<std::pair<std::string, int64_t>, uint32_t> kernels;
};

/// Waits for the command on the same rank, or on all members of a communicator.
plan::Wait after(uint32_t command);
plan::Wait afterMembers(uint32_t command, uint32_t communicator = 0);

std::string devices(uint32_t count);

} // namespace epl::runtime::test

#endif // EPL_TEST_UNIT_EXECUTOR_TESTPLAN_H
