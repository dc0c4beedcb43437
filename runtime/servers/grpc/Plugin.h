// What the runtime knows of the plugin for gRPC: one function.
#ifndef EPL_RUNTIME_SERVERS_GRPC_PLUGIN_H
#define EPL_RUNTIME_SERVERS_GRPC_PLUGIN_H

#include "runtime/servers/Stream.h"

namespace epl::runtime::servers::grpc_plugin {

/// The plugin's file, beside the other libraries of the runtime.
inline constexpr const char *kPluginFile = "libepl_grpc.so";
inline constexpr const char *kPluginFunction = "eplOpenGrpcTransport";

/// Makes a transport with so many threads for its streams, and as many for each listener.
using OpenFunction = void (*)(unsigned threads, std::shared_ptr<StreamTransport> &opened);

} // namespace epl::runtime::servers::grpc_plugin

#endif // EPL_RUNTIME_SERVERS_GRPC_PLUGIN_H
