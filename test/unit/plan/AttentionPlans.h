// Plans of attention, and of its gradient.

#ifndef EPL_TEST_UNIT_PLAN_ATTENTION_PLANS_H
#define EPL_TEST_UNIT_PLAN_ATTENTION_PLANS_H

#include "runtime/plan/format/plan_generated.h"

#include <cstdint>

namespace epl::runtime::test {

/// Of the plans' attention: samples, heads, queries, keys, and elements of each head.
constexpr int64_t kB = 2, kH = 3, kQ = 4, kK = 5, kD = 8;

/// #0: scores of s0 and s1; #1: their softmax; #2: its product with s2. Positions are outside of heads. With
/// `keepsQueries` s0 is a result, too.
plan::PlanT attentionPlan(bool keepsQueries = false);

/// The same with a gradient, of that of o, s3: #3 that of v; #4 that of the softmax; #5 that of the scores;
/// #6 that of q; #7 that of k; #8 stands for these. The softmax makes exponentials and their sums, too.
/// `group` heads of q share one of k and v, if that is more than 1; then #3 is a launch.
plan::PlanT gradientPlan(int64_t group = 1);

} // namespace epl::runtime::test

#endif // EPL_TEST_UNIT_PLAN_ATTENTION_PLANS_H
