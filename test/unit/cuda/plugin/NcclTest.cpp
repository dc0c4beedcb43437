// What we say of NCCL beside its own header, where it is.

#include "runtime/device/cuda/collectives/Nccl.h"
#include "test/unit/cuda/plugin/Forms.h"

#include <nccl.h>

#include <gtest/gtest.h>

namespace nccl = epl::runtime::cuda::nccl;

static_assert(areEqual(nccl::Status::success, ncclSuccess));
static_assert(areEqual(nccl::Status::cudaError, ncclUnhandledCudaError));
static_assert(areEqual(nccl::Status::systemError, ncclSystemError));
static_assert(areEqual(nccl::Status::internalError, ncclInternalError));
static_assert(areEqual(nccl::Status::invalidArgument, ncclInvalidArgument));
static_assert(areEqual(nccl::Status::invalidUsage, ncclInvalidUsage));
static_assert(areEqual(nccl::Status::remoteError, ncclRemoteError));
static_assert(areEqual(nccl::Status::inProgress, ncclInProgress));
static_assert(areEqual(nccl::DataType::i8, ncclInt8));
static_assert(areEqual(nccl::DataType::u8, ncclUint8));
static_assert(areEqual(nccl::DataType::i32, ncclInt32));
static_assert(areEqual(nccl::DataType::u32, ncclUint32));
static_assert(areEqual(nccl::DataType::i64, ncclInt64));
static_assert(areEqual(nccl::DataType::u64, ncclUint64));
static_assert(areEqual(nccl::DataType::f16, ncclFloat16));
static_assert(areEqual(nccl::DataType::f32, ncclFloat32));
static_assert(areEqual(nccl::DataType::f64, ncclFloat64));
static_assert(areEqual(nccl::DataType::bf16, ncclBfloat16));
static_assert(areEqual(nccl::Reduction::sum, ncclSum));
static_assert(areEqual(nccl::Reduction::prod, ncclProd));
static_assert(areEqual(nccl::Reduction::max, ncclMax));
static_assert(areEqual(nccl::Reduction::min, ncclMin));
static_assert(sizeof(nccl::UniqueId) == sizeof(ncclUniqueId) &&
              alignof(nccl::UniqueId) == alignof(ncclUniqueId));

#define EPL_COMPARE(name) static_assert(HaveOneForm<nccl::name, decltype(::name)>::value);
EPL_NCCL_FUNCTIONS(EPL_COMPARE)
#undef EPL_COMPARE

TEST(Nccl, IsDeclaredAsInItsHeader) { SUCCEED() << "the assertions above are checked by the compiler"; }
