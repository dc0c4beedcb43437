// Plans with one thing changed. The verifier must reject each mutant, or the mutant must be harmless: what it
// computes does not depend on the interleaving, which the simulator shows.

#include "test/unit/plan/Plans.h"
#include "test/unit/plan/Simulator.h"

#include "runtime/plan/Mesh.h"
#include "runtime/plan/Verifier.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace epl::runtime::test {
namespace {

using Mutation = std::function<void(plan::PlanT &)>;

bool accepted(const plan::PlanT &plan, const Mutation &mutation) {
  plan::PlanT mutant = plan;
  mutation(mutant);
  if (!verifyPlan(mutant).empty())
    return false;
  Outcome expected = runInProgramOrder(withoutReuse(mutant));
  for (uint64_t seed = 1; seed <= 4; ++seed)
    EXPECT_EQ(runInRandomOrder(mutant, seed), expected)
        << "a mutant that the verifier accepts is not deterministic";
  return true;
}

/// Hand-written and random plans.
std::vector<NamedPlan> subjects(uint64_t random = 60) {
  std::vector<NamedPlan> plans = allPlans();
  for (uint64_t seed = 0; seed < random; ++seed)
    plans.push_back({"random " + std::to_string(seed), randomPlan(seed)});
  return plans;
}

/// Every wait is needed: elideEdges leaves a transitive reduction.
TEST(Mutation, WithoutAnyWaitAPlanIsRejected) {
  size_t mutants = 0;
  for (const NamedPlan &named : subjects())
    for (size_t command = 0; command < named.plan.commands.size(); ++command)
      for (size_t wait = 0; wait < named.plan.commands[command]->waits.size(); ++wait, ++mutants)
        EXPECT_FALSE(accepted(named.plan,
                              [&](plan::PlanT &plan) {
                                std::vector<plan::Wait> &waits = plan.commands[command]->waits;
                                waits.erase(waits.begin() + int64_t(wait));
                              }))
            << named.name << ", command " << command << ", wait " << wait;
  EXPECT_GT(mutants, 100u);
}

/// A wait for all members that would do for oneself is never made, but where all members are oneself.
TEST(Mutation, WithANarrowerWaitAPlanIsRejected) {
  for (const NamedPlan &named : subjects())
    for (size_t command = 0; command < named.plan.commands.size(); ++command)
      for (size_t wait = 0; wait < named.plan.commands[command]->waits.size(); ++wait) {
        plan::Wait &original = named.plan.commands[command]->waits[wait];
        if (original.scope() != plan::WaitScope::members ||
            Mesh(named.plan).memberCount(original.communicator()) == 1)
          continue;
        EXPECT_FALSE(accepted(named.plan,
                              [&](plan::PlanT &plan) {
                                plan.commands[command]->waits[wait] =
                                    plan::Wait(original.command(), plan::WaitScope::self, 0);
                              }))
            << named.name << ", command " << command << ", wait " << wait;
      }
}

TEST(Mutation, TwoCommandsOfALaneSwappedInItAreRejected) {
  for (const NamedPlan &named : subjects())
    for (size_t lane = 0; lane < named.plan.lanes.size(); ++lane)
      for (size_t i = 1; i < named.plan.lanes[lane]->commands.size(); ++i)
        EXPECT_FALSE(accepted(named.plan,
                              [&](plan::PlanT &plan) {
                                std::vector<uint32_t> &commands = plan.lanes[lane]->commands;
                                std::swap(commands[i - 1], commands[i]);
                              }))
            << named.name << ", lane " << lane << ", position " << i;
}

/// What two commands do is swapped, all else stays. Harmless if the later one does not depend on the earlier
/// one and the waits around them still do: so not all are rejected, but most are, and the others are
/// simulated.
TEST(Mutation, TwoActionsOfALaneSwappedAreRejectedOrHarmless) {
  size_t rejected = 0, harmless = 0;
  for (const NamedPlan &named : subjects(30))
    for (const auto &lane : named.plan.lanes)
      for (size_t i = 1; i < lane->commands.size(); ++i)
        ++(accepted(named.plan,
                    [&](plan::PlanT &plan) {
                      std::swap(plan.commands[lane->commands[i - 1]]->action,
                                plan.commands[lane->commands[i]]->action);
                    })
               ? harmless
               : rejected);
  EXPECT_GT(rejected, harmless);
}

TEST(Mutation, AShrunkBufferIsRejected) {
  for (const NamedPlan &named : subjects())
    for (size_t buffer = 0; buffer < named.plan.buffers.size(); ++buffer)
      EXPECT_FALSE(accepted(named.plan, [&](plan::PlanT &plan) { --plan.buffers[buffer]->size; }))
          << named.name << ", buffer " << buffer;
}

/// Harmless if the new place is free while the buffer lives.
TEST(Mutation, AMovedBufferIsRejectedOrHarmless) {
  size_t rejected = 0, harmless = 0;
  for (const NamedPlan &named : subjects(10))
    for (size_t buffer = 0; buffer < named.plan.buffers.size(); ++buffer)
      for (uint64_t offset = 0; offset < named.plan.arena_size; offset += 64)
        if (named.plan.buffers[buffer]->slot < 0 && named.plan.buffers[buffer]->offset != offset)
          ++(accepted(named.plan, [&](plan::PlanT &plan) { plan.buffers[buffer]->offset = offset; })
                 ? harmless
                 : rejected);
  EXPECT_GT(rejected, harmless);
}

/// A command that names another buffer of the same size: it computes something else, never something random.
TEST(Mutation, AnotherOperandIsRejectedOrHarmless) {
  std::mt19937 random(3);
  for (const NamedPlan &named : subjects(30))
    for (size_t command = 0; command < named.plan.commands.size(); ++command)
      accepted(named.plan, [&](plan::PlanT &plan) {
        if (plan::LaunchT *launch = plan.commands[command]->action.AsLaunch())
          launch->buffers[random() % launch->buffers.size()] = uint32_t(random() % plan.buffers.size());
        if (plan::ReducePartT *reduce = plan.commands[command]->action.AsReducePart())
          (random() % 2 ? reduce->source : reduce->target) = uint32_t(random() % plan.buffers.size());
      });
}

} // namespace
} // namespace epl::runtime::test
