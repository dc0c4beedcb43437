// A stage of the plan verifier: what one rank has made is taken for a value by that rank alone, or by others
// behind a copy from it.
//
// Problem: a command with an owner, and a reduction to a root, write on some ranks only. Elsewhere the same
// bytes hold something older. Method: the origins of an operand are all that its bytes hold, on all ranks
// whose memory is read. If one of them is made on some of these only, a copy from there has to be one, too,
// that has brought to the others what is there:
//
//     command               the operand's bytes, on rank 0       on the others
//     0 update, of rank 0   written by 0                         what was there
//     1 copy from rank 0    written by 0, read by 1              written by 1
//     2 layer               written by 0, an origin of 1         written by 1
//
// All origins of 2 are 1, and such of 1: what rank 0 still has of command 0 was there when 1 read it, since 0
// had run, and nothing has written these bytes since.

#include "runtime/plan/verify/VerifyStages.h"

#include "runtime/plan/model/Access.h"
#include "runtime/plan/model/Names.h"
#include "runtime/plan/model/Origins.h"

#include <algorithm>

namespace epl::runtime {

std::string faultOf(const plan::PlanT &plan, const plan::Owner &owner) {
  if (owner.communicator() >= plan.communicators.size())
    return " has an owner of communicator " + std::to_string(owner.communicator()) + " of " +
           std::to_string(plan.communicators.size());
  uint32_t members = Mesh(plan).memberCount(owner.communicator());
  if (owner.member() < members)
    return "";
  return " has member " + std::to_string(owner.member()) + " of " + std::to_string(members) +
         " of communicator c" + std::to_string(owner.communicator()) + " as its owner";
}

namespace {

/// What holds for the ranks on which something is written or read: all of these.
using RankTests = std::vector<RankTest>;

class Owners {
public:
  Owners(const plan::PlanT &plan, Report &report) : plan(plan), report(report), mesh(plan) {}

  void run() {
    for (uint32_t command = 0; command < plan.commands.size(); ++command)
      for (const Access &access : accessesOf(plan, mesh, *plan.commands[command]))
        if (!access.write)
          check(originsOf(command, access), access.ranks, [&] {
            return "command " + commandName(plan, command) + " reads as its " + operandName(access.operand);
          });
    for (uint32_t slot = 0; slot < plan.slots.size(); ++slot)
      check(plan.slots[slot]->origins, ownersOf(*plan.slots[slot]),
            [&] { return "result " + slotName(plan, slot) + " holds"; });
  }

private:
  /// Those of one access.
  std::vector<plan::Origin> originsOf(uint32_t command, const Access &access) const {
    std::vector<plan::Origin> own;
    std::ranges::copy_if(
        plan.commands[command]->origins, std::back_inserter(own), [&](const plan::Origin &each) {
          return each.operand() == access.operand && each.communicator() == communicatorOf(access) &&
                 each.offset() == access.offset;
        });
    return own;
  }

  /// The ranks on which the value of an origin is written.
  RankTests ranksOf(const plan::Origin &origin) const {
    if (origin.command() < 0)
      return ownersOf(*plan.slots[origin.output()]);
    const plan::CommandT &writer = *plan.commands[size_t(origin.command())];
    RankTests tests;
    if (const plan::ReduceToRootT *reduce = writer.action.AsReduceToRoot())
      tests.push_back({reduce->communicator, reduce->root, true});
    if (const plan::CopyFromRootT *copy = writer.action.AsCopyFromRoot())
      tests.push_back({copy->communicator, copy->root, false});
    if (writer.owner)
      tests.push_back({writer.owner->communicator(), writer.owner->member(), true});
    std::erase_if(tests, [&](const RankTest &test) { return mesh.memberCount(test.communicator) == 1; });
    return tests;
  }

  /// The ranks that lack the value of an origin, of those for which `read` holds: the tests that these may
  /// fail.
  RankTests missing(const plan::Origin &origin, const RankTests &read) const {
    RankTests tests = ranksOf(origin);
    std::erase_if(tests, [&](const RankTest &test) { return std::ranges::find(read, test) != read.end(); });
    return tests;
  }

  /// `user` says who takes the origins for one value, on ranks for which `read` holds.
  template <typename User>
  void check(const std::vector<plan::Origin> &origins, const RankTests &read, const User &user) {
    for (const plan::Origin &origin : origins) {
      RankTests tests = missing(origin, read);
      if (tests.empty())
        continue;
      Writer writer{origin.command(), origin.output()};
      bool isCopied =
          tests.size() == 1 && (tests.front().isMember ? isCopiedByOthers(origins, origin, tests.front())
                                                       : bringsOthers(origins, origin));
      if (!isCopied)
        report.add(user(), " ", writerName(plan, writer), ", which is on ",
                   tests.front().isMember ? "member " : "other members than ", tests.front().member,
                   " of communicator c", tests.front().communicator, " alone, expected a copy from member ",
                   tests.front().member, " to all others of what it holds");
    }
  }

  static bool isSameValue(const plan::Origin &a, const plan::Origin &b) {
    return a.command() == b.command() && a.output() == b.output();
  }

  /// Whether a copy from a root has read, as the tensor that it writes, what `value` is.
  bool brings(const plan::Origin &copy, const plan::Origin &value) const {
    return std::ranges::any_of(plan.commands[size_t(copy.command())]->origins, [&](const plan::Origin &each) {
      return each.operand() == copy.output() && isSameValue(each, value);
    });
  }

  /// Whether all others of `origins` are what `copy`, from a root, has brought.
  bool bringsOthers(const std::vector<plan::Origin> &origins, const plan::Origin &copy) const {
    return std::ranges::all_of(
        origins, [&](const plan::Origin &other) { return isSameValue(other, copy) || brings(copy, other); });
  }

  /// Whether one of `origins` is a copy of `value` from the root of `test`.
  bool isCopiedByOthers(const std::vector<plan::Origin> &origins, const plan::Origin &value,
                        const RankTest &test) const {
    return std::ranges::any_of(origins, [&](const plan::Origin &other) {
      const plan::CopyFromRootT *copy =
          other.command() < 0 ? nullptr : plan.commands[size_t(other.command())]->action.AsCopyFromRoot();
      return copy && copy->communicator == test.communicator && copy->root == test.member &&
             brings(other, value);
    });
  }

  const plan::PlanT &plan;
  Report &report;
  Mesh mesh;
};

/// Whether something is done on some ranks only.
bool hasOwners(const plan::PlanT &plan) {
  return std::ranges::any_of(plan.commands, [](const auto &command) {
    return command->owner || command->action.AsReduceToRoot() || command->action.AsCopyFromRoot();
  });
}

} // namespace

void checkOwners(const plan::PlanT &plan, Report &report) {
  if (hasOwners(plan))
    Owners(plan, report).run();
}

} // namespace epl::runtime
