// The blocks of all variables, each with its server.

#ifndef EPL_RUNTIME_SERVERS_MODEL_PLACEMENT_H
#define EPL_RUNTIME_SERVERS_MODEL_PLACEMENT_H

#include "runtime/servers/model/Dispatch.h"
#include "runtime/servers/model/Slices.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace epl::runtime::servers {

/// A tensor that servers are to hold: a parameter, of whose gradient the blocks are the same.
struct Variable {
  std::string name;
  std::vector<int64_t> shape;
  bool sliced = true; ///< whether it may be cut: its update is one of each row alone
};

/// How variables are cut. The names are those of Fluid's configuration.
struct SliceOptions {
  uint32_t servers = 1;
  bool sliceVarUp = true;       ///< false: each variable is one block
  uint64_t minBlockSize = 8192; ///< in elements, at least 1
};

/// A block of a variable and where it is.
struct PlacedBlock {
  std::string name; ///< `p.block0`; `p` if the variable is one block
  Slice slice;
  std::vector<int64_t> shape;
  uint32_t server;

  bool operator==(const PlacedBlock &) const = default;
};

/// What block `index` of the `count` of a variable is called.
std::string blockName(const std::string &variable, size_t index, size_t count);

/// The blocks of each variable. They go to the dispatcher variable after variable, in the order given; it is
/// reset before and behind. A server may get none. Throws Error for 0 servers, a bad shape, and for a
/// dispatcher that names a server that is not there, or too few.
std::vector<std::vector<PlacedBlock>> placeVariables(std::span<const Variable> variables,
                                                     const SliceOptions &options, Dispatcher &dispatcher);

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_MODEL_PLACEMENT_H
