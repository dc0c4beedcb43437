// A process at the other end of a stream, for tests that end it.
//   EplStreamPeer listen ADDRESS      prints where it listens, or why not, and sends all frames back
//   EplStreamPeer connect ADDRESS     connects, sends one frame, prints a line when one has come
#include "runtime/servers/OpenTransport.h"

#include <iostream>
#include <unistd.h>

using namespace epl::runtime::servers;

namespace {

struct Echo : StreamReader {
  std::unique_ptr<Stream> stream;
  void received(std::span<const std::byte> head, const Payload &payload) override {
    auto bytes = std::make_shared<std::vector<std::byte>>(payload.size());
    payload.copyTo(*bytes);
    stream->send({{head.begin(), head.end()}, *bytes, bytes});
  }
  void closed(const Ending &) override {}
};

struct Printer : StreamReader {
  void received(std::span<const std::byte>, const Payload &) override { std::cout << "came" << std::endl; }
  void closed(const Ending &) override {}
};

} // namespace

static void run(const std::string &role, const std::string &address) {
  std::shared_ptr<StreamTransport> transport = openStreamTransport();
  std::unique_ptr<Listener> listener;
  std::unique_ptr<Stream> stream;
  if (role == "listen") {
    auto accept = [](std::unique_ptr<Stream> stream) {
      auto echo = std::make_shared<Echo>();
      echo->stream = std::move(stream);
      return echo;
    };
    listener = transport->listen(address, accept, {});
    std::cout << listener->address() << std::endl;
  } else {
    stream = transport->connect(address, std::make_shared<Printer>(), {});
    stream->send({std::vector<std::byte>(1)});
  }
  alarm(60); // whoever started it may be gone
  while (true)
    pause();
}

int main(int argc, char **argv) try {
  if (argc == 3)
    run(argv[1], argv[2]);
  return 1;
} catch (const std::exception &error) {
  std::cout << error.what() << std::endl;
  return 1;
}
