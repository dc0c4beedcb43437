//===- Cudnn.cpp - A stand-in of cuDNN ----------------------------------------------===//
//
// libcudnn.so.9 for the stand-in of the driver, on which its kernels run: what a convolution or attention
// reads and writes is looked at like what every kernel does. It refuses what the library refuses: attributes
// of other descriptors or types, descriptors that are not final, extents that do not fit, addresses that are
// not aligned as was promised, a workspace that is missing. Of a convolution it has three engines: one whose
// sums have no order, one that takes f32 as 10 bits of mantissa, and one that does neither; of attention
// and its gradient (AttentionGraph.h) one whose sums have no order and one whose sums do; of other graphs
// none.
//
// EPL_CUDNN_REAL names the real library, if it is there, and EPL_CUDNN_DEVICE a file that describes a device:
// its descriptors get the same values, what it refuses is refused, and its engines are those that there are.
//
//===----------------------------------------------------------------------===//

#include "test/cuda/libraries/cudnn/AttendArguments.h"
#include "test/cuda/libraries/cudnn/AttendKernels.h"
#include "test/cuda/libraries/cudnn/AttentionGraph.h"
#include "test/cuda/libraries/cudnn/ConvolveArguments.h"
#include "test/cuda/libraries/cudnn/ConvolveKernels.h"
#include "test/cuda/libraries/cudnn/Real.h"

#include <cuda.h>

#include <algorithm>

using namespace epl::runtime::cuda::dnn;
using cudnn_double::AttendArguments;
using cudnn_double::AttendGradientArguments;
using cudnn_double::AttendTensor;
using cudnn_double::AttentionGradientGraph;
using cudnn_double::AttentionGraph;
using cudnn_double::ConvolveArguments;
using cudnn_double::OperationNames;
using cudnn_double::Real;
using cudnn_double::TensorArguments;

namespace epl::runtime::cuda::dnn {

struct LibraryT {
  CUmodule convolutions, attention;
  CUstream stream = nullptr;
  std::map<std::string, CUfunction> functions; ///< that have been used: each is loaded by its first launch
};

} // namespace epl::runtime::cuda::dnn

namespace {

constexpr int64_t kWorkspace = 256;
thread_local std::string lastError;

Status refuse(Status status, std::string why) {
  lastError = std::move(why);
  return status;
}

/// The notes of the engines that heuristics have, likely ones first.
std::vector<std::vector<NumericalNote>> enginesOf(const DescriptorT &heuristics) {
  const DescriptorT &graph = heuristics.at(Attribute::heuristicsGraph);
  bool isConvolution = graph.list<Descriptor>(Attribute::graphOperations).size() == 1 &&
                       cudnn_double::namesOf(graph.at(Attribute::graphOperations).kind);
  if (!isConvolution && !cudnn_double::findAttention(graph) && !cudnn_double::findAttentionGradient(graph))
    return {};
  if (!isConvolution)
    return {{NumericalNote::tensorCore, NumericalNote::nondeterministic}, {NumericalNote::tensorCore}};
  if (heuristics.get<HeuristicsMode>(Attribute::heuristicsMode) == HeuristicsMode::fallback)
    return {{}};
  return {{NumericalNote::tensorCore, NumericalNote::nondeterministic}, {NumericalNote::tensorCore}, {}};
}

/// Copies values out, as many as are asked for.
template <typename T> Status give(const std::vector<T> &values, int64_t asked, int64_t *found, void *into) {
  *found = int64_t(values.size());
  if (into)
    std::memcpy(into, values.data(), size_t(std::clamp<int64_t>(asked, 0, *found)) * sizeof(T));
  return Status::success;
}

/// Puts engines into the choices that are to have them.
Status giveChoices(const DescriptorT &heuristics, int64_t asked, int64_t *found, void *into) {
  auto *choices = static_cast<Descriptor *>(into);
  const int64_t count = into ? asked : 0;
  for (int64_t i = 0; i < count; ++i)
    if (!choices[i] || choices[i]->kind != Kind::engineChoice)
      return refuse(Status::badParameter, "results of heuristics are choices of engines");
  std::vector<std::vector<NumericalNote>> engines;
  if (const Real *real = Real::get())
    *found = real->choose(heuristics, count, choices);
  else
    engines = enginesOf(heuristics), *found = int64_t(engines.size());
  for (int64_t i = 0; i < std::min(count, *found); ++i) {
    choices[i]->isFinal = true;
    choices[i]->graph = &heuristics.at(Attribute::heuristicsGraph);
    if (!engines.empty())
      choices[i]->notes = engines[size_t(i)];
  }
  return Status::success;
}

Status giveEngine(const DescriptorT &choice, int64_t *found, void *into) {
  auto *engine = static_cast<Descriptor *>(into);
  if (!choice.isFinal || !engine || !*engine || (*engine)->kind != Kind::engine)
    return refuse(Status::badParameter, "the engine of a choice is an engine");
  (*engine)->notes = choice.notes;
  (*engine)->isFinal = true;
  *found = 1;
  return Status::success;
}

/// The gradient of attention takes two bytes for a pair of positions.
int64_t workspaceOf(const DescriptorT &plan) {
  const Real *real = Real::get();
  if (auto gradient = cudnn_double::findAttentionGradient(*plan.at(Attribute::planChoice).graph);
      gradient && !real) {
    std::vector<int64_t> q = gradient->q->list<int64_t>(Attribute::tensorExtents),
                         k = gradient->k->list<int64_t>(Attribute::tensorExtents);
    return kWorkspace + 2 * q[0] * q[1] * q[2] * k[3];
  }
  return std::max(kWorkspace, real ? real->workspaceOf(plan) : 0);
}

const char *nameOf(DataType type) {
  switch (type) {
  case DataType::f32:
    return "f32";
  case DataType::f64:
    return "f64";
  case DataType::f16:
    return "f16";
  case DataType::bf16:
    return "bf16";
  default:
    break;
  }
  return "unknown";
}

/// A tensor at the address that a pack has for it; address 0 if it has none that is aligned as was promised.
TensorArguments argumentsOf(const DescriptorT &tensor, const DescriptorT &pack) {
  std::vector<int64_t> ids = pack.list<int64_t>(Attribute::packIds);
  std::vector<void *> pointers = pack.list<void *>(Attribute::packPointers);
  auto at = std::ranges::find(ids, tensor.get<int64_t>(Attribute::tensorId));
  TensorArguments made{0, {1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}};
  if (at == ids.end())
    return made;
  auto address = reinterpret_cast<unsigned long>(pointers[size_t(at - ids.begin())]);
  if (address % uint64_t(tensor.get<int64_t>(Attribute::tensorAlignment)) == 0)
    made.pointer = address;
  std::ranges::copy(tensor.list<int64_t>(Attribute::tensorExtents), made.extents);
  std::ranges::copy(tensor.list<int64_t>(Attribute::tensorStrides), made.strides);
  return made;
}

double factorOf(const DescriptorT &operation, Attribute attribute, bool isDouble) {
  return isDouble ? operation.get<double>(attribute) : double(operation.get<float>(attribute));
}

/// What a kernel has of an axis without one.
void fillAxes(ConvolveArguments &arguments, const DescriptorT &convolution) {
  std::fill_n(arguments.stride, cudnn_double::kMostAxes, 1);
  std::fill_n(arguments.dilation, cudnn_double::kMostAxes, 1);
  std::fill_n(arguments.before, cudnn_double::kMostAxes, 0);
  std::ranges::copy(convolution.list<int64_t>(Attribute::convolutionStrides), arguments.stride);
  std::ranges::copy(convolution.list<int64_t>(Attribute::convolutionDilations), arguments.dilation);
  std::ranges::copy(convolution.list<int64_t>(Attribute::convolutionBefore), arguments.before);
}

template <typename Arguments>
Status launch(Handle handle, CUmodule module, const std::string &name, Arguments arguments, long elements) {
  CUfunction &function = handle->functions[name];
  if (!function && cuModuleGetFunction(&function, module, name.c_str()) != CUDA_SUCCESS)
    return refuse(Status::notSupported, "no kernel " + name);
  auto blocks = unsigned(std::clamp<long>((elements + 127) / 128, 1, 1024));
  void *parameters[] = {&arguments};
  CUresult result = cuLaunchKernel(function, blocks, 1, 1, 128, 1, 1, 0, handle->stream, parameters, nullptr);
  return result == CUDA_SUCCESS ? Status::success : refuse(Status::failed, "cuLaunchKernel fails");
}

Status launch(Handle handle, const std::string &name, const ConvolveArguments &arguments) {
  const TensorArguments &written = arguments.writes == 0   ? arguments.image
                                   : arguments.writes == 1 ? arguments.filter
                                                           : arguments.output;
  long elements = 1;
  for (long extent : written.extents)
    elements *= extent;
  return launch(handle, handle->convolutions, name, arguments, elements);
}

/// An operand of attention; k, which is transposed there, as it lies.
AttendTensor operandOf(const DescriptorT &tensor, const DescriptorT &pack, bool isTransposed = false) {
  TensorArguments found = argumentsOf(tensor, pack);
  AttendTensor made{found.pointer, {}};
  std::copy_n(found.strides, 4, made.strides);
  if (isTransposed)
    std::swap(made.strides[2], made.strides[3]);
  return made;
}

/// The value of a tensor that is passed by value, at an address of the host.
std::optional<float> scalarOf(const DescriptorT &tensor, const DescriptorT &pack) {
  auto *at = reinterpret_cast<const float *>(argumentsOf(tensor, pack).pointer);
  return at ? std::optional(*at) : std::nullopt;
}

Status attend(Handle handle, const AttentionGraph &graph, const DescriptorT &pack) {
  std::vector<int64_t> q = graph.q->list<int64_t>(Attribute::tensorExtents),
                       v = graph.v->list<int64_t>(Attribute::tensorExtents);
  std::optional<float> scale = scalarOf(*graph.scale, pack);
  std::optional<float> mask = graph.mask ? scalarOf(*graph.mask, pack) : std::nullopt;
  if (!scale || (graph.mask && (!mask || *mask > -1e30F)))
    return refuse(Status::badParameter, "a pack lacks the scale, or a mask far below all scores");
  AttendArguments arguments{operandOf(*graph.q, pack),
                            operandOf(*graph.k, pack, true),
                            operandOf(*graph.v, pack),
                            operandOf(*graph.o, pack),
                            argumentsOf(*graph.stats, pack).pointer,
                            q[0],
                            q[1],
                            q[1] / v[1],
                            q[2],
                            v[2],
                            q[3],
                            v[3],
                            *scale,
                            graph.mask != nullptr,
                            reinterpret_cast<unsigned long>(pack.get<void *>(Attribute::packWorkspace))};
  if (!arguments.q.pointer || !arguments.k.pointer || !arguments.v.pointer || !arguments.o.pointer ||
      !arguments.stats || !arguments.workspace)
    return refuse(Status::badParameter, "a pack lacks a tensor, aligned as was promised, or the workspace");
  return launch(handle, handle->attention,
                std::string("attend_") + nameOf(graph.q->get<DataType>(Attribute::tensorType)), arguments,
                q[0] * q[1] * q[2] * v[3]);
}

Status attendBack(Handle handle, const AttentionGradientGraph &graph, const DescriptorT &pack) {
  std::vector<int64_t> q = graph.q->list<int64_t>(Attribute::tensorExtents),
                       v = graph.dv->list<int64_t>(Attribute::tensorExtents);
  std::optional<float> scale = scalarOf(*graph.scale, pack), one = scalarOf(*graph.one, pack);
  std::optional<float> mask = graph.mask ? scalarOf(*graph.mask, pack) : std::nullopt;
  if (!scale || !one || (graph.mask && (!mask || *mask > -1e30F)))
    return refuse(Status::badParameter, "a pack lacks a factor, or a mask far below all scores");
  AttendGradientArguments arguments{
      operandOf(*graph.q, pack),
      operandOf(*graph.k, pack, true),
      operandOf(*graph.v, pack, true),
      operandOf(*graph.o, pack),
      operandOf(*graph.dO, pack),
      operandOf(*graph.dq, pack),
      operandOf(*graph.dk, pack),
      operandOf(*graph.dv, pack),
      argumentsOf(*graph.stats, pack).pointer,
      argumentsOf(*graph.rowSums, pack).pointer,
      q[0],
      q[1],
      q[1] / v[1],
      q[2],
      v[2],
      q[3],
      v[3],
      *scale,
      *one,
      graph.mask != nullptr,
      reinterpret_cast<unsigned long>(pack.get<void *>(Attribute::packWorkspace))};
  bool isWhole = arguments.stats && arguments.rowSums && arguments.workspace;
  for (const AttendTensor &tensor : {arguments.q, arguments.k, arguments.v, arguments.o, arguments.dO,
                                     arguments.dq, arguments.dk, arguments.dv})
    isWhole = isWhole && tensor.pointer;
  if (!isWhole)
    return refuse(Status::badParameter, "a pack lacks a tensor, aligned as was promised, or the workspace");
  return launch(handle, handle->attention,
                std::string("attend_back_") + nameOf(graph.q->get<DataType>(Attribute::tensorType)),
                arguments, q[0] * q[1] * std::max(q[2] * q[3], v[2] * std::max(q[3], v[3])));
}

} // namespace

extern "C" {

size_t cudnnGetVersion() {
  constexpr size_t kOwn = 91900;
  const Real *real = Real::get();
  return real ? real->version() : kOwn;
}

Status cudnnCreate(Handle *handle) {
  CUmodule convolutions = nullptr, attention = nullptr;
  if (const Real *real = Real::get(); real && real->state() != Status::success)
    return real->state();
  if (cuModuleLoadData(&convolutions, std::string(convolveKernels()).c_str()) != CUDA_SUCCESS ||
      cuModuleLoadData(&attention, std::string(attendKernels()).c_str()) != CUDA_SUCCESS)
    return Status::notInitialized;
  *handle = new LibraryT{convolutions, attention, nullptr, {}};
  return Status::success;
}

Status cudnnDestroy(Handle handle) {
  delete handle; // its modules go with the card's context
  return Status::success;
}

Status cudnnSetStream(Handle handle, CUstream stream) {
  handle->stream = stream;
  return Status::success;
}

void cudnnGetLastErrorString(char *message, size_t size) {
  if (size > 0)
    message[lastError.copy(message, size - 1)] = 0;
}

Status cudnnBackendCreateDescriptor(Kind kind, Descriptor *descriptor) {
  *descriptor = new DescriptorT(kind);
  const Real *real = Real::get();
  return real ? real->create(**descriptor) : Status::success;
}

Status cudnnBackendDestroyDescriptor(Descriptor descriptor) {
  const Real *real = Real::get();
  Status status = real ? real->destroy(*descriptor) : Status::success;
  delete descriptor;
  return status;
}

Status cudnnBackendSetAttribute(Descriptor descriptor, Attribute attribute, ValueType type, int64_t count,
                                const void *values) {
  if (std::string fault = cudnn_double::faultOfSetting(*descriptor, attribute, type, count, values);
      !fault.empty())
    return refuse(Status::badParameter, std::move(fault));
  auto *bytes = static_cast<const std::byte *>(values);
  descriptor->attributes[attribute].assign(bytes, bytes + size_t(count) * cudnn_double::sizeOf(type));
  const Real *real = Real::get();
  return real ? real->set(*descriptor, attribute, type, count, values) : Status::success;
}

Status cudnnBackendFinalize(Descriptor descriptor) {
  if (std::string fault = cudnn_double::faultOf(*descriptor); !fault.empty())
    return refuse(Status::badParameter, std::move(fault));
  const Real *real = Real::get();
  Status status = real ? real->finish(*descriptor) : Status::success;
  descriptor->isFinal = status == Status::success;
  return status;
}

Status cudnnBackendGetAttribute(Descriptor descriptor, Attribute attribute, ValueType type, int64_t asked,
                                int64_t *found, void *values) {
  if (descriptor->isFinal && attribute == Attribute::heuristicsResults && type == ValueType::descriptor)
    return giveChoices(*descriptor, asked, found, values);
  if (attribute == Attribute::choiceEngine && type == ValueType::descriptor)
    return giveEngine(*descriptor, found, values);
  if (descriptor->isFinal && attribute == Attribute::engineNotes && type == ValueType::numericalNote)
    return give(descriptor->notes, asked, found, values);
  if (descriptor->isFinal && attribute == Attribute::planWorkspace && type == ValueType::int64)
    return give(std::vector<int64_t>{workspaceOf(*descriptor)}, asked, found, values);
  return refuse(Status::badParameter, "attribute " + std::to_string(int(attribute)) + " is not to be had");
}

Status cudnnBackendExecute(Handle handle, Descriptor plan, Descriptor pack) {
  if (!plan->isFinal || !pack->isFinal || plan->get<Handle>(Attribute::planHandle) != handle)
    return refuse(Status::badParameter, "a plan of another handle, or a descriptor that is not final");
  const DescriptorT &choice = plan->at(Attribute::planChoice);
  if (std::optional<AttentionGraph> attention = cudnn_double::findAttention(*choice.graph))
    return attend(handle, *attention, *pack);
  if (std::optional<AttentionGradientGraph> gradient = cudnn_double::findAttentionGradient(*choice.graph))
    return attendBack(handle, *gradient, *pack);
  const DescriptorT &operation = choice.graph->at(Attribute::graphOperations);
  const OperationNames &names = *cudnn_double::namesOf(operation.kind);
  const DescriptorT &convolution = operation.at(names.convolution);
  DataType sums = convolution.get<DataType>(Attribute::convolutionType);
  ConvolveArguments arguments{};
  arguments.image = argumentsOf(operation.at(names.image), *pack);
  arguments.filter = argumentsOf(operation.at(names.filter), *pack);
  arguments.output = argumentsOf(operation.at(names.output), *pack);
  fillAxes(arguments, convolution);
  arguments.writes = operation.kind == Kind::backwardImage    ? 0
                     : operation.kind == Kind::backwardFilter ? 1
                                                              : 2;
  arguments.flips = convolution.get<ConvolutionMode>(Attribute::convolutionMode) == ConvolutionMode::flips;
  arguments.beta = factorOf(operation, names.beta, sums == DataType::f64);
  arguments.workspace = reinterpret_cast<unsigned long>(pack->get<void *>(Attribute::packWorkspace));
  if (!arguments.image.pointer || !arguments.filter.pointer || !arguments.output.pointer ||
      !arguments.workspace)
    return refuse(Status::badParameter, "a pack lacks a tensor, aligned as was promised, or the workspace");
  if (factorOf(operation, names.alpha, sums == DataType::f64) != 1)
    return refuse(Status::notSupported, "alpha is not 1");
  auto type = operation.at(names.image).get<DataType>(Attribute::tensorType);
  bool isTf32 = type == DataType::f32 &&
                std::ranges::find(choice.notes, NumericalNote::tensorCore) != choice.notes.end();
  return launch(handle, std::string("convolve_") + (isTf32 ? "tf32" : nameOf(type)) + "_" + nameOf(type),
                arguments);
}

} // extern "C"
