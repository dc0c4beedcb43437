#include "Comparison.h"

#include "Element.h"

#include "runtime/Error.h"
#include "runtime/plan/model/Outside.h"

#include <cmath>
#include <cstring>

namespace epl::runtime::tool {

static std::string describe(const plan::SlotT &slot) {
  return std::string(plan::EnumNameSlotRole(slot.role)) + " \"" + slot.name + "\" " +
         TensorType::of(slot).str();
}

Comparison::Comparison(const plan::PlanT &plan, const plan::PlanT &reference, Tolerance tolerance)
    : plan(plan), tolerance(tolerance), differences(plan.slots.size()) {
  if (plan.slots.size() != reference.slots.size())
    throw Error("the reference has " + std::to_string(reference.slots.size()) +
                " arguments and results, expected " + std::to_string(plan.slots.size()));
  for (size_t slot = 0; slot < plan.slots.size(); ++slot) {
    std::string expected = describe(*plan.slots[slot]), found = describe(*reference.slots[slot]);
    if (expected != found || plan.slots[slot]->updates != reference.slots[slot]->updates)
      throw Error("the reference is of another step: its slot " + std::to_string(slot) + " is " + found +
                  ", expected " + expected);
  }
}

void Comparison::add(size_t slot, int step, const HostTensor &found, const HostTensor &expected) {
  // Equal bits are the common case, and the only exact one for large integers.
  if (found.type.bytes() == 0 || std::memcmp(found.data, expected.data, found.type.bytes()) == 0)
    return;
  Difference &worst = differences[slot];
  for (size_t i = 0, count = found.type.bytes() / elementBytes(found.type.element); i < count; ++i) {
    double a = loadElement(found, i), b = loadElement(expected, i);
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    double difference = std::isfinite(a) && std::isfinite(b) ? std::abs(a - b) : INFINITY;
    if (!(difference <= tolerance.absolute + tolerance.relative * std::abs(b)) || std::isinf(difference))
      ++worst.beyond;
    if (difference > worst.largest)
      worst = {difference, step, i, a, b, worst.beyond};
  }
}

bool Comparison::report(std::ostream &stream) const {
  bool good = true;
  for (size_t slot = 0; slot < plan.slots.size(); ++slot) {
    if (!isResult(*plan.slots[slot]))
      continue;
    const Difference &worst = differences[slot];
    stream << "\"" << plan.slots[slot]->name << "\": ";
    if (worst.step == 0)
      stream << "equal";
    else
      stream << "largest difference " << worst.largest << " in step " << worst.step << " at element "
             << worst.element << " (found " << worst.found << ", expected " << worst.expected << ")";
    if (worst.beyond != 0)
      stream << ", " << worst.beyond << " elements beyond the tolerance";
    stream << '\n';
    good = good && worst.beyond == 0;
  }
  return good;
}

} // namespace epl::runtime::tool
