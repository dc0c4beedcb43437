// The plugin for gRPC with a fault, for test/python/test_server_kills.py: EPL_GRPC names this library, and
// EPL_TEST_FAULT, such as "SIGKILL sends Push 2", has the process kill or stop itself when it has sent, or
// before it gets, the frame of this kind and number. All else is that of the plugin, which lies beside it.

#include "runtime/servers/grpc/Plugin.h"
#include "runtime/servers/protocol/Frames.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <unistd.h>

namespace epl::runtime::servers::test {
namespace {

/// What happens to this process, and when.
class Fault {
public:
  static std::shared_ptr<Fault> fromEnvironment() {
    const char *text = std::getenv("EPL_TEST_FAULT");
    return text ? std::make_shared<Fault>(text) : nullptr;
  }

  explicit Fault(const std::string &text) {
    std::istringstream words(text);
    std::string signalName, direction;
    words >> signalName >> direction >> kind >> number;
    if (!words || (signalName != "SIGKILL" && signalName != "SIGSTOP") ||
        (direction != "sends" && direction != "gets"))
      throw std::runtime_error("EPL_TEST_FAULT must be like \"SIGKILL sends Push 2\", found \"" + text +
                               "\"");
    signal = signalName == "SIGKILL" ? SIGKILL : SIGSTOP;
    isSent = direction == "sends";
  }

  /// Whether a frame is the one at which it happens.
  bool isAt(bool sent, std::span<const std::byte> head, size_t payloadBytes) {
    if (sent != isSent)
      return false;
    Decoded decoded = decode(head, payloadBytes);
    const Message *message = std::get_if<Message>(&decoded);
    return message && messageName(*message) == kind && ++seen == number;
  }

  void happen() const { kill(getpid(), signal); }

private:
  int signal = 0;
  bool isSent = false;
  std::string kind;
  unsigned number = 0;
  std::atomic<unsigned> seen = 0;
};

class FaultyReader final : public StreamReader {
public:
  FaultyReader(std::shared_ptr<Fault> fault, std::shared_ptr<StreamReader> reader)
      : fault(std::move(fault)), reader(std::move(reader)) {}

  void opened() noexcept override { reader->opened(); }
  void received(std::span<const std::byte> head, const Payload &payload) override {
    if (fault->isAt(/*sent=*/false, head, payload.size()))
      fault->happen();
    reader->received(head, payload);
  }
  void closed(const Ending &ending) override { reader->closed(ending); }

private:
  std::shared_ptr<Fault> fault;
  std::shared_ptr<StreamReader> reader;
};

class FaultyStream final : public Stream {
public:
  FaultyStream(std::shared_ptr<Fault> fault, std::unique_ptr<Stream> stream)
      : fault(std::move(fault)), stream(std::move(stream)) {}

  void send(Frame frame) override {
    bool happens = fault->isAt(/*sent=*/true, frame.head, frame.payload.size());
    stream->send(std::move(frame));
    if (!happens)
      return;
    // Threads that would send it may wait for a lock that the caller has.
    for (int waits = 0; stream->queuedBytes() > 0 && waits < 200; ++waits)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    fault->happen();
  }
  size_t queuedBytes() const override { return stream->queuedBytes(); }
  void close() override { stream->close(); }
  void cancel() noexcept override { stream->cancel(); }
  std::string peer() const override { return stream->peer(); }

private:
  std::shared_ptr<Fault> fault;
  std::unique_ptr<Stream> stream;
};

class FaultyTransport final : public StreamTransport {
public:
  FaultyTransport(std::shared_ptr<Fault> fault, std::shared_ptr<StreamTransport> transport)
      : fault(std::move(fault)), transport(std::move(transport)) {}

  std::unique_ptr<Stream> connect(const std::string &address, std::shared_ptr<StreamReader> reader,
                                  const StreamOptions &options) override {
    auto faulty = std::make_shared<FaultyReader>(fault, std::move(reader));
    return std::make_unique<FaultyStream>(fault, transport->connect(address, std::move(faulty), options));
  }

  std::unique_ptr<Listener> listen(const std::string &address, AcceptStream accept,
                                   const StreamOptions &options) override {
    auto wrapping = [fault = fault, accept = std::move(accept)](std::unique_ptr<Stream> stream) {
      std::shared_ptr<StreamReader> reader = accept(std::make_unique<FaultyStream>(fault, std::move(stream)));
      return reader ? std::make_shared<FaultyReader>(fault, std::move(reader)) : nullptr;
    };
    return transport->listen(address, wrapping, options);
  }

private:
  std::shared_ptr<Fault> fault;
  std::shared_ptr<StreamTransport> transport;
};

/// The plugin's own function.
grpc_plugin::OpenFunction openPlugin() {
  Dl_info own;
  if (!dladdr(reinterpret_cast<void *>(&openPlugin), &own))
    throw std::runtime_error("the library with a fault does not know where it is");
  auto path = std::filesystem::path(own.dli_fname).replace_filename(grpc_plugin::kPluginFile);
  void *plugin = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void *function = plugin ? dlsym(plugin, grpc_plugin::kPluginFunction) : nullptr;
  if (!function)
    throw std::runtime_error(dlerror());
  return reinterpret_cast<grpc_plugin::OpenFunction>(function);
}

} // namespace
} // namespace epl::runtime::servers::test

extern "C" __attribute__((visibility("default"))) void
eplOpenGrpcTransport(unsigned threads, std::shared_ptr<epl::runtime::servers::StreamTransport> &opened) {
  using namespace epl::runtime::servers::test;
  openPlugin()(threads, opened);
  if (std::shared_ptr<Fault> fault = Fault::fromEnvironment())
    opened = std::make_shared<FaultyTransport>(std::move(fault), std::move(opened));
}
