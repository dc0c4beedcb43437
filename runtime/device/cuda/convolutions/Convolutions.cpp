#include "runtime/device/cuda/convolutions/Convolutions.h"

#include "runtime/Error.h"
#include "runtime/device/cuda/Environment.h"
#include "runtime/device/cuda/convolutions/Descriptors.h"
#include "runtime/plan/model/Convolutions.h"

#include <algorithm>
#include <bit>
#include <cstdio>

namespace epl::runtime::cuda {

using dnn::Attribute;
using dnn::Kind;
using dnn::OwnDescriptor;
using dnn::ValueType;

// Memory that the library may work in: what gradients of usual layers take, and no more than a plan leaves
// room for.
static constexpr int64_t kMostWorkspace = int64_t(64) << 20;

std::shared_ptr<const ConvolutionLibrary> ConvolutionLibrary::open(std::shared_ptr<const Cards> cards,
                                                                   uint32_t card) {
  const dnn::Cudnn *api = dnn::Cudnn::get();
  dnn::Handle handle = nullptr;
  cards->use(card);
  dnn::Status status = api ? api->cudnnCreate(&handle) : dnn::Status::success;
  if (handle && status == dnn::Status::success)
    return std::make_shared<ConvolutionLibrary>(*api, handle, std::move(cards), card);
  static std::once_flag isSaid;
  std::call_once(isSaid, [&] {
    std::string why =
        api ? "cudnnCreate fails with status " + std::to_string(int(status))
            : "no libcudnn.so.9 is found (pip install nvidia-cudnn-cu13, or name it in EPL_CUDNN)";
    std::fprintf(stderr, "epl: convolutions on GPUs take code that is slower than a library: %s\n",
                 why.c_str());
  });
  return nullptr;
}

ConvolutionLibrary::ConvolutionLibrary(const dnn::Cudnn &api, dnn::Handle handle,
                                       std::shared_ptr<const Cards> cards, uint32_t card)
    : api(api), handle(handle), cards(std::move(cards)), card(card),
      takesTf32(isSwitchedOn("EPL_CUDA_TF32")) {}

ConvolutionLibrary::~ConvolutionLibrary() {
  known.clear();
  if (cards->tryUse(card))
    api.cudnnDestroy(handle);
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

static dnn::DataType dataTypeOf(plan::ElementType type) {
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

/// The attributes of an operation.
struct OperationAttributes {
  Kind kind;
  Attribute image, filter, output, convolution, alpha, beta;
};

static OperationAttributes attributesOf(plan::ConvolutionTensor writes) {
  switch (writes) {
  case plan::ConvolutionTensor::image:
    return {Kind::backwardImage,
            Attribute::backwardImageImage,
            Attribute::backwardImageFilter,
            Attribute::backwardImageOutput,
            Attribute::backwardImageConvolution,
            Attribute::backwardImageAlpha,
            Attribute::backwardImageBeta};
  case plan::ConvolutionTensor::filter:
    return {Kind::backwardFilter,
            Attribute::backwardFilterImage,
            Attribute::backwardFilterFilter,
            Attribute::backwardFilterOutput,
            Attribute::backwardFilterConvolution,
            Attribute::backwardFilterAlpha,
            Attribute::backwardFilterBeta};
  default:
    return {Kind::forward,
            Attribute::forwardImage,
            Attribute::forwardFilter,
            Attribute::forwardOutput,
            Attribute::forwardConvolution,
            Attribute::forwardAlpha,
            Attribute::forwardBeta};
  }
}

/// The library has at least two axes: a second one of one position.
static void addSecondAxis(ConvolutionView &view) {
  if (view.extents.size() == 3) {
    view.extents.push_back(1);
    view.strides.push_back(1);
  }
}

namespace {

/// What the library knows of a convolution, and how it runs it.
class Plan {
public:
  Plan(const dnn::Cudnn &api, dnn::Handle handle) : api(api), handle(handle) {}

  /// Whether the library takes the convolution.
  bool make(const plan::ConvolutionT &convolution, const ConvolutionOperands &alignments, bool takesTf32);
  dnn::Descriptor get() const { return plan->get(); }
  int64_t workspaceBytes() const { return workspace; }

private:
  /// Descriptors are there as long as others name them.
  OwnDescriptor &add(Kind kind) { return *parts.emplace_back(std::make_unique<OwnDescriptor>(api, kind)); }
  OwnDescriptor &addTensor(const plan::ConvolutionT &convolution, plan::ConvolutionTensor tensor,
                           int64_t alignment);
  OwnDescriptor &addShape(const plan::ConvolutionT &convolution, dnn::DataType sums);
  bool choose(OwnDescriptor &graph, dnn::HeuristicsMode mode, bool takesTf32);
  bool isAccurate(const OwnDescriptor &choice, bool takesTf32) const;
  bool takeChoice(const OwnDescriptor &choice);

  const dnn::Cudnn &api;
  dnn::Handle handle;
  std::vector<std::unique_ptr<OwnDescriptor>> parts;
  std::optional<OwnDescriptor> plan;
  int64_t workspace = 0;
};

} // namespace

OwnDescriptor &Plan::addTensor(const plan::ConvolutionT &convolution, plan::ConvolutionTensor tensor,
                               int64_t alignment) {
  ConvolutionView view = viewOf(convolution, tensor);
  addSecondAxis(view);
  OwnDescriptor &made = add(Kind::tensor);
  made.set(Attribute::tensorType, ValueType::dataType, dataTypeOf(view.type))
      .set(Attribute::tensorExtents, ValueType::int64, std::span<const int64_t>(view.extents))
      .set(Attribute::tensorStrides, ValueType::int64, std::span<const int64_t>(view.strides))
      .set(Attribute::tensorId, ValueType::int64, int64_t(tensor))
      .set(Attribute::tensorAlignment, ValueType::int64, alignment)
      .finish();
  return made;
}

/// How the filter moves.
OwnDescriptor &Plan::addShape(const plan::ConvolutionT &convolution, dnn::DataType sums) {
  std::vector<int64_t> strides, dilations, before, after;
  for (const plan::ConvolutionAxis &axis : convolution.axes) {
    strides.push_back(axis.stride()), dilations.push_back(axis.dilation());
    before.push_back(axis.before()), after.push_back(axis.after());
  }
  if (convolution.axes.size() == 1)
    strides.push_back(1), dilations.push_back(1), before.push_back(0), after.push_back(0);
  auto list = [](const std::vector<int64_t> &numbers) { return std::span<const int64_t>(numbers); };
  OwnDescriptor &made = add(Kind::convolution);
  made.set(Attribute::convolutionType, ValueType::dataType, sums)
      .set(Attribute::convolutionMode, ValueType::convolutionMode,
           convolution.flips ? dnn::ConvolutionMode::flips : dnn::ConvolutionMode::straight)
      .set(Attribute::convolutionAxes, ValueType::int64, int64_t(strides.size()))
      .set(Attribute::convolutionStrides, ValueType::int64, list(strides))
      .set(Attribute::convolutionDilations, ValueType::int64, list(dilations))
      .set(Attribute::convolutionBefore, ValueType::int64, list(before))
      .set(Attribute::convolutionAfter, ValueType::int64, list(after))
      .finish();
  return made;
}

bool Plan::make(const plan::ConvolutionT &convolution, const ConvolutionOperands &alignments,
                bool takesTf32) {
  bool isDouble = convolution.type == plan::ElementType::f64;
  OperationAttributes names = attributesOf(convolution.writes);
  OwnDescriptor &image = addTensor(convolution, plan::ConvolutionTensor::image, int64_t(alignments[0]));
  OwnDescriptor &filter = addTensor(convolution, plan::ConvolutionTensor::filter, int64_t(alignments[1]));
  OwnDescriptor &output = addTensor(convolution, plan::ConvolutionTensor::output, int64_t(alignments[2]));
  OwnDescriptor &shape = addShape(convolution, isDouble ? dnn::DataType::f64 : dnn::DataType::f32);
  OwnDescriptor &operation = add(names.kind);
  operation.set(names.image, image).set(names.filter, filter).set(names.output, output);
  operation.set(names.convolution, shape);
  double beta = convolution.accumulate ? 1 : 0;
  if (isDouble)
    operation.set(names.alpha, ValueType::float64, 1.0).set(names.beta, ValueType::float64, beta);
  else
    operation.set(names.alpha, ValueType::float32, 1.0F).set(names.beta, ValueType::float32, float(beta));
  if (!operation.finish())
    return false;
  OwnDescriptor &graph = add(Kind::operationGraph);
  graph.set(Attribute::graphHandle, ValueType::handle, handle).set(Attribute::graphOperations, operation);
  bool narrows = takesTf32 || convolution.type != plan::ElementType::f32;
  return graph.finish() && (choose(graph, dnn::HeuristicsMode::likely, narrows) ||
                            choose(graph, dnn::HeuristicsMode::fallback, narrows));
}

/// Takes the first engine that computes what the plan means.
bool Plan::choose(OwnDescriptor &graph, dnn::HeuristicsMode mode, bool takesTf32) {
  OwnDescriptor &heuristics = add(Kind::heuristics);
  heuristics.set(Attribute::heuristicsGraph, graph)
      .set(Attribute::heuristicsMode, ValueType::heuristicsMode, mode);
  int64_t count = 0;
  auto ask = [&](int64_t asked, void *into) {
    return api.cudnnBackendGetAttribute(heuristics.get(), Attribute::heuristicsResults, ValueType::descriptor,
                                        asked, &count, into) == dnn::Status::success;
  };
  if (!heuristics.finish() || !ask(0, nullptr))
    return false;
  std::vector<OwnDescriptor *> choices;
  std::vector<dnn::Descriptor> raw;
  for (int64_t i = 0; i < count; ++i) {
    choices.push_back(&add(Kind::engineChoice));
    raw.push_back(choices.back()->get());
  }
  if (!ask(count, raw.data()))
    return false;
  choices.resize(size_t(std::min<int64_t>(count, int64_t(choices.size()))));
  return std::ranges::any_of(choices, [&](const OwnDescriptor *choice) {
    return isAccurate(*choice, takesTf32) && takeChoice(*choice);
  });
}

/// Whether an engine adds products of whole operands in the type of sums, always in one order.
bool Plan::isAccurate(const OwnDescriptor &choice, bool takesTf32) const {
  using Note = dnn::NumericalNote;
  OwnDescriptor engine(api, Kind::engine);
  dnn::Descriptor raw = engine.get();
  int64_t count = 0;
  std::array<Note, 32> notes{};
  bool isKnown = api.cudnnBackendGetAttribute(choice.get(), Attribute::choiceEngine, ValueType::descriptor, 1,
                                              &count, &raw) == dnn::Status::success &&
                 api.cudnnBackendGetAttribute(raw, Attribute::engineNotes, ValueType::numericalNote,
                                              notes.size(), &count, notes.data()) == dnn::Status::success;
  auto found = std::span(notes).first(isKnown ? size_t(std::min<int64_t>(count, notes.size())) : 0);
  return isKnown && std::ranges::none_of(found, [&](Note note) {
           return note == Note::narrowsInputs || note == Note::narrowsSums || note == Note::fft ||
                  note == Note::nondeterministic || note == Note::winograd13 ||
                  (note == Note::tensorCore && !takesTf32);
         });
}

bool Plan::takeChoice(const OwnDescriptor &choice) {
  OwnDescriptor made(api, Kind::executionPlan);
  made.set(Attribute::planHandle, ValueType::handle, handle).set(Attribute::planChoice, choice);
  int64_t bytes = 0, count = 0;
  if (!made.finish() ||
      api.cudnnBackendGetAttribute(made.get(), Attribute::planWorkspace, ValueType::int64, 1, &count,
                                   &bytes) != dnn::Status::success ||
      bytes > kMostWorkspace)
    return false;
  plan.emplace(std::move(made));
  workspace = bytes;
  return true;
}

struct ConvolutionLibrary::Chosen {
  Chosen(const dnn::Cudnn &api, dnn::Handle handle) : plan(api, handle) {}

  Plan plan;
};

std::shared_ptr<const ConvolutionLibrary::Chosen>
ConvolutionLibrary::choose(const plan::ConvolutionT &convolution, const ConvolutionOperands &alignments,
                           bool isShort) const {
  std::string key = textOf(convolution) + (isShort ? " short" : "");
  for (CUdeviceptr alignment : alignments)
    key += " " + std::to_string(alignment);
  std::lock_guard<std::mutex> guard(mutex);
  if (auto at = known.find(key); at != known.end())
    return at->second;
  auto made = std::make_shared<Chosen>(api, handle);
  if (!made->plan.make(convolution, alignments, takesTf32 || isShort))
    made = nullptr;
  return known.emplace(std::move(key), std::move(made)).first->second;
}

void ConvolutionLibrary::execute(const Chosen &chosen, const ConvolutionOperands &operands,
                                 CUdeviceptr workspace, CUstream stream) const {
  const int64_t ids[] = {0, 1, 2}; // of `ConvolutionTensor`
  std::array<void *, 3> pointers{};
  std::ranges::transform(operands, pointers.begin(),
                         [](CUdeviceptr at) { return reinterpret_cast<void *>(at); });
  OwnDescriptor pack(api, Kind::variantPack);
  pack.set(Attribute::packIds, ValueType::int64, std::span<const int64_t>(ids))
      .set(Attribute::packPointers, ValueType::pointer, std::span<void *const>(pointers))
      .set(Attribute::packWorkspace, ValueType::pointer, reinterpret_cast<void *>(workspace));
  std::lock_guard<std::mutex> guard(mutex);
  dnn::Status status = pack.finish() ? api.cudnnSetStream(handle, stream) : pack.state();
  if (status == dnn::Status::success)
    status = api.cudnnBackendExecute(handle, chosen.plan.get(), pack.get());
  if (status == dnn::Status::success)
    return;
  std::array<char, 512> message{};
  api.cudnnGetLastErrorString(message.data(), message.size());
  throw Error("cuDNN fails with status " + std::to_string(int(status)) + ": " + message.data());
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

std::optional<ConvolutionCall> ConvolutionCall::make(std::shared_ptr<const ConvolutionLibrary> library,
                                                     const plan::ConvolutionT &convolution,
                                                     const ConvolutionOperands &operands, bool isShort) {
  // The largest powers of two up to 256 that divide the addresses.
  ConvolutionOperands alignments{};
  std::ranges::transform(operands, alignments.begin(),
                         [](CUdeviceptr at) { return CUdeviceptr(1) << std::countr_zero(at | 256); });
  ConvolutionCall call;
  call.chosen = library->choose(convolution, alignments, isShort);
  if (!call.chosen)
    return std::nullopt;
  call.library = std::move(library);
  call.operands = operands;
  return call;
}

size_t ConvolutionCall::workspaceBytes() const { return size_t(chosen->plan.workspaceBytes()); }

void ConvolutionCall::enqueue(CUdeviceptr workspace, CUstream stream) const {
  library->execute(*chosen, operands, workspace, stream);
}

} // namespace epl::runtime::cuda
