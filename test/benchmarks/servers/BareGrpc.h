// A bidirectional stream written directly with grpc++, as code that is generated for a service would be.
#ifndef EPL_TEST_BENCHMARKS_SERVERS_BAREGRPC_H
#define EPL_TEST_BENCHMARKS_SERVERS_BAREGRPC_H

#include <cstddef>
#include <memory>
#include <span>

namespace epl::benchmark {

/// When a server answers: what has come, as it comes; or all, when all has come.
enum class Answers { atOnce, atTheEnd };

/// A server on the loopback that answers with bytes, and a client that is connected to it.
class BareGrpc {
public:
  /// The server has a tensor of so many bytes: what comes lands there, and what goes back is from there.
  explicit BareGrpc(size_t size);
  ~BareGrpc();

  /// Sends bytes in chunks, and takes as many as `back` has, which is not more than the server's tensor.
  void exchange(std::span<const std::byte> there, std::span<std::byte> back, size_t chunk,
                Answers answers = Answers::atOnce);

private:
  struct Ends;
  std::unique_ptr<Ends> ends;
};

} // namespace epl::benchmark

#endif // EPL_TEST_BENCHMARKS_SERVERS_BAREGRPC_H
