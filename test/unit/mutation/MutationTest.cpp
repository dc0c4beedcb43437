// The plan verifier, proved by mutation. Each mutant of a plan is rejected with a message that names what was
// damaged, or it is harmless: it computes what the plan computes, bit for bit, in many runs with random
// pauses, and races with nobody (the nightly runs are under TSan). A table says how many mutants of each
// class met which fate.
//
// Two kinds of plans: built ones of symbolic bytes, run by the simulator, and those that epl-compile makes of
// test/models, run on threads. EPL_MUTANTS is the number of mutants of one class and plan (default 4; 0:
// all), EPL_RUNS the number of runs of a survivor (default 3).

#include "test/unit/mutation/LaneMachine.h"
#include "test/unit/mutation/Mutations.h"
#include "test/unit/plan/Plans.h"
#include "test/unit/plan/Simulator.h"

#include "runtime/plan/model/Dump.h"
#include "runtime/plan/verify/ReadVerified.h"
#include "runtime/plan/verify/Verifier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iomanip>
#include <iostream>

namespace epl::runtime::test {
namespace {

size_t setting(const char *name, size_t otherwise) {
  const char *value = std::getenv(name);
  return value ? std::strtoul(value, nullptr, 10) : otherwise;
}

/// Shows what plans compute.
class Judge {
public:
  virtual ~Judge() = default;
  /// What the original computes.
  virtual std::vector<uint64_t> original() = 0;
  /// What a mutant computes when its commands run one after another and share no memory.
  virtual std::vector<uint64_t> meaning(const plan::PlanT &mutant) = 0;
  /// What it computes in some interleaving.
  virtual std::vector<uint64_t> run(const plan::PlanT &mutant, uint64_t seed) = 0;
};

class SimulatorJudge : public Judge {
public:
  explicit SimulatorJudge(const plan::PlanT &plan) : plan(plan) {}
  std::vector<uint64_t> original() override { return meaning(plan); }
  std::vector<uint64_t> meaning(const plan::PlanT &mutant) override {
    return runInProgramOrder(withoutReuse(mutant));
  }
  std::vector<uint64_t> run(const plan::PlanT &mutant, uint64_t seed) override {
    return runInRandomOrder(mutant, seed);
  }

private:
  const plan::PlanT &plan;
};

class MachineJudge : public Judge {
public:
  explicit MachineJudge(const plan::PlanT &plan) : plan(plan), arguments(makeArguments(plan)) {}
  std::vector<uint64_t> original() override { return meaning(plan); }
  std::vector<uint64_t> meaning(const plan::PlanT &mutant) override {
    return widen(machineOf(withoutReuse(mutant)).runInProgramOrder());
  }
  std::vector<uint64_t> run(const plan::PlanT &mutant, uint64_t seed) override {
    return widen(machineOf(mutant).runFreely(seed));
  }

private:
  /// The machine of the plan asked for last: one plan is run many times.
  LaneMachine &machineOf(const plan::PlanT &wanted) {
    if (!machine || dumpPlan(wanted) != loaded) {
      machine.emplace(std::make_shared<plan::PlanT>(wanted), arguments);
      loaded = dumpPlan(wanted);
    }
    return *machine;
  }
  static std::vector<uint64_t> widen(const std::vector<std::byte> &bytes) {
    std::vector<uint64_t> result;
    for (std::byte byte : bytes)
      result.push_back(uint64_t(byte));
    return result;
  }

  const plan::PlanT &plan;
  std::vector<std::vector<std::byte>> arguments;
  std::optional<LaneMachine> machine;
  std::string loaded;
};

/// What became of the mutants of one class.
struct Fates {
  size_t rejected = 0, harmless = 0, another = 0, trusted = 0;
};

class Proof {
public:
  ~Proof() { print(); }

  void add(const std::string &name, const plan::PlanT &plan, Judge &judge) {
    ASSERT_TRUE(verifyPlan(plan).empty()) << name;
    subject = name;
    original = dumpPlan(plan);
    expected = judge.original();
    for (const MutationClass &kind : mutationClasses()) {
      std::vector<Mutation> mutations = mutationsOf(kind, plan);
      for (size_t index : sample(mutations.size()))
        add(plan, kind, mutations[index], judge);
    }
  }

  size_t total() const {
    size_t sum = 0;
    for (const auto &[name, fate] : fates)
      sum += fate.rejected + fate.harmless + fate.another + fate.trusted;
    return sum;
  }
  /// A thousand, or a share of that where fewer of each class are wanted.
  size_t leastTotal() const { return limit == 0 ? 1000 : 250 * std::min<size_t>(limit, 4); }

private:
  /// Those of the plan, or of each of its parts and of what there is between them.
  static std::vector<Mutation> mutationsOf(const MutationClass &kind, const plan::PlanT &plan) {
    std::vector<Mutation> list = kind.of(plan);
    for (size_t part = 0; part < plan.parts.size(); ++part)
      for (Mutation &own : kind.of(*plan.parts[part]->plan))
        list.push_back({"part " + std::to_string(part) + ": " + own.what, std::move(own.names),
                        [part, change = std::move(own.change)](plan::PlanT &mutant) {
                          change(*mutant.parts[part]->plan);
                        }});
    return list;
  }

  /// As many as wanted, spread over all.
  std::vector<size_t> sample(size_t count) const {
    size_t wanted = limit == 0 ? count : std::min(limit, count);
    std::vector<size_t> indices;
    for (size_t i = 0; i < wanted; ++i)
      indices.push_back((i * count + count / 2) / wanted);
    return indices;
  }

  void add(const plan::PlanT &plan, const MutationClass &kind, const Mutation &mutation, Judge &judge) {
    plan::PlanT mutant = plan;
    mutation.change(mutant);
    Fates &fate = fates[kind.name];
    std::string what = subject + ": " + kind.name + ": " + mutation.what;
    std::vector<std::string> messages = verifyPlan(mutant);
    if (!messages.empty()) {
      ++fate.rejected;
      expectNamed(what, mutation.names, messages);
    } else if (kind.promise == Promise::trusted) {
      ++fate.trusted;
    } else if (dumpPlan(mutant) != original) { // else nothing was changed
      addSurvivor(what, kind, mutant, judge, fate);
    }
  }

  /// A message names what was damaged.
  static void expectNamed(const std::string &what, const std::vector<std::string> &names,
                          const std::vector<std::string> &messages) {
    auto isNamed = [&](const std::string &message) {
      return std::ranges::any_of(
          names, [&](const std::string &name) { return message.find(name) != std::string::npos; });
    };
    EXPECT_TRUE(names.empty() || std::ranges::any_of(messages, isNamed)) << what << ": " << messages.front();
  }

  void addSurvivor(const std::string &what, const MutationClass &kind, const plan::PlanT &mutant,
                   Judge &judge, Fates &fate) {
    std::vector<uint64_t> meaning = judge.meaning(mutant);
    bool same = meaning == expected;
    ++(same ? fate.harmless : fate.another);
    EXPECT_TRUE(same || kind.promise == Promise::anotherProgram)
        << what << ": accepted, and computes something else";
    for (uint64_t seed = 1; seed <= runs; ++seed)
      ASSERT_EQ(judge.run(mutant, seed), meaning) << what << ": accepted, and differs in run " << seed;
  }

  void print() const {
    auto row = [](const auto &name, auto... columns) {
      std::cout << std::left << std::setw(44) << name << std::right;
      ((std::cout << std::setw(10) << columns), ...);
      std::cout << '\n';
    };
    row("mutants", "all", "rejected", "harmless", "another", "trusted");
    for (const auto &[name, fate] : fates)
      row(name, fate.rejected + fate.harmless + fate.another + fate.trusted, fate.rejected, fate.harmless,
          fate.another, fate.trusted);
    std::cout << total() << " mutants; " << runs << " runs of each survivor\n";
  }

  size_t limit = setting("EPL_MUTANTS", 4), runs = setting("EPL_RUNS", 3);
  std::map<std::string, Fates> fates;
  std::string subject, original;
  std::vector<uint64_t> expected;
};

TEST(Mutation, BuiltPlans) {
  std::vector<NamedPlan> plans = allPlans();
  for (uint64_t seed = 0; seed < 12; ++seed)
    plans.push_back({"random " + std::to_string(seed), randomPlan(seed, false, /*offloads=*/seed % 4 == 0)});
  Proof proof;
  for (const NamedPlan &named : plans) {
    SimulatorJudge judge(named.plan);
    proof.add(named.name, named.plan, judge);
  }
  EXPECT_GE(proof.total(), proof.leastTotal());
}

TEST(Mutation, CompiledPlans) {
  std::vector<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::directory_iterator(EPL_TEST_PLANS))
    if (entry.path().extension() == ".eplan")
      files.push_back(entry.path());
  std::ranges::sort(files);
  Proof proof;
  for (const std::filesystem::path &file : files) {
    plan::PlanT plan = readPlan(file);
    MachineJudge judge(plan);
    proof.add(file.stem(), plan, judge);
  }
  EXPECT_GE(proof.total(), proof.leastTotal()) << "in the plans of " << EPL_TEST_PLANS;
}

} // namespace
} // namespace epl::runtime::test
