// A card of whatever driver the loader finds: the stand-in, or a real one.
#ifndef EPL_TEST_UNIT_CUDA_CARD_CARD_H
#define EPL_TEST_UNIT_CUDA_CARD_CARD_H

#include "runtime/device/cuda/CudaMemory.h"
#include "runtime/device/cuda/Images.h"
#include "runtime/device/cuda/kernels/Arguments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace epl::runtime::cuda::test {

/// Two streams of card 0, memory, and the plugin's own kernel that copies: what is written is 32-bit numbers.
class CardTest : public testing::Test {
protected:
  static constexpr size_t kSize = 1000;

  /// Memory with one number again and again.
  CUdeviceptr filled(uint32_t number) { return put(std::vector<uint32_t>(kSize, number)); }
  template <typename T> CUdeviceptr put(const std::vector<T> &values) {
    size_t size = values.size() * sizeof(T);
    memory.push_back(allocateOn(cards, 0, size, "a test"));
    copies.in(reinterpret_cast<const std::byte *>(values.data()), memory.back()->pointer(), size, 0);
    return memory.back()->pointer();
  }
  template <typename T> std::vector<T> get(CUdeviceptr from, size_t size) {
    std::vector<T> values(size);
    copies.out(from, reinterpret_cast<std::byte *>(values.data()), size * sizeof(T), 0);
    return values;
  }
  /// The number that memory is full of.
  uint32_t numberIn(CUdeviceptr from) {
    std::vector<uint32_t> values = get<uint32_t>(from, kSize);
    EXPECT_EQ(std::count(values.begin(), values.end(), values[0]), int64_t(kSize));
    return values[0];
  }

  void copy(CUstream stream, CUdeviceptr from, CUdeviceptr to) {
    EXPECT_EQ(api.cuMemcpyDtoDAsync(to, from, 4 * kSize, stream), CUDA_SUCCESS);
  }
  /// What `behind` does next comes after all that `before` has done.
  void order(CUstream before, CUstream behind) {
    events.push_back(makeEvent(api));
    EXPECT_EQ(api.cuEventRecord(events.back(), before), CUDA_SUCCESS);
    EXPECT_EQ(api.cuStreamWaitEvent(behind, events.back(), 0), CUDA_SUCCESS);
  }
  void begin(CUstream stream) {
    EXPECT_EQ(api.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  }
  Graph end(CUstream stream) {
    CUgraph graph = nullptr;
    EXPECT_EQ(api.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    return {api, graph};
  }
  ExecutableGraph instantiate(const Graph &graph) {
    CUgraphExec made = nullptr;
    EXPECT_EQ(api.cuGraphInstantiate(&made, graph, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY),
              CUDA_SUCCESS);
    return {api, made};
  }
  void wait(CUstream stream) { EXPECT_EQ(api.cuStreamSynchronize(stream), CUDA_SUCCESS); }

  std::shared_ptr<const Cards> cards =
      std::make_shared<Cards>(Devices{"cuda", 1}, Peers({"cuda", 1}, nullptr));
  const Driver &api = cards->driver();
  Copies copies{cards};
  Stream a = makeStream(api), b = makeStream(api, /*isUrgent=*/true);
  std::vector<std::unique_ptr<CudaAllocation>> memory;
  std::vector<Event> events;
};

} // namespace epl::runtime::cuda::test

#endif // EPL_TEST_UNIT_CUDA_CARD_CARD_H
