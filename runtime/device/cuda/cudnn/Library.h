// cuDNN on a card.
#ifndef EPL_RUNTIME_DEVICE_CUDA_CUDNN_LIBRARY_H
#define EPL_RUNTIME_DEVICE_CUDA_CUDNN_LIBRARY_H

#include "runtime/device/cuda/Cards.h"
#include "runtime/device/cuda/cudnn/Graph.h"
#include "runtime/plan/format/plan_generated.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace epl::runtime::cuda {

/// Numbers of tensors, and where each is; of those that are passed by value, on the host.
struct PackedTensors {
  std::vector<int64_t> ids;
  std::vector<void *> addresses;

  void add(int64_t id, CUdeviceptr address) { add(id, reinterpret_cast<void *>(address)); }
  void add(int64_t id, void *address) {
    ids.push_back(id);
    addresses.push_back(address);
  }
};

class CudnnLibrary {
public:
  /// Null if there is no library, or if it does not work on the card, which is said once on stderr. Throws
  /// Error if EPL_CUDA_TF32 is no switch.
  static std::shared_ptr<const CudnnLibrary> open(std::shared_ptr<const Cards> cards, uint32_t card);
  CudnnLibrary(const dnn::Cudnn &api, dnn::Handle handle, std::shared_ptr<const Cards> cards, uint32_t card);
  CudnnLibrary(const CudnnLibrary &) = delete;
  ~CudnnLibrary();

  /// What the library does for what `key` says, which `make` describes and plans; null if it does not take
  /// it, so that `make` is false. It is asked once. The card is the calling thread's.
  std::shared_ptr<const dnn::Graph> choose(const std::string &key,
                                           const std::function<bool(dnn::Graph &)> &make) const;
  /// Runs what has been chosen on a stream, of tensors with some numbers at addresses (of the host for those
  /// that are passed by value). Throws Error if the library fails.
  void execute(const dnn::Graph &graph, std::span<const int64_t> tensors, std::span<void *const> addresses,
               CUdeviceptr workspace, CUstream stream) const;
  /// 91900 of 9.19.0.
  size_t version() const { return api.cudnnGetVersion(); }
  /// 90 of a card of sm_90.
  uint32_t architecture() const { return cards->architecture(card); }
  /// Whether f32 is multiplied with 10 of its 23 bits.
  bool multipliesNarrow() const { return takesTf32; }

private:
  const dnn::Cudnn &api;
  const dnn::Handle handle;
  std::shared_ptr<const Cards> cards;
  uint32_t card;
  bool takesTf32;
  mutable std::mutex mutex; // of the handle's stream too
  mutable std::map<std::string, std::shared_ptr<const dnn::Graph>> known;
};

/// The type of elements of a tensor of floats.
dnn::DataType cudnnTypeOf(plan::ElementType type);

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_CUDNN_LIBRARY_H
