// Convolutions of a plan by cuDNN.
#ifndef EPL_RUNTIME_DEVICE_CUDA_CONVOLUTIONS_CONVOLUTIONS_H
#define EPL_RUNTIME_DEVICE_CUDA_CONVOLUTIONS_CONVOLUTIONS_H

#include "runtime/device/cuda/Cards.h"
#include "runtime/device/cuda/convolutions/Cudnn.h"
#include "runtime/plan/format/plan_generated.h"

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace epl::runtime::cuda {

/// Addresses of image, filter and output.
using ConvolutionOperands = std::array<CUdeviceptr, 3>;

/// The library on a card.
class ConvolutionLibrary {
public:
  /// Null if there is no library, or if it does not work on the card, which is said once on stderr. Throws
  /// Error if EPL_CUDA_TF32 is no switch.
  static std::shared_ptr<const ConvolutionLibrary> open(std::shared_ptr<const Cards> cards, uint32_t card);
  ConvolutionLibrary(const dnn::Cudnn &api, dnn::Handle handle, std::shared_ptr<const Cards> cards,
                     uint32_t card);
  ConvolutionLibrary(const ConvolutionLibrary &) = delete;
  ~ConvolutionLibrary();

  struct Chosen;
  /// What the library does for a convolution whose tensors begin at multiples of `alignments`; null if it
  /// does not take it. It is asked once for convolutions that are alike. The card is the calling thread's.
  std::shared_ptr<const Chosen> choose(const plan::ConvolutionT &convolution,
                                       const ConvolutionOperands &alignments, bool isShort) const;
  /// Runs what has been chosen on a stream. Throws Error if the library fails.
  void execute(const Chosen &chosen, const ConvolutionOperands &operands, CUdeviceptr workspace,
               CUstream stream) const;

private:
  const dnn::Cudnn &api;
  const dnn::Handle handle;
  std::shared_ptr<const Cards> cards;
  uint32_t card;
  bool takesTf32;           // f32 is multiplied with 10 of its 23 bits
  mutable std::mutex mutex; // of the handle's stream too
  mutable std::map<std::string, std::shared_ptr<const Chosen>> known;
};

/// A convolution as a call of the library.
class ConvolutionCall {
public:
  /// What the library does for a convolution, as `choose`, whose tensors are at some addresses; nothing if it
  /// does not take it.
  static std::optional<ConvolutionCall> make(std::shared_ptr<const ConvolutionLibrary> library,
                                             const plan::ConvolutionT &convolution,
                                             const ConvolutionOperands &operands, bool isShort);

  /// Bytes of memory that it works in, which no other call may use meanwhile.
  size_t workspaceBytes() const;
  /// `workspace` has that much. The card is the calling thread's. Throws Error if the library fails.
  void enqueue(CUdeviceptr workspace, CUstream stream) const;
  /// What the library has chosen: the same for calls that it does by the same code.
  const void *choice() const { return chosen.get(); }

private:
  ConvolutionCall() = default;

  std::shared_ptr<const ConvolutionLibrary> library;
  std::shared_ptr<const ConvolutionLibrary::Chosen> chosen;
  ConvolutionOperands operands{};
};

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_CONVOLUTIONS_CONVOLUTIONS_H
