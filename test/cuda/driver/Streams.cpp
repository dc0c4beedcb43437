//===- Streams.cpp - How operations come into order -----------------------===//

#include "test/cuda/driver/Driver.h"

#include <chrono>
#include <thread>

using namespace cuda_double;

OperationId Driver::submit(Work work, std::vector<OperationId> after, int device) {
  std::string name = describe(work);
  numHostFunctions += std::holds_alternative<HostWork>(work);
  if (const auto *meeting = std::get_if<MeetingWork>(&work))
    numHostFunctions += meeting->device < 0; // the host works before it goes on
  if (auto *meeting = std::get_if<MeetingWork>(&work))
    return operations.add(std::move(name), std::move(after),
                          [this, work = std::move(*meeting), begun = std::shared_ptr<Meeting>()]() mutable {
                            return attend(work, begun);
                          });
  return operations.add(std::move(name), std::move(after),
                        [this, work = std::move(work), device] { return perform(work, device); });
}

/// What the host would have to leave alone until the copy is done has to be pinned: pageable memory is staged
/// at times of the driver's own choosing.
void Driver::checkHostMemory(const Work &work) {
  const auto *copy = std::get_if<CopyWork>(&work);
  if (!copy)
    return;
  for (uint64_t address : {copy->to, copy->from})
    if (!memory.find(address, copy->size) && !isPinned(address, copy->size)) {
      report("host", describe(work) + " that nobody waits for is from or to host memory that is not pinned");
      throw DriverError{CUDA_ERROR_INVALID_VALUE};
    }
}

/// A kernel is launched from the thread's device, on a stream of it.
void Driver::checkLaunch(const KernelWork &work, const Stream &stream) {
  if (stream.device != getCurrentDevice() || stream.device != work.function->module->device)
    throw DriverError{CUDA_ERROR_INVALID_HANDLE};
  if (stream.capture && !work.function->isLoaded)
    report("graph", describe(work) + " is loaded by its first launch, while a graph is captured");
  work.function->isLoaded = true;
  const Launch &launch = work.launch;
  const Entry &entry = *work.function->entry;
  uint64_t threads = uint64_t(launch.block[0]) * launch.block[1] * launch.block[2];
  bool isGrid = launch.grid[0] > 0 && launch.grid[1] > 0 && launch.grid[2] > 0 && launch.grid[0] < 1U << 31 &&
                launch.grid[1] < 1U << 16 && launch.grid[2] < 1U << 16;
  bool isBlock = threads > 0 && threads <= 1024 && launch.block[2] <= 64;
  if (!isGrid || !isBlock || launch.dynamicShared > work.function->mostDynamicShared ||
      launch.dynamicShared + entry.sharedBytes > 227 * 1024)
    throw DriverError{CUDA_ERROR_INVALID_VALUE};
  uint64_t most = uint64_t(entry.maxThreads[0]) * entry.maxThreads[1] * entry.maxThreads[2];
  if (most > 0 && threads > most)
    throw DriverError{CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES};
  for (int i = 0; i < 3; ++i)
    if (entry.requiredThreads[0] > 0 && launch.block[i] != entry.requiredThreads[i])
      throw DriverError{CUDA_ERROR_INVALID_VALUE};
}

void Driver::enqueue(CUstream handle, Work work) {
  if (!handle) {
    report("stream", "\"" + describe(work) + "\" uses the NULL stream");
    throw DriverError{CUDA_ERROR_INVALID_HANDLE};
  }
  auto &stream = look<Stream>(handle);
  if (auto *kernel = std::get_if<KernelWork>(&work)) {
    checkLaunch(*kernel, stream);
    kernel->priority = stream.priority;
  }
  const auto *meeting = std::get_if<MeetingWork>(&work);
  if (meeting && meeting->device >= 0 && meeting->device != stream.device)
    throw DriverError{CUDA_ERROR_INVALID_HANDLE};
  checkHostMemory(work);
  if (!stream.capture)
    countCall();
  if (!stream.capture && idle)
    return;
  if (!stream.capture) {
    if (auto *copy = std::get_if<CopyWork>(&work))
      watchSource(*copy);
    stream.last = {submit(std::move(work), stream.last, stream.device)};
    return;
  }
  Graph &graph = *stream.capture;
  size_t number = graph.nodes.size();
  graph.nodes.emplace_back(
      keep(std::make_unique<Graph::Node>(Graph::Node{&graph, number, std::move(work), stream.tail})));
  stream.tail = {number};
}

void Driver::checkNoCapture() const {
  for (const Stream *stream : all<Stream>()) {
    const Graph *graph = stream->capture;
    if (graph &&
        (graph->forbids == Graph::Forbids::allThreads ||
         (graph->forbids == Graph::Forbids::itsThread && graph->thread == std::this_thread::get_id())))
      throw DriverError{CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED};
  }
}

/// What an operation fails with, all that follows does.
template <typename Body> void Driver::runOperations(Body body) {
  try {
    body();
  } catch (const Fault &failure) {
    report("fault", failure.what());
    fault = CUDA_ERROR_ILLEGAL_ADDRESS;
    throw DriverError{fault};
  }
}

/// Where all work waits for others: they may be other threads, which need the lock.
void Driver::pause() {
  mutex.unlock();
  std::this_thread::sleep_for(std::chrono::microseconds(50));
  mutex.lock();
  if (fault != CUDA_SUCCESS)
    throw DriverError{fault};
}

/// Other threads may change what was asked for, the last operations of a stream, meanwhile.
void Driver::wait(std::span<const OperationId> wanted) {
  checkNoCapture();
  std::vector<OperationId> own(wanted.begin(), wanted.end());
  runOperations([&] { operations.wait(own, [&] { pause(); }); });
}

/// Some work is done each time, or whoever asks again and again would never be answered. What is done the
/// host knows then, as if it had waited.
bool Driver::poll(std::span<const OperationId> wanted) {
  runOperations([&] { operations.runOne(); });
  if (!operations.areDone(wanted))
    return false;
  runOperations([&] { operations.wait(wanted); });
  return true;
}

/// For copies that the host waits for. They are on no stream, so behind what it has waited for only.
void Driver::runNow(Work work) {
  if (idle)
    return;
  OperationId id = submit(std::move(work), {}, getCurrentDevice());
  wait(std::span(&id, 1));
}

void Driver::launchGraph(Graph &graph, Stream &stream) {
  if (stream.capture)
    throw DriverError{CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED};
  ++numGraphLaunches;
  countCall();
  if (idle)
    return;
  std::vector<OperationId> before = stream.last, made;
  before.insert(before.end(), graph.lastLaunch.begin(), graph.lastLaunch.end());
  for (auto &node : graph.nodes) {
    std::vector<OperationId> after = before;
    for (size_t number : node->after)
      after.push_back(made[number]);
    checkHostMemory(node->work);
    made.push_back(submit(node->work, std::move(after), stream.device));
  }
  graph.lastLaunch = made;
  stream.last = made.empty() ? before : made;
}
