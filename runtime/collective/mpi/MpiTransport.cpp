#include "runtime/collective/mpi/MpiTransport.h"

#include "runtime/Error.h"

#include <algorithm>
#include <sched.h>
#include <string>
#include <utility>
#include <vector>

#include <mpi.h>

namespace epl::runtime {

namespace {

/// Large messages go in pieces, which come in their order: so who waits for one sees that it comes. MPI says
/// nothing of what is on its way, and counts in int.
constexpr size_t kMostBytes = size_t(1) << 18;

bool haveEnded = false; // guarded by mpiMutex

/// A message that is given up mostly ends when MPI has looked at it a few times, or never does.
constexpr int kLooksAtGivenUp = 100;

class MpiTransport final : public Transport {
public:
  MpiTransport() {
    duplicate();
    std::lock_guard lock(mpiMutex());
    requireMpi(MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    int *bound = nullptr, found = 0;
    requireMpi(MPI_Comm_get_attr(communicator, MPI_TAG_UB, static_cast<void *>(&bound), &found),
               "MPI_Comm_get_attr");
    mostTag = found ? *bound : 32767; // what the standard promises
  }

  void send(uint32_t process, uint32_t number, std::span<const std::byte> bytes,
            std::atomic<uint32_t> &left) override {
    post({process, number, true, bytes.size()}, left, [&](size_t begin, int size, MPI_Request *request) {
      requireMpi(
          MPI_Isend(bytes.data() + begin, size, MPI_BYTE, int(process), tagOf(number), communicator, request),
          "MPI_Isend");
    });
  }
  void receive(uint32_t process, uint32_t number, std::span<std::byte> bytes,
               std::atomic<uint32_t> &left) override {
    post({process, number, false, bytes.size()}, left, [&](size_t begin, int size, MPI_Request *request) {
      requireMpi(
          MPI_Irecv(bytes.data() + begin, size, MPI_BYTE, int(process), tagOf(number), communicator, request),
          "MPI_Irecv");
    });
  }

  void progress() override {
    if (isIdle())
      return;
    std::unique_lock lock(mpiMutex(), std::try_to_lock);
    if (lock && !requests.empty() && !haveEnded)
      testAll();
  }

  /// MPI calls back a receive that has not begun, and no send: that may be read until this process ends.
  bool cancel(const std::atomic<uint32_t> &left) noexcept override {
    std::lock_guard lock(mpiMutex());
    auto isGivenUp = [&](const Pending &each) { return each.left == &left; };
    for (size_t i = 0; i < requests.size() && !haveEnded; ++i)
      if (isGivenUp(pending[i]) && !pending[i].piece.isSend)
        MPI_Cancel(&requests[i]);
    int looks = haveEnded ? 0 : kLooksAtGivenUp;
    for (; looks > 0 && std::ranges::any_of(pending, isGivenUp); --looks) {
      for (size_t i = 0; i < requests.size(); ++i)
        if (int isDone = 0; isGivenUp(pending[i]))
          MPI_Test(&requests[i], &isDone, MPI_STATUS_IGNORE);
      removeDone();
    }
    bool isOver = std::ranges::none_of(pending, isGivenUp);
    forget(left);
    return isOver;
  }

  bool isIdle() const noexcept override { return numOpen.load(std::memory_order_seq_cst) == 0; }
  uint64_t numMoved() const noexcept override { return moved.load(std::memory_order_relaxed); }

  /// Pieces of one message are one.
  std::vector<OpenMessage> openMessages() const override {
    std::lock_guard lock(mpiMutex());
    std::vector<OpenMessage> messages;
    for (const Pending &each : pending) {
      auto same = std::ranges::find_if(messages, [&](const OpenMessage &message) {
        return message.process == each.piece.process && message.number == each.piece.number &&
               message.isSend == each.piece.isSend;
      });
      if (same == messages.end())
        messages.push_back(each.piece);
      else
        same->bytes += each.piece.bytes;
    }
    return messages;
  }

private:
  struct Pending {
    std::atomic<uint32_t> *left;
    OpenMessage piece;
  };

  /// A communicator of its own. Other threads call MPI meanwhile: what this waits for, another process may
  /// only do after a message of theirs.
  void duplicate() {
    MPI_Request request = MPI_REQUEST_NULL;
    int isDone = 0;
    for (bool hasBegun = false; !isDone; sched_yield()) {
      std::lock_guard lock(mpiMutex());
      if (!std::exchange(hasBegun, true))
        requireMpi(MPI_Comm_idup(MPI_COMM_WORLD, &communicator, &request), "MPI_Comm_idup");
      requireMpi(MPI_Test(&request, &isDone, MPI_STATUS_IGNORE), "MPI_Comm_idup");
    }
  }

  int tagOf(uint32_t number) const {
    if (number > uint32_t(mostTag))
      throw Error("the plan has more than " + std::to_string(mostTag) +
                  " messages between two processes, which "
                  "is the most that MPI numbers here");
    return int(number);
  }

  /// Begins a message, in pieces; `left` counts it once.
  template <typename Begin>
  void post(const OpenMessage &message, std::atomic<uint32_t> &left, const Begin &begin) {
    std::lock_guard lock(mpiMutex());
    if (haveEnded)
      throw Error("MPI has ended, and no message can be sent or received");
    size_t pieces = std::max<size_t>(1, (message.bytes + kMostBytes - 1) / kMostBytes);
    left.fetch_add(uint32_t(pieces - 1), std::memory_order_relaxed);
    for (size_t piece = 0; piece < pieces; ++piece) {
      size_t from = piece * kMostBytes, size = std::min(kMostBytes, message.bytes - from);
      MPI_Request request = MPI_REQUEST_NULL;
      begin(from, int(size), &request);
      requests.push_back(request);
      pending.push_back({&left, {message.process, message.number, message.isSend, size}});
    }
    numOpen.store(requests.size(), std::memory_order_seq_cst);
  }

  /// MPI still has what it has not ended.
  void forget(const std::atomic<uint32_t> &left) {
    for (size_t i = 0; i < requests.size(); ++i)
      if (pending[i].left == &left)
        requests[i] = MPI_REQUEST_NULL;
    removeDone();
  }

  void testAll() {
    done.resize(requests.size());
    int count = 0;
    requireMpi(MPI_Testsome(int(requests.size()), requests.data(), &count, done.data(), MPI_STATUSES_IGNORE),
               "MPI_Testsome");
    if (count <= 0) // MPI_UNDEFINED: there are none
      return;
    for (int i = 0; i < count; ++i)
      pending[size_t(done[size_t(i)])].left->fetch_sub(1, std::memory_order_release);
    moved.fetch_add(uint64_t(count), std::memory_order_relaxed);
    removeDone();
  }

  void removeDone() {
    size_t kept = 0;
    for (size_t i = 0; i < requests.size(); ++i)
      if (requests[i] != MPI_REQUEST_NULL) {
        requests[kept] = requests[i];
        pending[kept++] = pending[i];
      }
    requests.resize(kept);
    pending.resize(kept);
    numOpen.store(kept, std::memory_order_seq_cst);
  }

  MPI_Comm communicator = MPI_COMM_NULL;
  int mostTag = 0;
  std::vector<MPI_Request> requests;
  std::vector<Pending> pending; // of each request
  std::vector<int> done;
  std::atomic<size_t> numOpen = 0;
  std::atomic<uint64_t> moved = 0;
};

} // namespace

std::mutex &mpiMutex() {
  static std::mutex mutex;
  return mutex;
}

void endMessages() {
  std::lock_guard lock(mpiMutex());
  haveEnded = true;
}

void requireMpi(int code, const char *call) {
  if (code == MPI_SUCCESS)
    return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(std::string(call) + " failed: " + std::string(text, size_t(length)));
}

std::shared_ptr<Transport> openMpiTransport() { return std::make_shared<MpiTransport>(); }

} // namespace epl::runtime
