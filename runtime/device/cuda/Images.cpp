#include "runtime/device/cuda/Images.h"

#include "runtime/Error.h"
#include "runtime/plan/model/Images.h"
#include "runtime/plan/model/Parts.h"

#include <algorithm>
#include <array>

namespace epl::runtime::cuda {

/// 80 of "sm_80", also of "sm_90a"; 0 of what is none.
static uint32_t architectureOf(const std::string &target) {
  uint32_t number = 0;
  for (size_t i = target.starts_with("sm_") ? 3 : target.size();
       i < target.size() && '0' <= target[i] && target[i] <= '9'; ++i)
    number = 10 * number + uint32_t(target[i] - '0');
  return number;
}

/// Whether a plan has products.
static bool multiplies(const plan::PlanT &plan) {
  return std::ranges::any_of(meshPlansOf(plan), [](const plan::PlanT *part) {
    return std::ranges::any_of(part->commands,
                               [](const auto &command) { return command->action.AsContract(); });
  });
}

/// Whether a plan has something for cuDNN.
static bool convolvesOrAttends(const plan::PlanT &plan) {
  return std::ranges::any_of(meshPlansOf(plan), [](const plan::PlanT *part) {
    return std::ranges::any_of(part->kernels,
                               [](const auto &kernel) { return kernel->convolution != nullptr; }) ||
           std::ranges::any_of(part->commands, [](const auto &command) { return command->attention >= 0; });
  });
}

Images::Images(std::shared_ptr<const Cards> shared, const plan::PlanT &plan) : cards(std::move(shared)) {
  bool hasProducts = multiplies(plan), usesCudnn = convolvesOrAttends(plan);
  FactorizationLibrary::Needs needs = FactorizationLibrary::needsOf(plan);
  for (uint32_t card = 0; card < cards->size(); ++card) {
    cards->use(card);
    loadPlan(card, plan);
    ownModules.push_back(load(card, ownKernels(), "the kernels that move data"));
    productLibraries.push_back(hasProducts ? ProductLibrary::open(cards, card) : nullptr);
    cudnnLibraries.push_back(usesCudnn ? CudnnLibrary::open(cards, card) : nullptr);
    factorizationLibraries.push_back(FactorizationLibrary::open(cards, card, needs));
  }
}

/// ".version 9.0" of PTX.
static std::string versionOf(std::string_view code) {
  size_t begin = std::min(code.find(".version"), code.size());
  return std::string(code.substr(begin, code.find('\n', begin) - begin));
}

void Images::loadPlan(uint32_t card, const plan::PlanT &plan) {
  std::string name = "sm_" + std::to_string(cards->architecture(card));
  const plan::ImageT *image = findImage(plan, plan::ImageKind::ptx);
  for (const auto &each : plan.images)
    if (each->kind == plan::ImageKind::cubin && each->target == name)
      image = each.get();
  if (!image && plan.images.empty()) {
    modules.emplace_back();
    return;
  }
  if (!image || architectureOf(image->target) > cards->architecture(card))
    throw Error("the plan has no code for card " + std::to_string(cards->number(card)) + ", which is " +
                name + (image ? ": its code is for " + image->target + " and later" : ""));
  std::string code(image->bytes.begin(), image->bytes.end()); // ends with a zero, as PTX must
  modules.push_back(load(card, code, "the plan's kernels"));
}

Module Images::load(uint32_t card, std::string_view code, const std::string &what) const {
  const Driver &api = cards->driver();
  std::array<char, 4096> log{};
  std::array<CUjit_option, 2> options = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  std::array<void *, 2> values = {log.data(), reinterpret_cast<void *>(log.size())};
  CUmodule module = nullptr;
  CUresult result =
      api.cuModuleLoadDataEx(&module, code.data(), unsigned(options.size()), options.data(), values.data());
  std::string message = "card " + std::to_string(cards->number(card)) + " cannot load " + what;
  if (result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION) {
    int version = 0;
    api.check(api.cuDriverGetVersion(&version), message);
    message += " (its PTX is " + versionOf(code) + "; the driver has CUDA " + std::to_string(version / 1000) +
               "." + std::to_string(version % 1000 / 10) + ")";
  }
  api.check(result, message + (log[0] ? std::string(": ") + log.data() : ""));
  return {api, module};
}

/// Drivers load functions when they are launched first, which may not be while a graph is captured.
CUfunction Images::load(CUmodule module, const std::string &symbol) const {
  const Driver &api = cards->driver();
  CUfunction function = nullptr;
  if (!module || api.cuModuleGetFunction(&function, module, symbol.c_str()) != CUDA_SUCCESS)
    throw Error("the plan's image has no kernel \"" + symbol + "\"");
  api.check(api.cuFuncLoad(function), "cannot load kernel \"" + symbol + "\"");
  return function;
}

CUfunction Images::find(CUmodule module, const std::string &symbol) const {
  std::lock_guard<std::mutex> guard(mutex);
  auto known = functions.find({module, symbol});
  return known != functions.end() ? known->second : functions[{module, symbol}] = load(module, symbol);
}

CUfunction Images::kernel(uint32_t card, const std::string &symbol) const {
  cards->use(card);
  return find(modules[card], symbol);
}
bool Images::hasKernel(uint32_t card, const std::string &symbol) const {
  CUfunction function = nullptr;
  cards->use(card);
  return modules[card] &&
         cards->driver().cuModuleGetFunction(&function, modules[card], symbol.c_str()) == CUDA_SUCCESS;
}
CUfunction Images::own(uint32_t card, const std::string &symbol) const {
  cards->use(card);
  return find(ownModules[card], symbol);
}

} // namespace epl::runtime::cuda
