// What callers have of an end.
#ifndef EPL_RUNTIME_SERVERS_GRPC_HANDLE_H
#define EPL_RUNTIME_SERVERS_GRPC_HANDLE_H

#include "runtime/servers/grpc/End.h"

#include <new>

namespace epl::runtime::servers {

/// Tells the process that used gRPC first from those forked off it, which have none of gRPC's threads.
class OwnProcess {
public:
  OwnProcess();
  bool isForked() const;
  /// Throws Error in a process that was forked off.
  void check() const;
};

/// For destructors in a forked process, where nothing of gRPC may be touched: what is there stays.
template <typename T> void leaveBehind(std::shared_ptr<T> &object) {
  new (std::nothrow) std::shared_ptr<T>(std::move(object));
}

class Handle : public Stream {
public:
  explicit Handle(std::shared_ptr<End> end) : end(std::move(end)) {}
  ~Handle() override;

  void send(Frame frame) override;
  size_t queuedBytes() const override;
  void close() override;
  void cancel() noexcept override;
  std::string peer() const override { return end->peer(); }

private:
  std::shared_ptr<End> end;
  OwnProcess process;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_GRPC_HANDLE_H
