// Settings of gRPC for both ends, which must fit one another.
#ifndef EPL_RUNTIME_SERVERS_GRPC_SETTINGS_H
#define EPL_RUNTIME_SERVERS_GRPC_SETTINGS_H

#include "runtime/servers/Stream.h"

#include <utility>

namespace epl::runtime::servers {

/// Names of channel arguments, and their values.
using Settings = std::vector<std::pair<const char *, int>>;

Settings settingsOf(const StreamOptions &options);
Settings settingsOfConnecting();
Settings settingsOfListening();

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_GRPC_SETTINGS_H
