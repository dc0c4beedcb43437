// A completion queue of gRPC, the threads that take from it, and the ends of streams that are on it.
#ifndef EPL_RUNTIME_SERVERS_GRPC_QUEUE_H
#define EPL_RUNTIME_SERVERS_GRPC_QUEUE_H

#include <condition_variable>
#include <functional>
#include <grpcpp/completion_queue.h>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace epl::runtime::servers {

class End;

class Queue {
public:
  Queue(std::unique_ptr<grpc::CompletionQueue> completions, unsigned threads);
  /// After `drain`.
  ~Queue();
  Queue(const Queue &) = delete;

  /// To start operations on, by ends that have entered and not left.
  grpc::CompletionQueue *completions() { return queue.get(); }

  /// An end is here, from before its first operation until after its last one. False if `drain` has begun.
  bool enter(const std::shared_ptr<End> &end);
  void leave(End &end);

  /// Lets no end enter any more, cancels all with a reason, does `thenDo`, waits until they have left, and
  /// ends the threads. Not in one of the threads.
  void drain(const std::string &why, const std::function<void()> &thenDo = [] {});

  /// Whether the calling thread is one of the queue's, so that waiting for them would not end.
  bool isOwnThread() const;

private:
  void run();

  std::unique_ptr<grpc::CompletionQueue> queue;
  std::mutex mutex;
  std::condition_variable left;
  std::set<std::shared_ptr<End>> ends;
  bool isDraining = false;
  std::vector<std::thread> threads;
};

/// Does what waits for a queue's threads: here, or, in one of them, in a thread of its own.
void outsideOf(const Queue &queue, std::function<void()> work);

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_GRPC_QUEUE_H
