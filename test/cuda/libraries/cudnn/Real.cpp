//===- Real.cpp - The real cuDNN, behind its stand-in -------------------------------===//

#include "test/cuda/libraries/cudnn/Real.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace cudnn_double {

/// The library in a namespace of its own: the libraries that it opens by name are those of its folder, and a
/// driver of its own (RealDriver.cpp), not the stand-ins that have these names here.
static void *openApart(const std::filesystem::path &library) {
  Dl_info own{};
  if (dladdr(reinterpret_cast<void *>(&openApart), &own) == 0)
    return nullptr;
  std::filesystem::path driver = std::filesystem::path(own.dli_fname).parent_path() / "real" / "libcuda.so.1";
  void *opened = dlmopen(LM_ID_NEWLM, driver.c_str(), RTLD_NOW);
  Lmid_t space = LM_ID_BASE;
  if (!opened || dlinfo(opened, RTLD_DI_LMID, &space) != 0 ||
      !dlmopen(space, (library.parent_path() / "libcublasLt.so.13").c_str(), RTLD_NOW))
    return nullptr;
  return dlmopen(space, library.c_str(), RTLD_NOW);
}

Real::Real(const char *library, const char *file) {
  void *opened = openApart(library);
  std::ifstream stream(file ? file : "");
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!opened || text.empty())
    return;
#define EPL_FIND(name) functions.name = reinterpret_cast<name *>(dlsym(opened, #name));
  EPL_CUDNN_FUNCTIONS(EPL_FIND)
#undef EPL_FIND
  found = functions.cudnnBackendCreateDescriptor(Kind::deviceProperties, &device);
  if (found == Status::success)
    found = functions.cudnnBackendSetAttribute(device, Attribute::deviceText, ValueType::chars,
                                               int64_t(text.size() + 1), text.c_str());
  if (found == Status::success)
    found = functions.cudnnBackendFinalize(device);
}

const Real *Real::get() {
  static const char *const library = std::getenv("EPL_CUDNN_REAL");
  static const Real real(library ? library : "", std::getenv("EPL_CUDNN_DEVICE"));
  return library ? &real : nullptr;
}

// What is run has no real one.
static bool isForCard(Kind kind) { return kind == Kind::variantPack; }

Status Real::create(DescriptorT &descriptor) const {
  return isForCard(descriptor.kind)
             ? Status::success
             : functions.cudnnBackendCreateDescriptor(descriptor.kind, &descriptor.real);
}

Status Real::destroy(DescriptorT &descriptor) const {
  return descriptor.real ? functions.cudnnBackendDestroyDescriptor(descriptor.real) : Status::success;
}

Status Real::set(DescriptorT &descriptor, Attribute attribute, ValueType type, int64_t count,
                 const void *values) const {
  if (isForCard(descriptor.kind) || type == ValueType::handle)
    return Status::success;
  if (type != ValueType::descriptor)
    return functions.cudnnBackendSetAttribute(descriptor.real, attribute, type, count, values);
  std::vector<Descriptor> named;
  for (int64_t i = 0; i < count; ++i)
    named.push_back(static_cast<const Descriptor *>(values)[i]->real);
  return functions.cudnnBackendSetAttribute(descriptor.real, attribute, type, count, named.data());
}

/// A device in the place of a handle.
Status Real::finish(DescriptorT &descriptor) const {
  if (isForCard(descriptor.kind))
    return Status::success;
  Status status = Status::success;
  bool isPlan = descriptor.kind == Kind::executionPlan;
  if (isPlan || descriptor.kind == Kind::heuristics)
    status = functions.cudnnBackendSetAttribute(descriptor.real,
                                                isPlan ? Attribute::planDevice : Attribute::heuristicsDevice,
                                                ValueType::descriptor, 1, &device);
  return status == Status::success ? functions.cudnnBackendFinalize(descriptor.real) : status;
}

int64_t Real::choose(const DescriptorT &heuristics, int64_t asked, const Descriptor *choices) const {
  std::vector<Descriptor> real;
  for (int64_t i = 0; i < asked; ++i)
    real.push_back(choices[i]->real);
  int64_t count = 0;
  Status status =
      functions.cudnnBackendGetAttribute(heuristics.real, Attribute::heuristicsResults, ValueType::descriptor,
                                         asked, &count, asked ? static_cast<void *>(real.data()) : nullptr);
  if (status != Status::success)
    return 0;
  for (int64_t i = 0; i < std::min(asked, count); ++i) {
    Descriptor engine = nullptr;
    functions.cudnnBackendCreateDescriptor(Kind::engine, &engine);
    int64_t one = 0, notes = 0;
    functions.cudnnBackendGetAttribute(real[size_t(i)], Attribute::choiceEngine, ValueType::descriptor, 1,
                                       &one, &engine);
    choices[i]->notes.resize(32);
    functions.cudnnBackendGetAttribute(engine, Attribute::engineNotes, ValueType::numericalNote, 32, &notes,
                                       choices[i]->notes.data());
    choices[i]->notes.resize(size_t(notes));
    functions.cudnnBackendDestroyDescriptor(engine);
  }
  return count;
}

int64_t Real::workspaceOf(const DescriptorT &plan) const {
  int64_t bytes = 0, count = 0;
  functions.cudnnBackendGetAttribute(plan.real, Attribute::planWorkspace, ValueType::int64, 1, &count,
                                     &bytes);
  return bytes;
}

} // namespace cudnn_double
