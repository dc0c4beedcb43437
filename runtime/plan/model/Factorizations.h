// What a factorization reads, writes and works in: the one definition that who makes plans, the verifier and
// the runtime share.
//
// LAPACK's workspaces are asked for by formulas of its documentation, for blocks of up to 64 columns, not of
// the library: a plan is made where none is installed, and is the same for all versions.
#ifndef EPL_RUNTIME_PLAN_MODEL_FACTORIZATIONS_H
#define EPL_RUNTIME_PLAN_MODEL_FACTORIZATIONS_H

#include "runtime/plan/format/plan_generated.h"

#include <cstdint>
#include <string>
#include <vector>

namespace epl::runtime {

/// Bytes of the operands and results of one matrix, in order, and of the workspace, which all share.
struct FactorizationMemory {
  std::vector<uint64_t> inputs;
  std::vector<uint64_t> outputs;
  uint64_t workspace;
};

/// How many elements and integers LAPACK works in.
struct LapackWorkspace {
  int64_t elements;
  int64_t integers;
};

/// What is wrong with the fields of a factorization, "" if nothing: extents that the kind does not have or
/// that are beyond LAPACK's 32 bits, another element type than f32 and f64.
std::string faultOf(const plan::FactorizationT &factorization);

/// Needs a factorization without a fault, or one of which its extents alone are too large.
FactorizationMemory memoryOf(const plan::FactorizationT &factorization);

/// The part of the workspace that is LAPACK's own. The matrices that it works on come before it.
LapackWorkspace lapackWorkspaceOf(const plan::FactorizationT &factorization);

/// The extents of an svd's vectors: u is rows x leftVectors, vt is rightVectors x columns.
int64_t leftVectorsOf(const plan::FactorizationT &factorization);
int64_t rightVectorsOf(const plan::FactorizationT &factorization);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_FACTORIZATIONS_H
