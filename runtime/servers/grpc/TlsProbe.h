// Whether who listens at an address expects TLS.
#ifndef EPL_RUNTIME_SERVERS_GRPC_TLSPROBE_H
#define EPL_RUNTIME_SERVERS_GRPC_TLSPROBE_H

#include "runtime/servers/grpc/Address.h"

#include <chrono>

namespace epl::runtime::servers {

/// Whether the first words of TLS are answered by TLS: a handshake or an alert. Waits for the connection, and
/// for the answer, as long as `patience` each. False if nobody is there.
bool answersByTls(const Address &address, std::chrono::milliseconds patience);

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_GRPC_TLSPROBE_H
