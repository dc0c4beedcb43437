// Addresses of processes: "host:port".
#ifndef EPL_RUNTIME_SERVERS_GRPC_ADDRESS_H
#define EPL_RUNTIME_SERVERS_GRPC_ADDRESS_H

#include <cstdint>
#include <string>

namespace epl::runtime::servers {

struct Address {
  std::string host; ///< a name, an address of IPv4, or one of IPv6 without brackets
  uint16_t port;

  /// Reads "host:port"; an address of IPv6 stands in brackets. Throws Error that says what is wrong with it.
  /// Port 0, for one that is free, is for those who listen.
  static Address parse(const std::string &text, bool listens);

  std::string str() const;

  /// Whether only processes of this machine reach it, as its text says: names but "localhost" may mean
  /// others.
  bool isLoopback() const;
};

/// Throws Error if no socket can be bound to the address, with the reason: a port that is taken, an address
/// of another machine. gRPC says of these only that there is one.
void checkCanListen(const Address &address);

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_GRPC_ADDRESS_H
