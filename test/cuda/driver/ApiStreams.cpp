//===- ApiStreams.cpp - Functions of the driver: streams, events ----------===//

#include "test/cuda/driver/Api.h"

#include <algorithm>
#include <atomic>
#include <chrono>

using namespace cuda_double;

static double readClock() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

CUresult cuStreamCreate(CUstream *stream, unsigned) { return cuStreamCreateWithPriority(stream, 0, 0); }

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  *least = 0, *greatest = kGreatestPriority;
  return CUDA_SUCCESS;
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned, int priority) {
  return call([&](Driver &driver) {
    auto made = std::make_unique<Stream>();
    made->device = driver.getCurrentDevice();
    made->priority = std::clamp(priority, kGreatestPriority, 0);
    *stream = reinterpret_cast<CUstream>(driver.keep(std::move(made)));
  });
}

CUresult cuStreamDestroy(CUstream stream) {
  return call([&](Driver &driver) {
    if (driver.look<Stream>(stream).capture)
      throw DriverError{CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED};
    driver.drop<Stream>(stream);
  });
}

CUresult cuStreamSynchronize(CUstream handle) {
  return call([&](Driver &driver) {
    auto &stream = driver.look<Stream>(handle);
    driver.wait(stream.last);
  });
}

CUresult cuStreamQuery(CUstream handle) {
  return call([&](Driver &driver) {
    auto &stream = driver.look<Stream>(handle);
    if (stream.capture)
      throw DriverError{CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED};
    if (!driver.poll(stream.last))
      throw DriverError{CUDA_ERROR_NOT_READY};
  });
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data) {
  return call([&](Driver &driver) { driver.enqueue(stream, HostWork{function, data}); });
}

namespace {

/// A stream that waits until the host, or another stream, has written a number.
class Number final : public Meeting {
public:
  Number(CUdeviceptr address, cuuint32_t value) : address(address), value(value) {}
  State ask() override {
    return std::atomic_ref(*reinterpret_cast<uint32_t *>(address)).load() == value ? State::complete
                                                                                   : State::waits;
  }
  void end() override { Driver::get().endHostFunction(); }

private:
  CUdeviceptr address;
  uint32_t value;
};

} // namespace

/// Of the ways to compare only equality is known, of memory only what is pinned.
CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  return call([&](Driver &driver) {
    driver.checkNumber(address);
    if (flags != CU_STREAM_WAIT_VALUE_EQ)
      throw DriverError{CUDA_ERROR_NOT_SUPPORTED};
    driver.enqueue(stream, MeetingWork{"wait for a number", -1, {}, {}, [address, value] {
                                         return std::make_unique<Number>(address, value);
                                       }});
  });
}

CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned) {
  return call([&](Driver &driver) {
    driver.checkNumber(address);
    driver.enqueue(stream, FillWork{address, value, 4, 1});
  });
}

CUresult cuEventCreate(CUevent *event, unsigned) {
  return call([&](Driver &driver) {
    *event = reinterpret_cast<CUevent>(driver.keep(std::make_unique<Event>(driver.getCurrentDevice())));
  });
}

CUresult cuEventDestroy(CUevent event) {
  return call([&](Driver &driver) { driver.drop<Event>(event); });
}

/// In a capture an event is a place in the graph, and no time. An event is recorded on its own device.
CUresult cuEventRecord(CUevent handle, CUstream streamHandle) {
  return call([&](Driver &driver) {
    auto &event = driver.look<Event>(handle);
    auto &stream = driver.look<Stream>(streamHandle);
    if (event.device != stream.device)
      throw DriverError{CUDA_ERROR_INVALID_HANDLE};
    event.isRecorded = true;
    event.capture = stream.capture;
    event.nodes = stream.tail;
    if (!stream.capture)
      driver.countCall();
    if (stream.capture || driver.isIdle())
      return;
    event.seconds = std::make_shared<double>(0);
    OperationId id = driver.operations.add("event", stream.last, [seconds = event.seconds] {
      *seconds = readClock();
      return std::vector<Use>();
    });
    event.operations = stream.last = {id};
  });
}

/// An event that the host may ask about.
static Event &lookOutsideCaptures(Driver &driver, CUevent handle) {
  auto &event = driver.look<Event>(handle);
  if (event.capture)
    throw DriverError{CUDA_ERROR_CAPTURED_EVENT};
  return event;
}

CUresult cuEventQuery(CUevent handle) {
  return call([&](Driver &driver) {
    Event &event = lookOutsideCaptures(driver, handle);
    if (event.isRecorded && !driver.poll(event.operations))
      throw DriverError{CUDA_ERROR_NOT_READY};
  });
}

CUresult cuEventSynchronize(CUevent handle) {
  return call([&](Driver &driver) {
    Event &event = lookOutsideCaptures(driver, handle);
    driver.wait(event.operations);
  });
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent begin, CUevent end) {
  return call([&](Driver &driver) {
    auto &first = driver.look<Event>(begin), &last = driver.look<Event>(end);
    if (!first.isRecorded || !last.isRecorded || first.capture || last.capture || first.device != last.device)
      throw DriverError{CUDA_ERROR_INVALID_HANDLE};
    if (!driver.operations.areDone(first.operations) || !driver.operations.areDone(last.operations))
      throw DriverError{CUDA_ERROR_NOT_READY};
    *milliseconds = static_cast<float>((*last.seconds - *first.seconds) * 1e3);
  });
}

/// An event of a capture takes the stream into it.
CUresult cuStreamWaitEvent(CUstream streamHandle, CUevent handle, unsigned) {
  return call([&](Driver &driver) {
    auto &stream = driver.look<Stream>(streamHandle);
    auto &event = driver.look<Event>(handle);
    if (!event.isRecorded)
      return;
    if (!event.capture && stream.capture)
      throw DriverError{CUDA_ERROR_STREAM_CAPTURE_ISOLATION};
    if (!event.capture) {
      driver.countCall();
      stream.last.insert(stream.last.end(), event.operations.begin(), event.operations.end());
      return;
    }
    auto isGoingOn = [&](const Stream *each) { return each->capture == event.capture; };
    if (std::none_of(driver.all<Stream>().begin(), driver.all<Stream>().end(), isGoingOn))
      throw DriverError{CUDA_ERROR_CAPTURED_EVENT};
    if (stream.capture && stream.capture != event.capture)
      throw DriverError{CUDA_ERROR_STREAM_CAPTURE_MERGE};
    stream.capture = event.capture;
    stream.tail.insert(stream.tail.end(), event.nodes.begin(), event.nodes.end());
  });
}
