// The operands of one command on one rank: what it writes meets nothing else of it, but where it may.
//
// Method: what a command writes, sorted by bytes, shows whether two writes meet; if none do, each read finds
// the writes that it meets by bisection. A read may meet one write only, so this is linear but for sorting.
// The operands of an all-reduce are first looked at as a whole, which is the same on every rank; only if
// these meet are the parts of one rank after another, at most one for each member.

#include "runtime/plan/verify/VerifyStages.h"

#include "runtime/plan/model/Names.h"

#include <algorithm>
#include <utility>

namespace epl::runtime {
namespace {

/// Bytes that one access of the command touches.
struct Piece {
  ByteRange bytes;
  uint32_t access;
};

/// Bytes that two accesses touch, and should not; `second` writes.
struct Meeting {
  uint32_t first, second;
  ByteRange bytes;
};

class Operands {
public:
  Operands(const plan::PlanT &plan, const Mesh &mesh, const Addresses &addresses, uint32_t command,
           const std::vector<Access> &accesses)
      : plan(plan), mesh(mesh), addresses(addresses), action(plan.commands[command]->action),
        command(command), accesses(accesses) {}

  void check(Report &report) const {
    std::optional<Meeting> meeting = meetingOf(whole);
    if (!meeting)
      return;
    auto part =
        std::ranges::find_if(accesses, [](const Access &access) { return access.extent != Extent::ranges; });
    if (part == accesses.end())
      return add(*meeting, 0, report);
    checkParts(part->communicator, report);
  }

private:
  /// The same of each member's parts.
  void checkParts(uint32_t communicator, Report &report) const {
    std::vector<bool> seen(mesh.memberCount(communicator));
    for (uint32_t rank = 0; rank < mesh.devices(); ++rank) {
      uint32_t index = mesh.memberIndex(communicator, rank);
      if (seen[index])
        continue;
      seen[index] = true;
      if (auto meeting = meetingOf([&](const Access &access) { return rangesOf(access, mesh, rank); }))
        return add(*meeting, rank, report);
    }
  }

  /// What all ranks touch of it together.
  static std::vector<ByteRange> whole(const Access &access) {
    if (access.extent == Extent::ranges)
      return access.ranges;
    if (access.count == 0)
      return {};
    return {{0, uint64_t(access.count) * access.elementBytes}};
  }

  /// The first two accesses that should not meet, where `ranges` says what each touches.
  template <typename Ranges> std::optional<Meeting> meetingOf(const Ranges &ranges) const {
    std::vector<Piece> reads, writes;
    for (uint32_t i = 0; i < accesses.size(); ++i) {
      const Access &access = accesses[i];
      uint64_t base = addresses.of(access.buffer);
      if (access.write || !access.remote) // what other ranks read is a matter of order
        for (ByteRange range : ranges(access))
          (access.write ? writes : reads).push_back({{base + range.begin, base + range.end}, i});
    }
    std::ranges::sort(writes, {},
                      [](const Piece &piece) { return std::pair(piece.bytes.begin, piece.access); });
    std::optional<Meeting> meeting = meetingOfWrites(writes);
    return meeting ? meeting : meetingOfReads(reads, writes);
  }

  static ByteRange common(ByteRange a, ByteRange b) {
    return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
  }

  /// Where sorted writes meet, neighbours do.
  static std::optional<Meeting> meetingOfWrites(const std::vector<Piece> &writes) {
    for (size_t i = 1; i < writes.size(); ++i)
      if (ByteRange both = common(writes[i - 1].bytes, writes[i].bytes); both.begin < both.end) {
        auto [first, second] = std::minmax(writes[i - 1].access, writes[i].access);
        return Meeting{first, second, both};
      }
    return std::nullopt;
  }

  std::optional<Meeting> meetingOfReads(const std::vector<Piece> &reads,
                                        const std::vector<Piece> &writes) const {
    for (const Piece &read : reads) {
      auto write = std::ranges::partition_point(
          writes, [&](const Piece &piece) { return piece.bytes.end <= read.bytes.begin; });
      for (; write != writes.end() && write->bytes.begin < read.bytes.end; ++write)
        if (ByteRange both = common(read.bytes, write->bytes);
            both.begin < both.end && !mayShare(read.access, write->access))
          return Meeting{read.access, write->access, both};
    }
    return std::nullopt;
  }

  /// Whether the read `in` and the write `out` may be the same bytes.
  bool mayShare(size_t in, size_t out) const {
    const Access &input = accesses[in], &output = accesses[out];
    if (addresses.of(input.buffer) != addresses.of(output.buffer))
      return false;
    if (const plan::LaunchT *launch = action.AsLaunch()) {
      const plan::KernelT &kernel = *plan.kernels[launch->kernel];
      size_t index = out - kernel.num_inputs;
      return index < kernel.num_outputs && kernel.in_place[index] == int32_t(in);
    }
    if (const plan::ContractT *contract = action.AsContract())
      return contract->accumulate && in == 2; // c itself
    if (action.AsAttentionGradient())         // what is left where no library makes it
      return input.operand == output.operand;
    return (action.AsReducePart() || action.AsReduceToRoot()) && input.operand == output.operand;
  }

  void add(const Meeting &meeting, uint32_t rank, Report &report) const {
    const Access &a = accesses[meeting.first], &b = accesses[meeting.second];
    report.add("command ", commandName(plan, command), a.write ? " writes buffer " : " reads buffer ",
               bufferName(plan, a.buffer), " and writes buffer ", bufferName(plan, b.buffer),
               ", which overlap in ", addresses.text({rank, meeting.bytes}, b.buffer));
  }

  const plan::PlanT &plan;
  const Mesh &mesh;
  const Addresses &addresses;
  const plan::ActionUnion &action;
  uint32_t command;
  const std::vector<Access> &accesses;
};

} // namespace

void checkOperands(const plan::PlanT &plan, const Mesh &mesh, const Addresses &addresses, uint32_t command,
                   const std::vector<Access> &accesses, Report &report) {
  Operands(plan, mesh, addresses, command, accesses).check(report);
}

} // namespace epl::runtime
