#include "runtime/servers/grpc/Queue.h"

#include "runtime/host/Thread.h"
#include "runtime/servers/grpc/End.h"

namespace epl::runtime::servers {

/// The queue whose thread this is.
static thread_local const Queue *ownQueue = nullptr;

Queue::Queue(std::unique_ptr<grpc::CompletionQueue> completions, unsigned numThreads)
    : queue(std::move(completions)) {
  BlockedSignals blocked; // threads take the mask over
  for (unsigned i = 0; i < numThreads; ++i)
    threads.emplace_back([this] { run(); });
}

Queue::~Queue() = default;

void Queue::run() {
  ownQueue = this;
  void *tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok))
    complete(tag, ok);
}

bool Queue::enter(const std::shared_ptr<End> &end) {
  std::lock_guard lock(mutex);
  if (!isDraining)
    ends.insert(end);
  return !isDraining;
}

void Queue::leave(End &end) {
  std::shared_ptr<End> last = end.shared_from_this(); // outlives the lock
  std::lock_guard lock(mutex);
  ends.erase(last);
  left.notify_all();
}

void Queue::drain(const std::string &why, const std::function<void()> &thenDo) {
  std::set<std::shared_ptr<End>> open;
  {
    std::lock_guard lock(mutex);
    isDraining = true;
    open = ends;
  }
  for (const std::shared_ptr<End> &end : open)
    end->cancel(why);
  open.clear();
  thenDo();
  {
    std::unique_lock lock(mutex);
    left.wait(lock, [&] { return ends.empty(); });
  }
  queue->Shutdown();
  for (std::thread &thread : threads)
    thread.join();
}

bool Queue::isOwnThread() const { return ownQueue == this; }

void outsideOf(const Queue &queue, std::function<void()> work) {
  if (queue.isOwnThread())
    std::thread(std::move(work)).detach();
  else
    work();
}

} // namespace epl::runtime::servers
