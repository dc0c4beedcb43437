// A bidirectional stream written directly with grpc++, as code that is generated for a service would be.
#ifndef EPL_TEST_BENCHMARKS_SERVERS_BAREGRPC_H
#define EPL_TEST_BENCHMARKS_SERVERS_BAREGRPC_H

#include <cstddef>
#include <memory>
#include <span>

namespace epl::benchmark {

/// A server on the loopback that sends all that comes back, and a client that is connected to it.
class BareGrpc {
public:
  /// The server has a tensor of so many bytes, through which what comes goes back.
  explicit BareGrpc(size_t size);
  ~BareGrpc();

  /// Sends the bytes in chunks, and takes those that come back to the same places of `back`.
  void exchange(std::span<const std::byte> there, std::span<std::byte> back, size_t chunk);

private:
  struct Ends;
  std::unique_ptr<Ends> ends;
};

} // namespace epl::benchmark

#endif // EPL_TEST_BENCHMARKS_SERVERS_BAREGRPC_H
