// Kernels for hand-written plans. Elements are i64 unless a name says otherwise; the extent is their number.
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <thread>

using Buffers = void *const *;

template <typename T> static T *at(Buffers buffers, int index) { return static_cast<T *>(buffers[index]); }

extern "C" {

void nothing(Buffers, const int64_t *, int64_t, int64_t) {}

/// out = 31 a + b: tells the order of its operands.
void mix(Buffers buffers, const int64_t *, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    at<uint64_t>(buffers, 2)[i] = 31 * at<uint64_t>(buffers, 0)[i] + at<uint64_t>(buffers, 1)[i];
}

/// out = a + 1; out may be a.
void increment(Buffers buffers, const int64_t *, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    at<int64_t>(buffers, 1)[i] = at<int64_t>(buffers, 0)[i] + 1;
}

/// out = the rank's first coordinate.
void coordinate(Buffers buffers, const int64_t *axisIndex, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    at<int64_t>(buffers, 0)[i] = axisIndex[0];
}

/// out = the sum of the two rows of a.
void add_rows(Buffers buffers, const int64_t *, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    at<int64_t>(buffers, 1)[i] = at<int64_t>(buffers, 0)[i] + at<int64_t>(buffers, 0)[end + i];
}

/// out = a b in f32.
void multiply_f32(Buffers buffers, const int64_t *, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    at<float>(buffers, 2)[i] = at<float>(buffers, 0)[i] * at<float>(buffers, 1)[i];
}

/// out = a - b / 2 in f32; out may be a.
void descend_f32(Buffers buffers, const int64_t *, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    at<float>(buffers, 2)[i] = at<float>(buffers, 0)[i] - at<float>(buffers, 1)[i] / 2;
}

/// out = a - b c in f32, where c is a number; out may be a.
void descend_by_f32(Buffers buffers, const int64_t *, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    at<float>(buffers, 3)[i] = at<float>(buffers, 0)[i] - at<float>(buffers, 1)[i] * at<float>(buffers, 2)[0];
}

/// Waits until the gate (a host array) is not 0.
void wait_at_gate(Buffers buffers, const int64_t *, int64_t, int64_t) {
  while (static_cast<std::atomic<int64_t> *>(buffers[0])->load() == 0)
    std::this_thread::yield();
}

/// Throws on the ranks whose first coordinate is that of its input.
void fail(Buffers buffers, const int64_t *axisIndex, int64_t, int64_t) {
  if (axisIndex[0] == at<int64_t>(buffers, 0)[0])
    throw std::runtime_error("as asked");
}
}
