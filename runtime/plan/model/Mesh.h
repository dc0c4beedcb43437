// What the plan's mesh and types mean in numbers: ranks, coordinates, members of a communicator, the part of
// a collective that a member owns, bytes of a slot. Shared by the builder, the verifier and the executor.

#ifndef EPL_RUNTIME_PLAN_MODEL_MESH_H
#define EPL_RUNTIME_PLAN_MODEL_MESH_H

#include "runtime/plan/format/plan_generated.h"

#include <cstdint>
#include <vector>

namespace epl::runtime {

/// Bytes of one element; an i1 takes one byte.
uint64_t elementBytes(plan::ElementType type);

/// Bytes of a tensor. Needs extents that are not negative, and a product that fits.
uint64_t tensorBytes(plan::ElementType type, const std::vector<int64_t> &shape);

/// The elements [begin, end) of a collective over `count` elements that member `index` of `members` owns: cut
/// points are count * index / members, rounded down to a multiple of 16, and the last member's end is
/// `count`.
struct ElementRange {
  int64_t begin;
  int64_t end;
};
ElementRange partOf(int64_t count, uint32_t index, uint32_t members);

/// Ranks and communicators of a plan. Needs a plan whose axes and communicators are well formed.
class Mesh {
public:
  explicit Mesh(const plan::PlanT &plan);

  uint32_t devices() const { return deviceCount; }

  /// One coordinate for each axis of the plan, in order. What a kernel gets as
  /// axis_index.
  std::vector<int64_t> coordinates(uint32_t rank) const;

  /// The rank at coordinates as above.
  uint32_t rankAt(const std::vector<int64_t> &coordinates) const;

  /// How many members each instance of the communicator has.
  uint32_t memberCount(uint32_t communicator) const;

  /// The place of `rank` among the members of its instance of the communicator.
  uint32_t memberIndex(uint32_t communicator, uint32_t rank) const;

  /// The ranks of the instance of the communicator that `rank` belongs to, in member order.
  std::vector<uint32_t> members(uint32_t communicator, uint32_t rank) const;

  /// Whether `rank` is the member that `owner` names; each rank is if it is null.
  bool isOwner(const plan::Owner *owner, uint32_t rank) const {
    return !owner || memberIndex(owner->communicator(), rank) == owner->member();
  }

private:
  /// An axis as a digit of the rank: rank / stride % size.
  struct Digit {
    uint32_t size;
    uint32_t stride;
  };

  std::vector<Digit> axes;                       // of the plan
  std::vector<std::vector<Digit>> communicators; // the digits of each, the first axis major
  uint32_t deviceCount = 1;
};

/// The shape that each rank holds of a slot's tensor. Needs a sharding that divides.
std::vector<int64_t> localShape(const plan::PlanT &plan, const plan::SlotT &slot);

/// Bytes of a slot on each rank.
uint64_t localBytes(const plan::PlanT &plan, const plan::SlotT &slot);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_MESH_H
