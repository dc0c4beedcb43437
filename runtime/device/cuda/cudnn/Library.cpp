#include "runtime/device/cuda/cudnn/Library.h"

#include "runtime/Error.h"
#include "runtime/device/cuda/Environment.h"
#include "runtime/device/cuda/NvidiaLibrary.h"

#include <array>

namespace epl::runtime::cuda {

using dnn::Attribute;
using dnn::ValueType;

std::shared_ptr<const CudnnLibrary> CudnnLibrary::open(std::shared_ptr<const Cards> cards, uint32_t card) {
  const dnn::Cudnn *api = dnn::Cudnn::get();
  dnn::Handle handle = nullptr;
  cards->use(card);
  dnn::Status status = api ? api->cudnnCreate(&handle) : dnn::Status::success;
  if (handle && status == dnn::Status::success)
    return std::make_shared<CudnnLibrary>(*api, handle, std::move(cards), card);
  static std::once_flag isSaid;
  sayOnce(isSaid, "convolutions and attention on GPUs take code that is slower than a library",
          api ? "cudnnCreate fails with status " + std::to_string(int(status))
              : "no libcudnn.so.9 is found (pip install nvidia-cudnn-cu13, or name it in EPL_CUDNN)");
  return nullptr;
}

CudnnLibrary::CudnnLibrary(const dnn::Cudnn &api, dnn::Handle handle, std::shared_ptr<const Cards> cards,
                           uint32_t card)
    : api(api), handle(handle), cards(std::move(cards)), card(card),
      takesTf32(isSwitchedOn("EPL_CUDA_TF32")) {}

CudnnLibrary::~CudnnLibrary() {
  known.clear();
  if (cards->tryUse(card))
    api.cudnnDestroy(handle);
}

std::shared_ptr<const dnn::Graph> CudnnLibrary::choose(const std::string &key,
                                                       const std::function<bool(dnn::Graph &)> &make) const {
  std::lock_guard<std::mutex> guard(mutex);
  if (auto at = known.find(key); at != known.end())
    return at->second;
  auto made = std::make_shared<dnn::Graph>(api, handle);
  if (!make(*made))
    made = nullptr;
  return known.emplace(key, std::move(made)).first->second;
}

void CudnnLibrary::execute(const dnn::Graph &graph, std::span<const int64_t> tensors,
                           std::span<void *const> addresses, CUdeviceptr workspace, CUstream stream) const {
  dnn::OwnDescriptor pack(api, dnn::Kind::variantPack);
  pack.set(Attribute::packIds, ValueType::int64, tensors)
      .set(Attribute::packPointers, ValueType::pointer, addresses)
      .set(Attribute::packWorkspace, ValueType::pointer, reinterpret_cast<void *>(workspace));
  std::lock_guard<std::mutex> guard(mutex);
  dnn::Status status = pack.finish() ? api.cudnnSetStream(handle, stream) : pack.state();
  if (status == dnn::Status::success)
    status = api.cudnnBackendExecute(handle, graph.executionPlan(), pack.get());
  if (status == dnn::Status::success)
    return;
  std::array<char, 512> message{};
  api.cudnnGetLastErrorString(message.data(), message.size());
  throw Error("cuDNN fails with status " + std::to_string(int(status)) + ": " + message.data());
}

dnn::DataType cudnnTypeOf(plan::ElementType type) {
  switch (type) {
  case plan::ElementType::f64:
    return dnn::DataType::f64;
  case plan::ElementType::f16:
    return dnn::DataType::f16;
  case plan::ElementType::bf16:
    return dnn::DataType::bf16;
  default:
    return dnn::DataType::f32;
  }
}

} // namespace epl::runtime::cuda
