// Streams between the threads of one process: for a worker that has its server with it, and for tests.
#ifndef EPL_RUNTIME_SERVERS_INPROC_INPROCSTREAMS_H
#define EPL_RUNTIME_SERVERS_INPROC_INPROCSTREAMS_H

#include "runtime/servers/Stream.h"

namespace epl::runtime::servers {

class InprocHub;

/// Streams of this process. Addresses are any names; a port of 0 stays 0. Who connects must find somebody who
/// listens. One thread calls all readers. Options are of no meaning: nothing leaves the process.
class InprocStreams final : public StreamTransport {
public:
  InprocStreams();
  ~InprocStreams() override;

  std::unique_ptr<Stream> connect(const std::string &address, std::shared_ptr<StreamReader> reader,
                                  const StreamOptions &options) override;
  std::unique_ptr<Listener> listen(const std::string &address, AcceptStream accept,
                                   const StreamOptions &options) override;

private:
  std::shared_ptr<InprocHub> hub;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_INPROC_INPROCSTREAMS_H
