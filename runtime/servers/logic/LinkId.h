// Streams of a worker to its servers.
#ifndef EPL_RUNTIME_SERVERS_LOGIC_LINKID_H
#define EPL_RUNTIME_SERVERS_LOGIC_LINKID_H

#include <cstdint>

namespace epl::runtime::servers {

/// A stream to a server: the first, second, ... that has been opened to it.
struct LinkId {
  uint32_t server, stream;

  bool operator==(const LinkId &) const = default;
};

/// The same as one number, and back.
inline uint64_t numberOf(LinkId link) { return uint64_t(link.server) << 32 | link.stream; }
inline LinkId linkOf(uint64_t number) { return {uint32_t(number >> 32), uint32_t(number)}; }

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_LOGIC_LINKID_H
