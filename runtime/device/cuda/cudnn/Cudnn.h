// The library cuDNN, found when it is needed: nothing is linked. Its headers come with a package of 500 MB,
// so that what is used of them stands here; test/unit/cuda/plugin/CudnnTest.cpp compares it with them. Of the
// library it is the graph API alone: descriptors, which have attributes, and are made final.
#ifndef EPL_RUNTIME_DEVICE_CUDA_CUDNN_CUDNN_H
#define EPL_RUNTIME_DEVICE_CUDA_CUDNN_CUDNN_H

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace epl::runtime::cuda::dnn {

enum class Status : int {
  success = 0,
  notInitialized = 1001,
  badParameter = 2000,
  notSupported = 3000,
  failed = 5000
};

/// What a descriptor describes.
enum class Kind : int {
  pointwise = 0,
  convolution = 1,
  engine = 2,
  engineChoice = 3,
  heuristics = 4,
  executionPlan = 5,
  forward = 10,        // an operation, with y = x * w
  backwardFilter = 11, // dw of x and dy
  backwardImage = 12,  // dx of w and dy
  pointwiseOperation = 13,
  operationGraph = 15,
  variantPack = 16,
  tensor = 17,
  product = 18,
  productOperation = 19,
  reduction = 21,
  reductionOperation = 22,
  reshapeOperation = 31,
  deviceProperties = 38
};

/// Of descriptors; the types of values are those of `ValueType`.
enum class Attribute : int {
  pointwiseMode = 0,          // pointwiseMode
  pointwiseType = 1,          // dataType: it is computed in it
  pointwiseAxis = 9,          // int64: of positions
  convolutionType = 100,      // dataType: sums are in it
  convolutionMode = 101,      // convolutionMode
  convolutionDilations = 102, // int64, of each axis
  convolutionStrides = 103,   // int64
  convolutionAfter = 104,     // int64: zeros
  convolutionBefore = 105,    // int64
  convolutionAxes = 106,      // int64: how many
  heuristicsMode = 200,       // heuristicsMode
  heuristicsGraph = 201,      // descriptor
  heuristicsResults = 202,    // descriptors, which are there before
  heuristicsDevice = 204,     // descriptor
  choiceEngine = 300,         // descriptor
  planHandle = 400,           // handle
  planChoice = 401,           // descriptor
  planWorkspace = 402,        // int64: bytes
  planDevice = 407,           // descriptor
  forwardAlpha = 700,         // float, or double for sums of that; result = alpha product + beta result
  forwardBeta = 701,
  forwardConvolution = 702, // descriptor
  forwardFilter = 703,
  forwardImage = 704,
  forwardOutput = 705,
  backwardImageAlpha = 706,
  backwardImageBeta = 707,
  backwardImageConvolution = 708,
  backwardImageFilter = 709,
  backwardImageImage = 710,
  backwardImageOutput = 711,
  backwardFilterAlpha = 712,
  backwardFilterBeta = 713,
  backwardFilterConvolution = 714,
  backwardFilterFilter = 715,
  backwardFilterImage = 716,
  backwardFilterOutput = 717,
  pointwiseDescriptor = 750, // descriptor: the pointwise that the operation does
  pointwiseX = 751,          // y = f(x), f(x, b), or t ? x : b
  pointwiseB = 752,
  pointwiseY = 753,
  pointwiseT = 758,
  graphHandle = 800,     // handle
  graphOperations = 801, // descriptors
  tensorAlignment = 900, // int64: bytes
  tensorType = 901,      // dataType
  tensorExtents = 902,   // int64
  tensorStrides = 903,   // int64: elements
  tensorId = 906,        // int64
  tensorIsVirtual = 907, // boolean: between operations, nowhere in memory
  tensorIsByValue = 908, // boolean: its one element is on the host
  packIds = 1000,        // int64
  packPointers = 1001,   // pointers
  packWorkspace = 1003,  // pointer
  engineNotes = 1303,    // numericalNote
  productType = 1500,    // dataType: sums are in it
  productA = 1520,       // c = a b
  productB = 1521,
  productC = 1522,
  productDescriptor = 1523,
  reductionOperator = 1600, // reductionOperator
  reductionType = 1601,     // dataType
  reductionX = 1610,
  reductionY = 1611,
  reductionDescriptor = 1612,
  reshapeX = 2200, // y = x, with other extents or strides
  reshapeY = 2201,
  deviceText = 2702 // chars
};

enum class ValueType : int {
  handle = 0,
  dataType = 1,
  boolean = 2,
  int64 = 3,
  float32 = 4,
  float64 = 5,
  pointer = 6,
  convolutionMode = 7,
  heuristicsMode = 8,
  numericalNote = 11,
  pointwiseMode = 14,
  descriptor = 15,
  reductionOperator = 18,
  chars = 24
};

enum class DataType : int { f32 = 0, f64 = 1, f16 = 2, i32 = 4, bf16 = 9, boolean = 11 };
/// What is done with each element. `position` is where it is along an axis.
enum class PointwiseMode : int {
  add = 0,
  multiply = 1,
  divide = 6,
  subtract = 9,
  exp = 13,
  log = 15,
  isAtLeast = 303,
  position = 501,
  select = 601
};
enum class ReductionOperator : int { add = 0, maximum = 3 };
/// Whether taps are in reverse order.
enum class ConvolutionMode : int { flips = 0, straight = 1 };
/// Which engines come first: what is likely fastest, or what works in any case.
enum class HeuristicsMode : int { fallback = 2, likely = 3 };
/// How an engine computes. tensorCore with f32: of 10 bits of mantissa.
enum class NumericalNote : int {
  tensorCore = 0,
  narrowsInputs = 1,
  narrowsSums = 2,
  fft = 3,
  nondeterministic = 4,
  winograd13 = 8
};

using Handle = struct LibraryT *;
using Descriptor = struct DescriptorT *;

// NOLINTBEGIN(readability-identifier-naming): the library's names
using cudnnGetVersion = size_t();
using cudnnCreate = Status(Handle *);
using cudnnDestroy = Status(Handle);
using cudnnSetStream = Status(Handle, CUstream);
using cudnnGetLastErrorString = void(char *message, size_t size);
using cudnnBackendCreateDescriptor = Status(Kind, Descriptor *);
using cudnnBackendDestroyDescriptor = Status(Descriptor);
using cudnnBackendFinalize = Status(Descriptor);
using cudnnBackendSetAttribute = Status(Descriptor, Attribute, ValueType, int64_t count, const void *values);
/// `found`: how many there are; at most `asked` of them are copied.
using cudnnBackendGetAttribute = Status(Descriptor, Attribute, ValueType, int64_t asked, int64_t *found,
                                        void *values);
using cudnnBackendExecute = Status(Handle, Descriptor executionPlan, Descriptor variantPack);
// NOLINTEND(readability-identifier-naming)

/// All that is used of the library.
#define EPL_CUDNN_FUNCTIONS(DO)                                                                              \
  DO(cudnnGetVersion)                                                                                        \
  DO(cudnnCreate)                                                                                            \
  DO(cudnnDestroy)                                                                                           \
  DO(cudnnSetStream)                                                                                         \
  DO(cudnnGetLastErrorString)                                                                                \
  DO(cudnnBackendCreateDescriptor)                                                                           \
  DO(cudnnBackendDestroyDescriptor)                                                                          \
  DO(cudnnBackendFinalize)                                                                                   \
  DO(cudnnBackendSetAttribute)                                                                               \
  DO(cudnnBackendGetAttribute)                                                                               \
  DO(cudnnBackendExecute)

/// The library of the process: what EPL_CUDNN names, else `libcudnn.so.9` as runtime/device/cpu/Library.h
/// finds it.
struct Cudnn {
  /// Opens it the first time; null if there is none. Throws Error if it lacks a function, or if the one that
  /// is named cannot be loaded.
  static const Cudnn *get();

#define EPL_DECLARE(name) dnn::name *name = nullptr; // NOLINT(bugprone-macro-parentheses)
  EPL_CUDNN_FUNCTIONS(EPL_DECLARE)
#undef EPL_DECLARE
};

} // namespace epl::runtime::cuda::dnn

#endif // EPL_RUNTIME_DEVICE_CUDA_CUDNN_CUDNN_H
