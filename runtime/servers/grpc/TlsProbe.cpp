#include "runtime/servers/grpc/TlsProbe.h"

#include <cerrno>
#include <cstddef>
#include <memory>
#include <netdb.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <span>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace epl::runtime::servers {
namespace {

using std::chrono::milliseconds;

class Socket {
public:
  explicit Socket(int number) : number(number) {}
  ~Socket() {
    if (number >= 0)
      close(number);
  }
  Socket(const Socket &) = delete;

  /// Whether one of some events, or an error, comes in time.
  bool await(short events, milliseconds patience) const {
    pollfd polled = {number, events, 0};
    return poll(&polled, 1, int(patience.count())) == 1;
  }

  const int number;
};

} // namespace

/// What a client of TLS says first: a ClientHello, as OpenSSL writes it.
static std::vector<std::byte> firstWords() {
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  std::unique_ptr<SSL, decltype(&SSL_free)> client(SSL_new(context.get()), SSL_free);
  if (!client) // for lack of memory
    return {};
  BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
  SSL_set_bio(client.get(), in, out); // which are its own from here
  SSL_connect(client.get());          // waits for an answer that does not come
  char *data = nullptr;
  long size = BIO_get_mem_data(out, &data);
  auto bytes = std::as_bytes(std::span(data, size_t(size)));
  ERR_clear_error();
  return {bytes.begin(), bytes.end()};
}

static bool connectTo(const Socket &socket, const addrinfo &info, milliseconds patience) {
  if (connect(socket.number, info.ai_addr, info.ai_addrlen) == 0)
    return true;
  int error = 0;
  socklen_t size = sizeof(error);
  return errno == EINPROGRESS && socket.await(POLLOUT, patience) &&
         getsockopt(socket.number, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

/// A record of TLS begins with its kind and the version 3.
static bool isAnsweredByTls(const Socket &socket, std::span<const std::byte> words, milliseconds patience) {
  constexpr unsigned char kAlert = 21, kHandshake = 22, kVersion = 3;
  unsigned char answer[2];
  return send(socket.number, words.data(), words.size(), MSG_NOSIGNAL) == ssize_t(words.size()) &&
         socket.await(POLLIN, patience) &&
         recv(socket.number, answer, sizeof(answer), 0) == ssize_t(sizeof(answer)) &&
         (answer[0] == kAlert || answer[0] == kHandshake) && answer[1] == kVersion;
}

bool answersByTls(const Address &address, milliseconds patience) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_flags = AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found) != 0)
    return false;
  std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  for (const addrinfo *info = found; info; info = info->ai_next) {
    Socket socket(::socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.number >= 0 && connectTo(socket, *info, patience))
      return isAnsweredByTls(socket, firstWords(), patience);
  }
  return false;
}

} // namespace epl::runtime::servers
