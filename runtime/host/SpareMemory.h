// Memory that is used again.
#ifndef EPL_RUNTIME_HOST_SPAREMEMORY_H
#define EPL_RUNTIME_HOST_SPAREMEMORY_H

#include "runtime/host/Memory.h"

#include <memory>
#include <mutex>
#include <vector>

namespace epl::runtime {

/// Large blocks of memory that are taken again and again: to have the system map and clear new pages takes as
/// long as to copy them. Some that nobody has any more are kept for who comes next. Blocks may outlive this,
/// and any thread may let go of them.
class SpareMemory {
public:
  /// Keeps at most so many blocks.
  explicit SpareMemory(size_t most) : spares(std::make_shared<Spares>()) { spares->most = most; }

  /// A block of at least so many bytes, which holds anything.
  std::shared_ptr<Memory> take(size_t bytes);

  /// How many bytes a block should have that is to hold so many: of a large one up to an eighth more, so that
  /// it is large enough for who needs somewhat more next time.
  static size_t roomFor(size_t bytes);

private:
  struct Spares {
    std::mutex mutex;
    size_t most = 0;
    std::vector<std::unique_ptr<Memory>> blocks; // the last one that came back is the last one here
  };

  static void giveBack(Spares &spares, std::unique_ptr<Memory> block);

  std::shared_ptr<Spares> spares;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_HOST_SPAREMEMORY_H
