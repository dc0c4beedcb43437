#include "runtime/plan/model/Mesh.h"

#include <algorithm>
#include <cassert>

namespace epl::runtime {

uint64_t elementBytes(plan::ElementType type) {
  switch (type) {
  case plan::ElementType::i1:
  case plan::ElementType::i8:
    return 1;
  case plan::ElementType::i16:
  case plan::ElementType::f16:
  case plan::ElementType::bf16:
    return 2;
  case plan::ElementType::i32:
  case plan::ElementType::f32:
    return 4;
  case plan::ElementType::i64:
  case plan::ElementType::f64:
    return 8;
  }
  return 0;
}

uint64_t tensorBytes(plan::ElementType type, const std::vector<int64_t> &shape) {
  uint64_t bytes = elementBytes(type);
  for (int64_t extent : shape) {
    assert(extent >= 0 && "a tensor's extents are not negative");
    bytes *= uint64_t(extent);
  }
  return bytes;
}

ElementRange partOf(int64_t count, uint32_t index, uint32_t members) {
  assert(count >= 0 && index < members && "a part of one of the members");
  // count * i / members without overflow. Parts that start at whole cache lines of the wider types keep two
  // members from writing one line.
  auto cut = [=](int64_t i) {
    if (i == members)
      return count;
    int64_t exact = count / members * i + count % members * i / members;
    return exact / 16 * 16;
  };
  return {cut(index), cut(int64_t(index) + 1)};
}

Mesh::Mesh(const plan::PlanT &plan) {
  for (const auto &axis : plan.axes)
    axes.push_back({axis->size, 1});
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    axis->stride = deviceCount;
    deviceCount *= axis->size;
  }
  for (const auto &communicator : plan.communicators) {
    std::vector<Digit> &digits = communicators.emplace_back();
    for (const std::string &name : communicator->axes)
      for (size_t i = 0; i < axes.size(); ++i)
        if (plan.axes[i]->name == name)
          digits.push_back(axes[i]);
    assert(digits.size() == communicator->axes.size() && "a communicator's axes are the plan's");
  }
}

std::vector<int64_t> Mesh::coordinates(uint32_t rank) const {
  assert(rank < deviceCount && "a rank of the mesh");
  std::vector<int64_t> result;
  result.reserve(axes.size());
  for (const Digit &axis : axes)
    result.push_back(rank / axis.stride % axis.size);
  return result;
}

uint32_t Mesh::rankAt(const std::vector<int64_t> &coordinates) const {
  assert(coordinates.size() == axes.size() && "a coordinate for each axis");
  uint32_t rank = 0;
  for (size_t i = 0; i < axes.size(); ++i)
    rank += uint32_t(coordinates[i]) * axes[i].stride;
  return rank;
}

uint32_t Mesh::memberCount(uint32_t communicator) const {
  assert(communicator < communicators.size() && "a communicator of the plan");
  uint32_t count = 1;
  for (const Digit &digit : communicators[communicator])
    count *= digit.size;
  return count;
}

uint32_t Mesh::memberIndex(uint32_t communicator, uint32_t rank) const {
  assert(communicator < communicators.size() && rank < deviceCount &&
         "a communicator and a rank of the plan");
  uint32_t index = 0;
  for (const Digit &digit : communicators[communicator])
    index = index * digit.size + rank / digit.stride % digit.size;
  return index;
}

std::vector<uint32_t> Mesh::members(uint32_t communicator, uint32_t rank) const {
  assert(communicator < communicators.size() && rank < deviceCount &&
         "a communicator and a rank of the plan");
  const std::vector<Digit> &digits = communicators[communicator];
  for (const Digit &digit : digits)
    rank -= rank / digit.stride % digit.size * digit.stride;
  std::vector<uint32_t> ranks{rank};
  for (const Digit &digit : digits) {
    std::vector<uint32_t> next;
    for (uint32_t base : ranks)
      for (uint32_t i = 0; i < digit.size; ++i)
        next.push_back(base + i * digit.stride);
    ranks = std::move(next);
  }
  return ranks;
}

std::vector<int64_t> localShape(const plan::PlanT &plan, const plan::SlotT &slot) {
  std::vector<int64_t> shape = slot.shape;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    for (const std::string &name : slot.sharding[dim]->axes)
      for (const auto &axis : plan.axes)
        if (axis->name == name) {
          assert(shape[dim] % axis->size == 0 && "a sharding divides its dimension");
          shape[dim] /= axis->size;
        }
  return shape;
}

uint64_t localBytes(const plan::PlanT &plan, const plan::SlotT &slot) {
  return tensorBytes(slot.type, localShape(plan, slot));
}

} // namespace epl::runtime
