#include "runtime/device/cuda/factorizations/FactorizationLibrary.h"

#include "runtime/Error.h"
#include "runtime/device/cuda/NvidiaLibrary.h"
#include "runtime/plan/model/Factorizations.h"
#include "runtime/plan/model/Mesh.h"
#include "runtime/plan/model/Parts.h"

#include <algorithm>

namespace epl::runtime::cuda {

using Kind = plan::FactorizationKind;

/// Says once what is left to the host, and why.
static void say(std::once_flag &isSaid, const std::string &what, const std::string &why) {
  sayOnce(isSaid, what + " on GPUs are computed by the host", why);
}

static std::string fails(const std::string &function, int status) {
  return function + " fails with status " + std::to_string(status);
}

FactorizationLibrary::Needs FactorizationLibrary::needsOf(const plan::PlanT &plan) {
  Needs needs;
  for (const plan::PlanT *part : meshPlansOf(plan))
    for (const auto &kernel : part->kernels)
      if (kernel->factorization)
        (kernel->factorization->kind == Kind::triangular_solve ? needs.blas : needs.solver) = true;
  return needs;
}

std::shared_ptr<const FactorizationLibrary> FactorizationLibrary::open(std::shared_ptr<const Cards> cards,
                                                                       uint32_t card, Needs needs) {
  if (!needs.solver && !needs.blas)
    return nullptr;
  static std::once_flag isSolverSaid, isBlasSaid, isFailureSaid;
  auto made = std::make_shared<FactorizationLibrary>(cards, card);
  made->solver = needs.solver ? solver::Cusolver::get() : nullptr;
  made->blas = needs.blas ? solver::Cublas::get() : nullptr;
  if (needs.solver && !made->solver)
    say(isSolverSaid, "factorizations",
        "no libcusolver.so.12 is found (pip install nvidia-cusolver, or name it in EPL_CUSOLVER)");
  if (needs.blas && !made->blas)
    say(isBlasSaid, "triangular systems",
        "no libcublas.so.13 is found (pip install nvidia-cublas, or name it in EPL_CUBLAS)");
  try {
    cards->use(card);
    made->asked = made->make(nullptr);
  } catch (const Error &error) {
    say(isFailureSaid, "factorizations", error.what());
    return nullptr;
  }
  return made;
}

FactorizationLibrary::FactorizationLibrary(std::shared_ptr<const Cards> cards, uint32_t card)
    : cards(std::move(cards)), card(card) {}

FactorizationLibrary::~FactorizationLibrary() {
  if (!cards->tryUse(card))
    return;
  destroy(asked);
  for (const auto &[stream, own] : handles)
    destroy(own);
}

void FactorizationLibrary::destroy(const Handles &own) const {
  if (own.params)
    solver->cusolverDnDestroyParams(own.params);
  if (own.solver)
    solver->cusolverDnDestroy(own.solver);
  if (own.blas)
    blas->cublasDestroy_v2(own.blas);
}

FactorizationLibrary::Handles FactorizationLibrary::make(CUstream stream) const {
  Handles made;
  std::string error;
  auto call = [&](const char *name, auto status) {
    if (error.empty() && int(status) != 0)
      error = fails(name, int(status));
    return error.empty();
  };
  if (solver && call("cusolverDnCreate", solver->cusolverDnCreate(&made.solver)) &&
      call("cusolverDnCreateParams", solver->cusolverDnCreateParams(&made.params)) && stream)
    call("cusolverDnSetStream", solver->cusolverDnSetStream(made.solver, stream));
  if (blas && error.empty() && call("cublasCreate", blas->cublasCreate_v2(&made.blas)) && stream)
    call("cublasSetStream", blas->cublasSetStream_v2(made.blas, stream));
  if (error.empty())
    return made;
  destroy(made);
  throw Error(error);
}

const FactorizationLibrary::Handles &FactorizationLibrary::on(CUstream stream) const {
  std::lock_guard<std::mutex> guard(mutex);
  auto found = handles.find(stream);
  return found != handles.end() ? found->second : handles.emplace(stream, make(stream)).first->second;
}

//===----------------------------------------------------------------------===//
// Workspaces
//===----------------------------------------------------------------------===//

solver::DataType dataTypeOf(const plan::FactorizationT &shape) {
  return shape.type == plan::ElementType::f64 ? solver::DataType::f64 : solver::DataType::f32;
}

bool isTall(const plan::FactorizationT &svd) { return svd.rows > svd.columns; }

signed char jobOf(const plan::FactorizationT &svd) { return !svd.vectors ? 'N' : svd.full ? 'A' : 'S'; }

/// What cuBLAS's documents advise, by architecture.
static size_t workspaceOfBlas(uint32_t architecture) { return size_t(architecture >= 90 ? 32 : 4) << 20; }

/// Which of its elements a matrix has is not asked about, so there are none.
std::unique_ptr<const FactorizationLibrary::Workspace>
FactorizationLibrary::ask(const plan::FactorizationT &shape) const {
  Workspace size;
  solver::DataType type = dataTypeOf(shape);
  solver::Status status = solver::Status::success;
  int64_t m = shape.rows, n = shape.columns, taller = std::max(m, n), k = std::min(m, n);
  int length = 0;
  switch (shape.kind) {
  case Kind::cholesky:
    status = solver->cusolverDnXpotrf_bufferSize(asked.solver, asked.params, solver::Triangle::upper, n, type,
                                                 nullptr, n, type, &size.device, &size.host);
    break;
  case Kind::lu:
    status = solver->cusolverDnXgetrf_bufferSize(asked.solver, asked.params, m, n, type, nullptr, m, type,
                                                 &size.device, &size.host);
    break;
  case Kind::qr:
    status = solver->cusolverDnXgeqrf_bufferSize(asked.solver, asked.params, m, n, type, nullptr, m, type,
                                                 nullptr, type, &size.device, &size.host);
    break;
  case Kind::orthogonal:
    status = (type == solver::DataType::f64 ? solver->cusolverDnDorgqr_bufferSize
                                            : solver->cusolverDnSorgqr_bufferSize)(
        asked.solver, int(m), int(n), int(shape.reflectors), nullptr, int(m), nullptr, &length);
    size.device = size_t(std::max(length, 0)) * elementBytes(shape.type);
    break;
  case Kind::eigh:
    status = solver->cusolverDnXsyevd_bufferSize(asked.solver, asked.params, solver::EigenMode::vectors,
                                                 solver::Triangle::upper, n, type, nullptr, n, type, nullptr,
                                                 type, &size.device, &size.host);
    break;
  case Kind::svd:
    status = solver->cusolverDnXgesvd_bufferSize(
        asked.solver, asked.params, jobOf(shape), jobOf(shape), taller, k, type, nullptr, taller, type,
        nullptr, type, nullptr, taller, type, nullptr, k, type, &size.device, &size.host);
    break;
  case Kind::triangular_solve:
    size.device = workspaceOfBlas(cards->architecture(card));
    break;
  }
  if (status == solver::Status::success)
    return std::make_unique<const Workspace>(size);
  static std::once_flag isSaid;
  say(isSaid, "some factorizations",
      "cuSOLVER refuses the " + std::string(plan::EnumNameFactorizationKind(shape.kind)) + " of " +
          std::to_string(m) + " x " + std::to_string(n) + " with status " + std::to_string(int(status)));
  return nullptr;
}

const FactorizationLibrary::Workspace *FactorizationLibrary::find(const plan::FactorizationT &shape,
                                                                  CUdeviceptr alignment) const {
  if (shape.kind == Kind::triangular_solve ? !blas : !solver)
    return nullptr;
  Key key = {int64_t(shape.kind), int64_t(shape.type), shape.rows,          shape.columns,
             shape.reflectors,    shape.vectors,       shape.full,          shape.left,
             shape.lower,         shape.transpose,     shape.unit_diagonal, int64_t(alignment)};
  std::lock_guard<std::mutex> guard(mutex);
  auto at = known.find(key);
  if (at == known.end())
    at = known.emplace(std::move(key), ask(shape)).first;
  return at->second.get();
}

} // namespace epl::runtime::cuda
