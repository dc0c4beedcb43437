#include "runtime/collective/mpi/MpiTransport.h"

#include "runtime/Error.h"

#include <algorithm>
#include <string>
#include <vector>

#include <mpi.h>

namespace epl::runtime {

namespace {

/// MPI counts in int; larger messages go in pieces, which come in their order.
constexpr size_t kMostBytes = size_t(1) << 30;

class MpiTransport final : public Transport {
public:
  MpiTransport() {
    std::lock_guard lock(mpiMutex());
    requireMpi(MPI_Comm_dup(MPI_COMM_WORLD, &communicator), "MPI_Comm_dup");
    requireMpi(MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    int *bound = nullptr, found = 0;
    requireMpi(MPI_Comm_get_attr(communicator, MPI_TAG_UB, static_cast<void *>(&bound), &found),
               "MPI_Comm_get_attr");
    mostTag = found ? *bound : 32767; // what the standard promises
  }

  void send(uint32_t process, uint32_t number, std::span<const std::byte> bytes,
            std::atomic<uint32_t> &left) override {
    post(bytes.size(), left, /*isSend=*/true, [&](size_t begin, int size, MPI_Request *request) {
      requireMpi(
          MPI_Isend(bytes.data() + begin, size, MPI_BYTE, int(process), tagOf(number), communicator, request),
          "MPI_Isend");
    });
  }
  void receive(uint32_t process, uint32_t number, std::span<std::byte> bytes,
               std::atomic<uint32_t> &left) override {
    post(bytes.size(), left, /*isSend=*/false, [&](size_t begin, int size, MPI_Request *request) {
      requireMpi(
          MPI_Irecv(bytes.data() + begin, size, MPI_BYTE, int(process), tagOf(number), communicator, request),
          "MPI_Irecv");
    });
  }

  void progress() override {
    std::unique_lock lock(mpiMutex(), std::try_to_lock);
    if (!lock || requests.empty())
      return;
    done.resize(requests.size());
    int count = 0;
    requireMpi(MPI_Testsome(int(requests.size()), requests.data(), &count, done.data(), MPI_STATUSES_IGNORE),
               "MPI_Testsome");
    if (count <= 0) // MPI_UNDEFINED: there are none
      return;
    for (int i = 0; i < count; ++i)
      pending[size_t(done[size_t(i)])].left->fetch_sub(1, std::memory_order_release);
    removeDone();
  }

  /// A receive ends here. Nothing calls back a send to a process that does not receive it: its bytes may be
  /// read until this process ends, which who gives up a message is about to do.
  void cancel(const std::atomic<uint32_t> &left) noexcept override {
    std::lock_guard lock(mpiMutex());
    for (size_t i = 0; i < requests.size(); ++i)
      if (pending[i].left == &left && pending[i].isSend) {
        MPI_Request_free(&requests[i]);
      } else if (pending[i].left == &left) {
        MPI_Cancel(&requests[i]);
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
      }
    removeDone();
  }

private:
  struct Pending {
    std::atomic<uint32_t> *left;
    bool isSend;
  };

  int tagOf(uint32_t number) const {
    if (number > uint32_t(mostTag))
      throw Error("the plan has more than " + std::to_string(mostTag) +
                  " messages between two processes, which "
                  "is the most that MPI numbers here");
    return int(number);
  }

  /// Begins a message, in pieces; `left` counts it once.
  template <typename Begin>
  void post(size_t size, std::atomic<uint32_t> &left, bool isSend, const Begin &begin) {
    std::lock_guard lock(mpiMutex());
    size_t pieces = std::max<size_t>(1, (size + kMostBytes - 1) / kMostBytes);
    left.fetch_add(uint32_t(pieces - 1), std::memory_order_relaxed);
    for (size_t piece = 0; piece < pieces; ++piece) {
      size_t from = piece * kMostBytes;
      MPI_Request request = MPI_REQUEST_NULL;
      begin(from, int(std::min(kMostBytes, size - from)), &request);
      requests.push_back(request);
      pending.push_back({&left, isSend});
    }
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
  }

  MPI_Comm communicator = MPI_COMM_NULL;
  int mostTag = 0;
  std::vector<MPI_Request> requests;
  std::vector<Pending> pending; // of each request
  std::vector<int> done;
};

} // namespace

std::mutex &mpiMutex() {
  static std::mutex mutex;
  return mutex;
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
