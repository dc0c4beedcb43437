// A hub has one thread and a queue of calls of readers. So the order of a stream's frames is that of the
// queue, and a reader is called by one thread at a time.
#include "runtime/servers/inproc/InprocStreams.h"

#include "runtime/Error.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include <unistd.h>

namespace epl::runtime::servers {
namespace {

/// One end of a stream.
struct End {
  explicit End(std::string peer) : peer(std::move(peer)) {}

  const std::string peer;               // the other end's name
  std::shared_ptr<StreamReader> reader; // the hub's: null before there is one, and after its last call
  std::weak_ptr<End> other;             // set before either end is used
  std::atomic<bool> closed = false;     // nothing more is sent from here
  std::atomic<bool> broken = false;     // and what is queued is dropped
  std::atomic<bool> told = false;       // its reader knows that the stream is closed
  std::atomic<size_t> queuedBytes = 0;  // that were sent from here
};

using EndPointer = std::shared_ptr<End>;

/// Somebody who listens.
struct Door {
  AcceptStream accept;
  std::vector<std::weak_ptr<End>> ends; // of streams that were accepted; the hub's thread's
};

} // namespace

class InprocHub : public std::enable_shared_from_this<InprocHub> {
public:
  InprocHub() : process(getpid()), thread([this] { run(); }) {}
  ~InprocHub() { stop(); }

  /// Runs what is queued to its end, and nothing after that.
  void stop() {
    {
      std::scoped_lock lock(mutex);
      stopping = true;
    }
    changed.notify_all();
    if (thread.joinable() && !isHere())
      thread.join();
  }

  void checkProcess() const {
    if (getpid() != process)
      throw Error("a stream of the process that this one was forked off cannot be used here");
  }

  /// False if the hub has ended, and the task is none.
  bool post(std::function<void()> task) {
    {
      std::scoped_lock lock(mutex);
      if (ended)
        return false;
      tasks.push_back(std::move(task));
    }
    changed.notify_all();
    return true;
  }

  /// Gives an end the reader whom it calls from now on.
  void attach(const EndPointer &end, std::shared_ptr<StreamReader> reader) {
    std::scoped_lock lock(mutex);
    end->reader = std::move(reader);
  }

  /// Calls the reader of an end, if it still has one. In the hub's thread.
  template <typename Function> void call(const EndPointer &end, const Function &function) {
    std::shared_ptr<StreamReader> reader;
    {
      std::scoped_lock lock(mutex);
      if (!end->reader)
        return;
      reader = end->reader;
      current = end.get();
    }
    std::string fault;
    try {
      function(*reader);
    } catch (const std::exception &error) {
      fault = error.what();
    }
    reader = nullptr;
    {
      std::scoped_lock lock(mutex);
      current = nullptr;
    }
    changed.notify_all();
    if (!fault.empty())
      breakLink(end, fault);
  }

  /// Tells the reader of an end that nothing more comes. In the hub's thread.
  void tellClosed(const EndPointer &end, const std::string &why) {
    end->closed = end->told = true;
    call(end, [&](StreamReader &reader) { reader.closed({why}); });
    attach(end, nullptr);
  }

  /// Ends a stream at once; `why` is told to the end that does it.
  void breakLink(const EndPointer &end, const std::string &why) {
    end->closed = end->broken = true;
    EndPointer other = end->other.lock();
    if (other)
      other->closed = other->broken = true;
    post([self = shared_from_this(), end, other, why] {
      self->tellClosed(end, why);
      if (other)
        self->tellClosed(other, "the stream from " + other->peer + " broke");
    });
  }

  /// Waits until no call of the end's reader runs, and sees to it that none begins.
  void detach(const EndPointer &end) {
    std::unique_lock lock(mutex);
    end->reader = nullptr;
    if (!isHere())
      changed.wait(lock, [&] { return current != end.get(); });
  }

  bool isHere() const { return std::this_thread::get_id() == thread.get_id(); }

  std::shared_ptr<Door> doorAt(const std::string &address) {
    std::scoped_lock lock(mutex);
    auto found = doors.find(address);
    return found == doors.end() ? nullptr : found->second;
  }
  std::shared_ptr<Door> open(const std::string &address, AcceptStream accept) {
    std::scoped_lock lock(mutex);
    auto [place, isNew] = doors.try_emplace(address);
    if (!isNew)
      throw Error("somebody listens at \"" + address + "\" already");
    place->second = std::make_shared<Door>(Door{std::move(accept), {}});
    return place->second;
  }
  void shut(const std::string &address) {
    std::scoped_lock lock(mutex);
    doors.erase(address);
  }

private:
  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return stopping || !tasks.empty(); });
      if (tasks.empty()) {
        ended = true;
        return;
      }
      std::function<void()> task = std::move(tasks.front());
      tasks.pop_front();
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
    }
  }

  const pid_t process;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> tasks;
  std::map<std::string, std::shared_ptr<Door>> doors;
  const End *current = nullptr; // whose reader is called
  bool stopping = false, ended = false;
  std::thread thread; // the last member: it uses the others
};

namespace {

class InprocStream final : public Stream {
public:
  InprocStream(std::shared_ptr<InprocHub> hub, EndPointer end) : hub(std::move(hub)), end(std::move(end)) {}
  ~InprocStream() override {
    if (!end->told)
      hub->breakLink(end, "");
    hub->detach(end);
  }

  void send(Frame frame) override {
    hub->checkProcess();
    size_t size = frame.head.size() + frame.payload.size();
    if (size > kMaxFrame)
      throw Error("a frame has " + std::to_string(size) + " bytes, expected at most " +
                  std::to_string(kMaxFrame));
    EndPointer other = end->other.lock();
    if (end->closed || !other)
      return;
    end->queuedBytes += size;
    hub->post([hub = hub, end = end, other, size, frame = std::make_shared<Frame>(std::move(frame))] {
      if (!end->broken)
        hub->call(other, [&](StreamReader &reader) {
          reader.received(frame->head, Payload(std::span(&frame->payload, 1)));
        });
      end->queuedBytes -= size;
    });
  }

  size_t queuedBytes() const override { return end->queuedBytes; }

  void close() override {
    if (end->closed.exchange(true))
      return;
    hub->post([hub = hub, end = end] {
      EndPointer other = end->other.lock();
      if (other)
        hub->tellClosed(other, "");
      // What the other end had queued stands before this.
      hub->post([hub, end] { hub->tellClosed(end, ""); });
    });
  }

  void cancel() noexcept override {
    if (!end->broken)
      hub->breakLink(end, "the stream was cancelled");
  }

  std::string peer() const override { return end->peer; }

private:
  std::shared_ptr<InprocHub> hub;
  EndPointer end;
};

class InprocListener final : public Listener {
public:
  InprocListener(std::shared_ptr<InprocHub> hub, std::string name, std::shared_ptr<Door> door)
      : hub(std::move(hub)), name(std::move(name)), door(std::move(door)) {}
  ~InprocListener() override { stop(); }

  std::string address() const override { return name; }

  void stop() noexcept override {
    if (!door)
      return;
    hub->shut(name);
    // In the hub's thread, so that no stream is being accepted meanwhile.
    auto ended = std::make_shared<std::promise<void>>();
    bool isRunning = hub->post([hub = hub, door = door, ended] {
      for (const std::weak_ptr<End> &each : door->ends)
        if (EndPointer end = each.lock())
          hub->breakLink(end, "the listener was stopped");
      hub->post([ended] { ended->set_value(); }); // behind the calls that tell it
    });
    if (isRunning && !hub->isHere())
      ended->get_future().wait();
    door = nullptr;
  }

private:
  std::shared_ptr<InprocHub> hub;
  std::string name;
  std::shared_ptr<Door> door; // null once it is stopped
};

} // namespace

InprocStreams::InprocStreams() : hub(std::make_shared<InprocHub>()) {}
InprocStreams::~InprocStreams() { hub->stop(); }

std::unique_ptr<Stream> InprocStreams::connect(const std::string &address,
                                               std::shared_ptr<StreamReader> reader, const StreamOptions &) {
  hub->checkProcess();
  auto end = std::make_shared<End>(address), other = std::make_shared<End>("this process");
  hub->attach(end, std::move(reader));
  end->other = other;
  other->other = end;
  hub->post([hub = hub, address, end, other] {
    std::shared_ptr<Door> door = hub->doorAt(address);
    if (!door)
      return hub->tellClosed(end, "nobody listens at \"" + address + "\"");
    std::shared_ptr<StreamReader> accepted;
    std::string fault = "it was refused";
    try {
      accepted = door->accept(std::make_unique<InprocStream>(hub, other));
    } catch (const std::exception &error) {
      fault = error.what();
    }
    if (!accepted)
      return hub->tellClosed(end, address + ": " + fault);
    hub->attach(other, std::move(accepted));
    door->ends.push_back(other);
    for (const EndPointer &each : {end, other})
      hub->call(each, [](StreamReader &own) { own.opened(); });
  });
  return std::make_unique<InprocStream>(hub, end);
}

std::unique_ptr<Listener> InprocStreams::listen(const std::string &address, AcceptStream accept,
                                                const StreamOptions &) {
  hub->checkProcess();
  return std::make_unique<InprocListener>(hub, address, hub->open(address, std::move(accept)));
}

} // namespace epl::runtime::servers
