// What this process reads of a batch.
#ifndef EPL_RUNTIME_SESSION_LOCALPART_H
#define EPL_RUNTIME_SESSION_LOCALPART_H

#include "runtime/session/Slots.h"

#include <map>

namespace epl::runtime {

/// The rows of an argument that the ranks which are here read, along one dimension, and where these find
/// their blocks in a tensor of those rows alone. Processes that share a split read the same rows.
class LocalPart {
public:
  /// `slot` has the dimension `dim`. Throws Error if what ranks read of it is in no boxes.
  LocalPart(const LoadedPlan &plan, const Slots &slots, size_t slot, size_t dim);

  /// The rows: from the first to behind the last that anybody here reads; none if nobody does.
  size_t begin() const { return first; }
  size_t end() const { return last; }

  /// Where the ranks of a program that reads the slot find their blocks.
  const SlotLayout &layout(uint32_t part) const { return layouts.at(part); }

private:
  size_t first = 0, last = 0;
  std::map<uint32_t, SlotLayout> layouts;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_SESSION_LOCALPART_H
