// What we say of cublasLt beside its own headers, where they are.

#include "runtime/device/cuda/products/CublasLt.h"
#include "test/unit/cuda/plugin/Forms.h"

#include <cublasLt.h>

#include <gtest/gtest.h>

namespace blas = epl::runtime::cuda::blas;

static_assert(areEqual(blas::Status::success, CUBLAS_STATUS_SUCCESS));
static_assert(areEqual(blas::Status::invalidValue, CUBLAS_STATUS_INVALID_VALUE));
static_assert(areEqual(blas::Status::notSupported, CUBLAS_STATUS_NOT_SUPPORTED));
static_assert(areEqual(blas::DataType::f32, CUDA_R_32F));
static_assert(areEqual(blas::DataType::f64, CUDA_R_64F));
static_assert(areEqual(blas::DataType::f16, CUDA_R_16F));
static_assert(areEqual(blas::DataType::bf16, CUDA_R_16BF));
static_assert(areEqual(blas::ComputeType::f32, CUBLAS_COMPUTE_32F));
static_assert(areEqual(blas::ComputeType::f64, CUBLAS_COMPUTE_64F));
static_assert(areEqual(blas::ProductAttribute::transposeA, CUBLASLT_MATMUL_DESC_TRANSA));
static_assert(areEqual(blas::ProductAttribute::transposeB, CUBLASLT_MATMUL_DESC_TRANSB));
static_assert(areEqual(blas::ProductAttribute::epilogue, CUBLASLT_MATMUL_DESC_EPILOGUE));
static_assert(areEqual(blas::ProductAttribute::bias, CUBLASLT_MATMUL_DESC_BIAS_POINTER));
static_assert(areEqual(blas::Epilogue::none, CUBLASLT_EPILOGUE_DEFAULT));
static_assert(areEqual(blas::Epilogue::relu, CUBLASLT_EPILOGUE_RELU));
static_assert(areEqual(blas::Epilogue::bias, CUBLASLT_EPILOGUE_BIAS));
static_assert(areEqual(blas::Epilogue::biasRelu, CUBLASLT_EPILOGUE_RELU_BIAS));
static_assert(areEqual(blas::Epilogue::gelu, CUBLASLT_EPILOGUE_GELU));
static_assert(areEqual(blas::Epilogue::biasGelu, CUBLASLT_EPILOGUE_GELU_BIAS));
static_assert(areEqual(blas::LayoutAttribute::batchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT));
static_assert(areEqual(blas::LayoutAttribute::batchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET));
static_assert(areEqual(blas::PreferenceAttribute::workspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES));
static_assert(areEqual(blas::PreferenceAttribute::alignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES));
static_assert(areEqual(blas::PreferenceAttribute::alignmentB, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES));
static_assert(areEqual(blas::PreferenceAttribute::alignmentC, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES));
static_assert(areEqual(blas::PreferenceAttribute::alignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES));
static_assert(areEqual(blas::PreferenceAttribute::reductions, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK));
static_assert(areEqual(blas::kInComputeType, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
static_assert(areEqual(blas::ComputeType::tf32, CUBLAS_COMPUTE_32F_FAST_TF32));
static_assert(CUBLAS_OP_N == 0 && CUBLAS_OP_T == 1);
static_assert(sizeof(blas::Algorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(blas::Choice) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(blas::Choice, workspace) == offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(blas::Choice, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));

#define EPL_COMPARE(name) static_assert(HaveOneForm<blas::name, decltype(::name)>::value);
EPL_CUBLASLT_FUNCTIONS(EPL_COMPARE)
#undef EPL_COMPARE

TEST(CublasLt, IsDeclaredAsInItsHeaders) { SUCCEED() << "the assertions above are checked by the compiler"; }
