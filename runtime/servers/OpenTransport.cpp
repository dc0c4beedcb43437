#include "runtime/servers/OpenTransport.h"

#include "runtime/Error.h"
#include "runtime/device/cpu/Library.h"
#include "runtime/servers/grpc/Plugin.h"

namespace epl::runtime::servers {

std::shared_ptr<StreamTransport> openStreamTransport(unsigned threads) {
  if (threads == 0)
    throw Error("a transport with 0 threads, expected at least 1");
  std::optional<Library> plugin = Library::find("plugin for gRPC", "EPL_GRPC", grpc_plugin::kPluginFile, {});
  if (!plugin)
    throw Error(std::string("this installation has no plugin for gRPC, ") + grpc_plugin::kPluginFile);
  grpc_plugin::OpenFunction open = nullptr;
  plugin->bind(grpc_plugin::kPluginFunction, open);
  std::shared_ptr<StreamTransport> opened;
  open(threads, opened);
  return opened;
}

} // namespace epl::runtime::servers
