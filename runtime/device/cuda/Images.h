// The code of a plan on each card: its own, the plugin's, and that of libraries.
#ifndef EPL_RUNTIME_DEVICE_CUDA_IMAGES_H
#define EPL_RUNTIME_DEVICE_CUDA_IMAGES_H

#include "runtime/device/cuda/Cards.h"
#include "runtime/device/cuda/Handles.h"
#include "runtime/device/cuda/attention/AttentionGradient.h"
#include "runtime/device/cuda/convolutions/Convolutions.h"
#include "runtime/device/cuda/factorizations/FactorizationLibrary.h"
#include "runtime/device/cuda/products/Products.h"
#include "runtime/plan/format/plan_generated.h"

#include <map>
#include <memory>
#include <mutex>
#include <string_view>

namespace epl::runtime::cuda {

/// Modules of the driver. The cards outlive them.
class Images {
public:
  /// Loads the plan's code on each card: that which was compiled for its architecture, else PTX. Throws Error
  /// if there is none that the card and the driver take.
  Images(std::shared_ptr<const Cards> cards, const plan::PlanT &plan);
  Images(const Images &) = delete;

  /// A kernel of the plan on a card, by its entry; throws Error if its code has none.
  CUfunction kernel(uint32_t card, const std::string &symbol) const;
  bool hasKernel(uint32_t card, const std::string &symbol) const;
  /// A kernel of the plugin's own (kernels/Kernels.cpp).
  CUfunction own(uint32_t card, const std::string &symbol) const;
  /// Who computes the plan's products on a card; null if no library does.
  std::shared_ptr<const ProductLibrary> products(uint32_t card) const {
    cards->use(card);
    return productLibraries[card];
  }
  /// The same for its factorizations.
  std::shared_ptr<const FactorizationLibrary> factorizations(uint32_t card) const {
    cards->use(card);
    return factorizationLibraries[card];
  }
  /// The same for its convolutions and attention.
  std::shared_ptr<const CudnnLibrary> cudnn(uint32_t card) const {
    cards->use(card);
    return cudnnLibraries[card];
  }

private:
  void loadPlan(uint32_t card, const plan::PlanT &plan);
  Module load(uint32_t card, std::string_view code, const std::string &what) const;
  CUfunction find(CUmodule module, const std::string &symbol) const;
  CUfunction load(CUmodule module, const std::string &symbol) const;

  std::shared_ptr<const Cards> cards;
  std::vector<Module> modules, ownModules; // of each card; null if the plan has no kernels
  // Of each card:
  std::vector<std::shared_ptr<const ProductLibrary>> productLibraries;
  std::vector<std::shared_ptr<const CudnnLibrary>> cudnnLibraries;
  std::vector<std::shared_ptr<const FactorizationLibrary>> factorizationLibraries;
  mutable std::mutex mutex;
  mutable std::map<std::pair<CUmodule, std::string>, CUfunction> functions; // that somebody has asked for
};

/// The plugin's own kernels as PTX: a part of it.
std::string_view ownKernels();

} // namespace epl::runtime::cuda

#endif // EPL_RUNTIME_DEVICE_CUDA_IMAGES_H
