// What an operation of gRPC is known by.
#ifndef EPL_RUNTIME_SERVERS_GRPC_TAG_H
#define EPL_RUNTIME_SERVERS_GRPC_TAG_H

#include <functional>
#include <memory>

namespace epl::runtime::servers {

/// What is done when an operation is over; `ok` is gRPC's. It holds what the operation needs.
using Done = std::function<void(bool ok)>;

/// A tag for one operation, whose completion is one call of `complete`.
inline void *tagOf(Done done) { return new Done(std::move(done)); }

inline void complete(void *tag, bool ok) {
  std::unique_ptr<Done> done(static_cast<Done *>(tag));
  (*done)(ok);
}

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_GRPC_TAG_H
