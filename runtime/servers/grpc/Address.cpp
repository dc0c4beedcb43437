#include "runtime/servers/grpc/Address.h"

#include "runtime/Error.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <optional>
#include <sys/socket.h>
#include <unistd.h>

namespace epl::runtime::servers {

static bool isIpv4(const std::string &host) {
  in_addr unused;
  return inet_pton(AF_INET, host.c_str(), &unused) == 1;
}

static bool isIpv6(const std::string &host) {
  in6_addr unused;
  return inet_pton(AF_INET6, host.c_str(), &unused) == 1;
}

/// Names have a letter: what has none would be an address of IPv4, and is not.
static bool isName(const std::string &host) {
  auto isLetter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  auto fits = [&](char c) {
    return isLetter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
  };
  return std::ranges::all_of(host, fits) && std::ranges::any_of(host, isLetter);
}

static std::optional<uint16_t> parsePort(const std::string &text, bool listens) {
  uint16_t port = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || (port == 0 && !listens))
    return std::nullopt;
  return port;
}

Address Address::parse(const std::string &text, bool listens) {
  auto wrong = [&](const std::string &expected) {
    return Error("the address \"" + text + "\": expected " + expected);
  };
  size_t colon = text.rfind(':');
  if (colon == std::string::npos)
    throw wrong("\"host:port\", found no port");
  std::string host = text.substr(0, colon);
  bool isBracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (isBracketed)
    host = host.substr(1, host.size() - 2);
  if (isBracketed ? !isIpv6(host) : !isIpv4(host) && !isName(host))
    throw wrong("the name of a host, an address like 10.0.0.1, or one like [::1] before the port, found \"" +
                text.substr(0, colon) + "\"");
  std::string digits = text.substr(colon + 1);
  std::optional<uint16_t> port = parsePort(digits, listens);
  if (!port)
    throw wrong(std::string("a port from ") + (listens ? "0" : "1") + " to 65535, found \"" + digits + "\"");
  return {host, *port};
}

std::string Address::str() const {
  bool isBracketed = host.find(':') != std::string::npos;
  return (isBracketed ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool Address::isLoopback() const {
  return host == "localhost" || host == "::1" || (isIpv4(host) && host.starts_with("127."));
}

/// Why a socket cannot be bound to an address: a number of errno, or 0.
static int errorOfBinding(const addrinfo &info) {
  int socket = ::socket(info.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0)
    return errno;
  int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)); // as gRPC: not for connections of before
  int error = bind(socket, info.ai_addr, info.ai_addrlen) == 0 ? 0 : errno;
  close(socket);
  return error;
}

/// A name may have several addresses, of which one is enough, but a port that is taken is so in all.
void checkCanListen(const Address &address) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  auto cannot = [&](const std::string &why) {
    return Error("cannot listen at " + address.str() + ": " + why);
  };
  if (int error = getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found))
    throw cannot(gai_strerror(error));
  std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  int last = 0;
  bool isBound = false;
  for (const addrinfo *info = found; info; info = info->ai_next) {
    int error = errorOfBinding(*info);
    if (error == EADDRINUSE)
      throw cannot("the port is taken by another program, or twice by this one");
    isBound |= error == 0;
    last = error ? error : last;
  }
  if (!isBound)
    throw cannot(std::strerror(last));
}

} // namespace epl::runtime::servers
