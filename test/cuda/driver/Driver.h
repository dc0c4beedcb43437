//===- Driver.h - The state of the stand-in of the driver -------*- C++ -*-===//
//
// Api*.cpp are the functions of the driver (cuda.h), each a few lines on this. It is stricter than a driver:
// what it takes a driver would take, too, and some of what drivers let pass is a finding. Environment:
//
//   EPL_CUDA_SEED      the order of all that has none (1)
//   EPL_CUDA_DEVICES   how many there are (4)
//   EPL_CUDA_MEMORY    bytes of each (8 GiB)
//   EPL_CUDA_FAULT     a kernel that faults when it runs
//   EPL_CUDA_IDLE      1: nothing is done, at once: for the time that callers take
//   EPL_CUDA_REPORT    a file, for the findings and what each kernel costs, as JSON; else findings go to
//   stderr
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/cuda/driver/Meeting.h"
#include "test/cuda/driver/Operations.h"
#include "test/cuda/machine/Machine.h"

#include <cuda.h>

#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <variant>

namespace cuda_double {

/// What a function of the driver returns when it fails.
struct DriverError {
  CUresult code;
};

struct LoadedModule {
  Module module;
  int device; ///< whose context it is in
};

struct Function {
  LoadedModule *module;
  const Entry *entry;
  bool isLoaded = false;                  ///< a driver does so when it is launched first
  unsigned mostDynamicShared = 48 * 1024; ///< what a launch may ask for
};

// What an operation does.
struct KernelWork {
  Function *function;
  Launch launch;
  int priority = 0; ///< of the stream that it was enqueued on
};
struct CopyWork {
  uint64_t to, from;
  size_t size;
  std::optional<uint64_t> sum = {}; ///< of the bytes in memory of the host, if these have to stay
};
struct FillWork {
  uint64_t to;
  uint32_t value;
  unsigned elementBytes;
  size_t count;
};
struct HostWork {
  CUhostFn function;
  void *data;
};
using Work = std::variant<KernelWork, CopyWork, FillWork, HostWork, MeetingWork>;

/// What was captured, or an executable copy of it.
struct Graph {
  struct Node {
    Graph *graph; ///< that it was captured into
    size_t number;
    Work work;
    std::vector<size_t> after;
  };
  /// While it is captured: who may neither wait nor free memory.
  enum class Forbids { nobody, itsThread, allThreads } forbids;
  std::thread::id thread; ///< that captures it
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<OperationId> lastLaunch; ///< a graph runs once at a time
};

/// As on NVIDIA's GPUs: a smaller number is more urgent.
constexpr int kGreatestPriority = -5;

struct Stream {
  int device;
  int priority;                  ///< from 0, the least, to kGreatestPriority
  std::vector<OperationId> last; ///< what the next operation comes after
  Graph *capture = nullptr;
  bool isOrigin = false;              ///< where the capture began
  std::vector<size_t> tail;           ///< while it is captured: nodes that the next one comes after
  std::vector<CUgraphNode> tailNodes; ///< as somebody has asked for them
};

struct Event {
  explicit Event(int device) : device(device) {}

  int device;
  bool isRecorded = false;
  std::vector<OperationId> operations;
  Graph *capture = nullptr; ///< where it was recorded, if in a capture
  std::vector<size_t> nodes;
  std::shared_ptr<double> seconds = std::make_shared<double>(0); ///< when it was passed
};

class Driver {
public:
  /// The one of the process.
  static Driver &get();

  /// Runs a function of the driver: one thread at a time; what fails is its result.
  template <typename Body> CUresult call(Body body) {
    std::lock_guard guard(mutex);
    try {
      if (fault != CUDA_SUCCESS)
        return fault;
      body();
      return CUDA_SUCCESS;
    } catch (const DriverError &error) {
      return error.code;
    }
  }

  // Devices.
  int getDeviceCount() const { return static_cast<int>(capacities.size()); }
  void checkDevice(int device) const;
  int getCurrentDevice() const;
  /// False if it is already.
  bool enablePeer(int from, int to) { return peers.insert({from, to}).second; }

  // Memory.
  uint64_t allocate(size_t size);
  void release(uint64_t address);
  uint64_t getFree(int device) const { return capacities[device] - used[device]; }
  uint64_t getCapacity(int device) const { return capacities[device]; }
  void *allocateHost(size_t size);
  void releaseHost(void *address);

  // Streams.
  void enqueue(CUstream stream, Work work);
  void runNow(Work work);
  void wait(std::span<const OperationId> operations);
  bool poll(std::span<const OperationId> operations);
  void checkNoCapture() const;
  /// Throws INVALID_VALUE unless a number of 32 bits is there, in pinned memory.
  void checkNumber(uint64_t address) const {
    if (address % 4 != 0 || !isPinned(address, 4))
      throw DriverError{CUDA_ERROR_INVALID_VALUE};
  }
  void endHostFunction() { --numHostFunctions; }
  void launchGraph(Graph &graph, Stream &stream);
  /// Whether all that is enqueued is done at once, without being performed.
  bool isIdle() const { return idle; }
  void countGraph() { ++numGraphs; }
  /// The host hands something over to a stream that is not captured.
  void countCall() { ++numStreamCalls; }

  /// What a handle is for; INVALID_HANDLE if it is for nothing.
  template <typename Object, typename Handle> Object &look(Handle handle) const {
    auto *object = reinterpret_cast<Object *>(handle);
    if (!std::get<std::set<Object *>>(objects).contains(object))
      throw DriverError{CUDA_ERROR_INVALID_HANDLE};
    return *object;
  }
  template <typename Object> Object *keep(std::unique_ptr<Object> object) {
    std::get<std::set<Object *>>(objects).insert(object.get());
    return object.release();
  }
  /// The handle of an object that somebody else deletes is for nothing any more.
  template <typename Object> void forget(Object *object) {
    std::get<std::set<Object *>>(objects).erase(object);
  }
  template <typename Object, typename Handle> void drop(Handle handle) {
    Object &object = look<Object>(handle);
    forget(&object);
    delete &object;
  }
  template <typename Object> const std::set<Object *> &all() const {
    return std::get<std::set<Object *>>(objects);
  }

  /// From any thread, also while another one has the lock.
  void report(const std::string &kind, const std::string &text);
  /// "kind: text" of each.
  const std::vector<std::string> &getFindings();
  void restart(uint64_t seed);
  void writeReport();

  Operations operations;

private:
  Driver();
  ~Driver();

  OperationId submit(Work work, std::vector<OperationId> after, int device);
  std::vector<Use> perform(const Work &work, int device);
  void performKernel(const KernelWork &work);
  /// Begins a meeting, or asks one that has begun: what it has touched when it is over.
  std::optional<std::vector<Use>> attend(const MeetingWork &work, std::shared_ptr<Meeting> &begun);
  void checkRanges(const MeetingWork &work);
  std::vector<Use> touchRanges(const MeetingWork &work, bool alsoWrites);
  bool isTurn(uint64_t address) const;
  void touch(uint64_t address, size_t size, bool isWrite, int device, const std::string &what);
  bool isReachable(uint64_t address, int device) const;
  bool isPinned(uint64_t address, size_t size) const;
  void checkLaunch(const KernelWork &work, const Stream &stream);
  void checkHostMemory(const Work &work);
  void watchSource(CopyWork &copy) const;
  template <typename Body> void runOperations(Body body);
  void pause();
  void takeConflicts();

  std::mutex mutex;
  CUresult fault = CUDA_SUCCESS; ///< of an operation: all that follows fails with it
  std::mt19937_64 random;
  DeviceMemory memory;
  std::vector<uint64_t> capacities, used;
  std::map<uint64_t, int> owners;                    ///< of allocations: the device
  std::map<uint64_t, std::vector<std::byte>> pinned; ///< by address
  std::set<std::pair<int, int>> peers;
  std::tuple<std::set<Stream *>, std::set<Event *>, std::set<Graph *>, std::set<LoadedModule *>,
             std::set<Function *>, std::set<Graph::Node *>>
      objects;
  std::map<std::string, Counters> counters; ///< by kernel
  std::map<std::string, int> priorities;    ///< by kernel, the greatest one
  std::mutex findingsMutex;
  std::vector<std::string> findings;
  uint64_t numGraphs = 0, numGraphLaunches = 0, numStreamCalls = 0, numOperations = 0;
  uint64_t numHostFunctions = 0; ///< that are pending
  const bool idle;
  const std::string faulty; ///< a kernel
};

/// How a piece of work is called in findings.
std::string describe(const Work &work);

} // namespace cuda_double
