// What the two ends of a stream prove to one another.
#ifndef EPL_RUNTIME_SERVERS_GRPC_SECRETS_H
#define EPL_RUNTIME_SERVERS_GRPC_SECRETS_H

#include "runtime/servers/Stream.h"
#include "runtime/servers/grpc/Address.h"

namespace epl::runtime::servers {

/// The contents of the files that StreamOptions name.
struct Secrets {
  std::string token, ca, certificate, key;

  bool hasTls() const { return !ca.empty() || !certificate.empty(); }
};

/// Reads the files of an end that listens at, or connects to, an address. Throws Error if options lack or
/// do not fit one another, or a file is not what it should be: names the option.
Secrets readSecrets(const StreamOptions &options, const Address &address, bool listens);

/// Compares a token with the right one in a time that does not tell how much of it is right.
bool isEqualSecret(const std::string &found, const std::string &expected);

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_GRPC_SECRETS_H
