// Streams over gRPC, for a runtime that links nothing of it.
#ifndef EPL_RUNTIME_SERVERS_OPENTRANSPORT_H
#define EPL_RUNTIME_SERVERS_OPENTRANSPORT_H

#include "runtime/servers/Stream.h"

namespace epl::runtime::servers {

/// A transport of the plugin for gRPC, the library that the environment variable EPL_GRPC names, or
/// libepl_grpc.so beside the other libraries of the runtime. `threads`, at least 1: how many move frames and
/// call readers, for all streams that connect together, and for each listener. Throws Error if there is no
/// plugin.
std::shared_ptr<StreamTransport> openStreamTransport(unsigned threads = 2);

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_OPENTRANSPORT_H
