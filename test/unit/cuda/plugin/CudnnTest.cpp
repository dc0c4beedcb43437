// What we say of cuDNN beside its own headers, where they are.

#include "runtime/device/cuda/cudnn/Cudnn.h"
#include "test/unit/cuda/plugin/Forms.h"

#include <cudnn.h>

#include <gtest/gtest.h>

namespace dnn = epl::runtime::cuda::dnn;

static_assert(areEqual(dnn::Status::success, CUDNN_STATUS_SUCCESS));
static_assert(areEqual(dnn::Status::notInitialized, CUDNN_STATUS_NOT_INITIALIZED));
static_assert(areEqual(dnn::Status::badParameter, CUDNN_STATUS_BAD_PARAM));
static_assert(areEqual(dnn::Status::notSupported, CUDNN_STATUS_NOT_SUPPORTED));
static_assert(areEqual(dnn::Status::failed, CUDNN_STATUS_EXECUTION_FAILED));
static_assert(areEqual(dnn::Kind::convolution, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR));
static_assert(areEqual(dnn::Kind::engine, CUDNN_BACKEND_ENGINE_DESCRIPTOR));
static_assert(areEqual(dnn::Kind::engineChoice, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
static_assert(areEqual(dnn::Kind::heuristics, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR));
static_assert(areEqual(dnn::Kind::executionPlan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
static_assert(areEqual(dnn::Kind::forward, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR));
static_assert(areEqual(dnn::Kind::backwardFilter,
                       CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR));
static_assert(areEqual(dnn::Kind::backwardImage,
                       CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR));
static_assert(areEqual(dnn::Kind::operationGraph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
static_assert(areEqual(dnn::Kind::variantPack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
static_assert(areEqual(dnn::Kind::reshapeOperation, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR));
static_assert(areEqual(dnn::Attribute::reshapeX, CUDNN_ATTR_OPERATION_RESHAPE_XDESC));
static_assert(areEqual(dnn::Attribute::reshapeY, CUDNN_ATTR_OPERATION_RESHAPE_YDESC));
static_assert(areEqual(dnn::Kind::tensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR));
static_assert(areEqual(dnn::Kind::deviceProperties, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR));
static_assert(areEqual(dnn::Attribute::convolutionType, CUDNN_ATTR_CONVOLUTION_COMP_TYPE));
static_assert(areEqual(dnn::Attribute::convolutionMode, CUDNN_ATTR_CONVOLUTION_CONV_MODE));
static_assert(areEqual(dnn::Attribute::convolutionDilations, CUDNN_ATTR_CONVOLUTION_DILATIONS));
static_assert(areEqual(dnn::Attribute::convolutionStrides, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES));
static_assert(areEqual(dnn::Attribute::convolutionAfter, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS));
static_assert(areEqual(dnn::Attribute::convolutionBefore, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS));
static_assert(areEqual(dnn::Attribute::convolutionAxes, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS));
static_assert(areEqual(dnn::Attribute::heuristicsMode, CUDNN_ATTR_ENGINEHEUR_MODE));
static_assert(areEqual(dnn::Attribute::heuristicsGraph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH));
static_assert(areEqual(dnn::Attribute::heuristicsResults, CUDNN_ATTR_ENGINEHEUR_RESULTS));
static_assert(areEqual(dnn::Attribute::heuristicsDevice, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP));
static_assert(areEqual(dnn::Attribute::choiceEngine, CUDNN_ATTR_ENGINECFG_ENGINE));
static_assert(areEqual(dnn::Attribute::planHandle, CUDNN_ATTR_EXECUTION_PLAN_HANDLE));
static_assert(areEqual(dnn::Attribute::planChoice, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG));
static_assert(areEqual(dnn::Attribute::planWorkspace, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
static_assert(areEqual(dnn::Attribute::planDevice, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP));
static_assert(areEqual(dnn::Attribute::graphHandle, CUDNN_ATTR_OPERATIONGRAPH_HANDLE));
static_assert(areEqual(dnn::Attribute::graphOperations, CUDNN_ATTR_OPERATIONGRAPH_OPS));
static_assert(areEqual(dnn::Attribute::tensorAlignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT));
static_assert(areEqual(dnn::Attribute::tensorType, CUDNN_ATTR_TENSOR_DATA_TYPE));
static_assert(areEqual(dnn::Attribute::tensorExtents, CUDNN_ATTR_TENSOR_DIMENSIONS));
static_assert(areEqual(dnn::Attribute::tensorStrides, CUDNN_ATTR_TENSOR_STRIDES));
static_assert(areEqual(dnn::Attribute::tensorId, CUDNN_ATTR_TENSOR_UNIQUE_ID));
static_assert(areEqual(dnn::Attribute::packIds, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS));
static_assert(areEqual(dnn::Attribute::packPointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS));
static_assert(areEqual(dnn::Attribute::packWorkspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE));
static_assert(areEqual(dnn::Attribute::engineNotes, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE));
static_assert(areEqual(dnn::Attribute::deviceText, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION));
static_assert(areEqual(dnn::Attribute::forwardAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA));
static_assert(areEqual(dnn::Attribute::forwardBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA));
static_assert(areEqual(dnn::Attribute::forwardConvolution,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC));
static_assert(areEqual(dnn::Attribute::forwardImage, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X));
static_assert(areEqual(dnn::Attribute::forwardFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W));
static_assert(areEqual(dnn::Attribute::forwardOutput, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y));
static_assert(areEqual(dnn::Attribute::backwardImageAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA));
static_assert(areEqual(dnn::Attribute::backwardImageBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA));
static_assert(areEqual(dnn::Attribute::backwardImageConvolution,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC));
static_assert(areEqual(dnn::Attribute::backwardImageImage, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX));
static_assert(areEqual(dnn::Attribute::backwardImageFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W));
static_assert(areEqual(dnn::Attribute::backwardImageOutput, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY));
static_assert(areEqual(dnn::Attribute::backwardFilterAlpha,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA));
static_assert(areEqual(dnn::Attribute::backwardFilterBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA));
static_assert(areEqual(dnn::Attribute::backwardFilterConvolution,
                       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC));
static_assert(areEqual(dnn::Attribute::backwardFilterImage, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X));
static_assert(areEqual(dnn::Attribute::backwardFilterFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW));
static_assert(areEqual(dnn::Attribute::backwardFilterOutput, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY));
static_assert(areEqual(dnn::ValueType::handle, CUDNN_TYPE_HANDLE));
static_assert(areEqual(dnn::ValueType::dataType, CUDNN_TYPE_DATA_TYPE));
static_assert(areEqual(dnn::ValueType::int64, CUDNN_TYPE_INT64));
static_assert(areEqual(dnn::ValueType::float32, CUDNN_TYPE_FLOAT));
static_assert(areEqual(dnn::ValueType::float64, CUDNN_TYPE_DOUBLE));
static_assert(areEqual(dnn::ValueType::pointer, CUDNN_TYPE_VOID_PTR));
static_assert(areEqual(dnn::ValueType::convolutionMode, CUDNN_TYPE_CONVOLUTION_MODE));
static_assert(areEqual(dnn::ValueType::heuristicsMode, CUDNN_TYPE_HEUR_MODE));
static_assert(areEqual(dnn::ValueType::numericalNote, CUDNN_TYPE_NUMERICAL_NOTE));
static_assert(areEqual(dnn::ValueType::descriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR));
static_assert(areEqual(dnn::ValueType::chars, CUDNN_TYPE_CHAR));
static_assert(areEqual(dnn::DataType::f32, CUDNN_DATA_FLOAT));
static_assert(areEqual(dnn::DataType::f64, CUDNN_DATA_DOUBLE));
static_assert(areEqual(dnn::DataType::f16, CUDNN_DATA_HALF));
static_assert(areEqual(dnn::DataType::bf16, CUDNN_DATA_BFLOAT16));
static_assert(areEqual(dnn::ConvolutionMode::flips, CUDNN_CONVOLUTION));
static_assert(areEqual(dnn::ConvolutionMode::straight, CUDNN_CROSS_CORRELATION));
static_assert(areEqual(dnn::HeuristicsMode::fallback, CUDNN_HEUR_MODE_FALLBACK));
static_assert(areEqual(dnn::HeuristicsMode::likely, CUDNN_HEUR_MODE_A));
static_assert(areEqual(dnn::NumericalNote::tensorCore, CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
static_assert(areEqual(dnn::NumericalNote::narrowsInputs, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS));
static_assert(areEqual(dnn::NumericalNote::narrowsSums, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION));
static_assert(areEqual(dnn::NumericalNote::fft, CUDNN_NUMERICAL_NOTE_FFT));
static_assert(areEqual(dnn::NumericalNote::nondeterministic, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC));
static_assert(areEqual(dnn::NumericalNote::winograd13, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13));

// Of attention.
static_assert(areEqual(dnn::Kind::pointwise, CUDNN_BACKEND_POINTWISE_DESCRIPTOR));
static_assert(areEqual(dnn::Kind::pointwiseOperation, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR));
static_assert(areEqual(dnn::Kind::product, CUDNN_BACKEND_MATMUL_DESCRIPTOR));
static_assert(areEqual(dnn::Kind::productOperation, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR));
static_assert(areEqual(dnn::Kind::reduction, CUDNN_BACKEND_REDUCTION_DESCRIPTOR));
static_assert(areEqual(dnn::Kind::reductionOperation, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR));
static_assert(areEqual(dnn::Attribute::pointwiseMode, CUDNN_ATTR_POINTWISE_MODE));
static_assert(areEqual(dnn::Attribute::pointwiseType, CUDNN_ATTR_POINTWISE_MATH_PREC));
static_assert(areEqual(dnn::Attribute::pointwiseAxis, CUDNN_ATTR_POINTWISE_AXIS));
static_assert(areEqual(dnn::Attribute::pointwiseDescriptor, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR));
static_assert(areEqual(dnn::Attribute::pointwiseX, CUDNN_ATTR_OPERATION_POINTWISE_XDESC));
static_assert(areEqual(dnn::Attribute::pointwiseB, CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
static_assert(areEqual(dnn::Attribute::pointwiseY, CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
static_assert(areEqual(dnn::Attribute::pointwiseT, CUDNN_ATTR_OPERATION_POINTWISE_TDESC));
static_assert(areEqual(dnn::Attribute::tensorIsVirtual, CUDNN_ATTR_TENSOR_IS_VIRTUAL));
static_assert(areEqual(dnn::Attribute::tensorIsByValue, CUDNN_ATTR_TENSOR_IS_BY_VALUE));
static_assert(areEqual(dnn::Attribute::productType, CUDNN_ATTR_MATMUL_COMP_TYPE));
static_assert(areEqual(dnn::Attribute::productA, CUDNN_ATTR_OPERATION_MATMUL_ADESC));
static_assert(areEqual(dnn::Attribute::productB, CUDNN_ATTR_OPERATION_MATMUL_BDESC));
static_assert(areEqual(dnn::Attribute::productC, CUDNN_ATTR_OPERATION_MATMUL_CDESC));
static_assert(areEqual(dnn::Attribute::productDescriptor, CUDNN_ATTR_OPERATION_MATMUL_DESC));
static_assert(areEqual(dnn::Attribute::reductionOperator, CUDNN_ATTR_REDUCTION_OPERATOR));
static_assert(areEqual(dnn::Attribute::reductionType, CUDNN_ATTR_REDUCTION_COMP_TYPE));
static_assert(areEqual(dnn::Attribute::reductionX, CUDNN_ATTR_OPERATION_REDUCTION_XDESC));
static_assert(areEqual(dnn::Attribute::reductionY, CUDNN_ATTR_OPERATION_REDUCTION_YDESC));
static_assert(areEqual(dnn::Attribute::reductionDescriptor, CUDNN_ATTR_OPERATION_REDUCTION_DESC));
static_assert(areEqual(dnn::ValueType::boolean, CUDNN_TYPE_BOOLEAN));
static_assert(areEqual(dnn::ValueType::pointwiseMode, CUDNN_TYPE_POINTWISE_MODE));
static_assert(areEqual(dnn::ValueType::reductionOperator, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE));
static_assert(areEqual(dnn::DataType::i32, CUDNN_DATA_INT32));
static_assert(areEqual(dnn::DataType::boolean, CUDNN_DATA_BOOLEAN));
static_assert(areEqual(dnn::PointwiseMode::add, CUDNN_POINTWISE_ADD));
static_assert(areEqual(dnn::PointwiseMode::multiply, CUDNN_POINTWISE_MUL));
static_assert(areEqual(dnn::PointwiseMode::divide, CUDNN_POINTWISE_DIV));
static_assert(areEqual(dnn::PointwiseMode::subtract, CUDNN_POINTWISE_SUB));
static_assert(areEqual(dnn::PointwiseMode::exp, CUDNN_POINTWISE_EXP));
static_assert(areEqual(dnn::PointwiseMode::log, CUDNN_POINTWISE_LOG));
static_assert(areEqual(dnn::PointwiseMode::isAtLeast, CUDNN_POINTWISE_CMP_GE));
static_assert(areEqual(dnn::PointwiseMode::position, CUDNN_POINTWISE_GEN_INDEX));
static_assert(areEqual(dnn::PointwiseMode::select, CUDNN_POINTWISE_BINARY_SELECT));
static_assert(areEqual(dnn::ReductionOperator::add, CUDNN_REDUCE_TENSOR_ADD));
static_assert(areEqual(dnn::ReductionOperator::maximum, CUDNN_REDUCE_TENSOR_MAX));

#define EPL_COMPARE(name) static_assert(HaveOneForm<dnn::name, decltype(::name)>::value);
EPL_CUDNN_FUNCTIONS(EPL_COMPARE)
#undef EPL_COMPARE

TEST(Cudnn, IsDeclaredAsInItsHeaders) { SUCCEED() << "the assertions above are checked by the compiler"; }
