// What we say of cuSOLVER and cuBLAS beside their own headers, where they are.

#include "runtime/device/cuda/factorizations/Cusolver.h"
#include "test/unit/cuda/plugin/Forms.h"

#include <cusolverDn.h>

#include <gtest/gtest.h>

namespace solver = epl::runtime::cuda::solver;

static_assert(areEqual(solver::Status::success, CUSOLVER_STATUS_SUCCESS));
static_assert(areEqual(solver::Status::notInitialized, CUSOLVER_STATUS_NOT_INITIALIZED));
static_assert(areEqual(solver::Status::invalidValue, CUSOLVER_STATUS_INVALID_VALUE));
static_assert(areEqual(solver::Status::executionFailed, CUSOLVER_STATUS_EXECUTION_FAILED));
static_assert(areEqual(solver::Status::internalError, CUSOLVER_STATUS_INTERNAL_ERROR));
static_assert(areEqual(solver::Status::invalidWorkspace, CUSOLVER_STATUS_INVALID_WORKSPACE));
static_assert(areEqual(solver::EigenMode::values, CUSOLVER_EIG_MODE_NOVECTOR));
static_assert(areEqual(solver::EigenMode::vectors, CUSOLVER_EIG_MODE_VECTOR));
static_assert(areEqual(solver::DataType::f32, CUDA_R_32F));
static_assert(areEqual(solver::DataType::f64, CUDA_R_64F));
static_assert(areEqual(solver::Triangle::lower, CUBLAS_FILL_MODE_LOWER));
static_assert(areEqual(solver::Triangle::upper, CUBLAS_FILL_MODE_UPPER));
static_assert(areEqual(solver::Side::left, CUBLAS_SIDE_LEFT));
static_assert(areEqual(solver::Side::right, CUBLAS_SIDE_RIGHT));
static_assert(areEqual(solver::Operation::none, CUBLAS_OP_N));
static_assert(areEqual(solver::Operation::transpose, CUBLAS_OP_T));
static_assert(areEqual(solver::Diagonal::given, CUBLAS_DIAG_NON_UNIT));
static_assert(areEqual(solver::Diagonal::ones, CUBLAS_DIAG_UNIT));

#define EPL_COMPARE(name) static_assert(HaveOneForm<solver::name, decltype(::name)>::value);
EPL_CUSOLVER_FUNCTIONS(EPL_COMPARE)
EPL_CUBLAS_FUNCTIONS(EPL_COMPARE)
#undef EPL_COMPARE

TEST(Cusolver, IsDeclaredAsInItsHeaders) { SUCCEED() << "the assertions above are checked by the compiler"; }
