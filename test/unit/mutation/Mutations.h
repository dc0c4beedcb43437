// Ways to damage a plan, class by class: what the verifier is proved against.

#ifndef EPL_TEST_UNIT_MUTATION_MUTATIONS_H
#define EPL_TEST_UNIT_MUTATION_MUTATIONS_H

#include "runtime/plan/format/plan_generated.h"

#include <functional>
#include <string>
#include <vector>

namespace epl::runtime::test {

/// One way to change one plan.
struct Mutation {
  std::string what;                          // for people
  std::vector<std::string> names;            // a rejection names one of these at least, or anything if empty
  std::function<void(plan::PlanT &)> change; // of a copy of the plan that it was made for
};

/// What a mutant of a class that the verifier accepts may be.
enum class Promise {
  harmless,       // computes what the plan computes, bit for bit
  anotherProgram, // computes something else, the same on every run: one command means something else, which
                  // only the compiler and the content hash know about
  trusted,        // says something about the kernels' code, which the verifier does not see: not run
};

struct MutationClass {
  std::string name;
  Promise promise;
  std::vector<Mutation> (*of)(const plan::PlanT &plan);
};

const std::vector<MutationClass> &mutationClasses();

// The classes by what they change.
std::vector<MutationClass> orderMutations();
std::vector<MutationClass> memoryMutations();
std::vector<MutationClass> tableMutations();
std::vector<MutationClass> actionMutations();
std::vector<MutationClass> channelMutations();
std::vector<MutationClass> unitMutations();
std::vector<MutationClass> ownerMutations();

/// Gives the plan the commands that `order` lists by their old indices: left out, repeated or moved. Waits,
/// origins and lanes follow; of a repeated command, the first one is the one that others name.
void reorderCommands(plan::PlanT &plan, const std::vector<uint32_t> &order);

} // namespace epl::runtime::test

#endif // EPL_TEST_UNIT_MUTATION_MUTATIONS_H
