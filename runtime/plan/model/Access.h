// What commands mean for memory: the bytes that each one reads and writes, and on which ranks. The one
// definition that edges, memory planning and the verifier share.
//
// Every write of every command goes to the executing rank's own memory; only collectives touch the memory of
// other ranks, and they only read it. The rest of the library leans on this. What a part of a plan sends to
// another is in memory of the channel, which no other command touches: here a send reads, a receive writes.
// So do a push and a pull.

#ifndef EPL_RUNTIME_PLAN_MODEL_ACCESS_H
#define EPL_RUNTIME_PLAN_MODEL_ACCESS_H

#include "runtime/plan/format/plan_generated.h"
#include "runtime/plan/model/Mesh.h"

#include <cstdint>
#include <vector>

namespace epl::runtime {

/// Bytes [begin, end) from the start of a buffer.
struct ByteRange {
  uint64_t begin;
  uint64_t end;

  bool operator==(const ByteRange &) const = default;
};

/// Which bytes of a buffer: fixed ranges, or the part of a collective that the rank whose memory it is owns,
/// or all parts but that one.
enum class Extent : uint8_t { ranges, ownPart, otherParts };

/// That a rank is one member of a communicator, or that it is another one.
struct RankTest {
  uint32_t communicator;
  uint32_t member;
  bool isMember;

  bool operator==(const RankTest &) const = default;
};

/// Bytes of one buffer that one command touches, by the same rule on every rank.
struct Access {
  uint32_t buffer; // as the command names it
  bool write;
  uint32_t operand = 0; // as in the schema's Origin: operand of a read, output of a write
  bool remote = false;  // in the memory of the other members of `communicator`; always a read
  Extent extent = Extent::ranges;
  std::vector<ByteRange> ranges{}; // for Extent::ranges: ascending, disjoint, not adjacent
  uint32_t communicator = 0;       // for a remote access or a part
  int64_t count = 0;               // for a part: elements of the collective
  uint64_t elementBytes = 0;       // for a part
  uint32_t root = 0;               // whose memory it is: the buffer, or that which it is a view of
  uint64_t offset = 0;             // of a view in its root
  std::vector<RankTest> ranks{};   // in whose memory it is: those for which all of these hold
};

/// The buffer whose memory `buffer` is: itself, or that which it is a view of.
uint32_t rootOf(const plan::PlanT &plan, uint32_t buffer);

/// Where a buffer begins: in the storage of a slot, or (slot < 0) in the arena.
struct BufferPlace {
  int32_t slot;
  uint64_t offset;
};
BufferPlace placeOf(const plan::PlanT &plan, uint32_t buffer);

/// The slot in memory of the host (`in_host`) whose storage a buffer is, or is a view of; -1: it is none.
int32_t hostSlotOf(const plan::PlanT &plan, uint32_t buffer);

/// The communicator of an access to the memory of other ranks, or to a part; -1 for others.
int32_t communicatorOf(const Access &access);

/// Guard i of a command is its operand firstGuard + i.
inline constexpr uint32_t firstGuard = uint32_t(1) << 31;

/// Whether two commands run where the same guards hold.
bool haveEqualGuards(const plan::CommandT &a, const plan::CommandT &b);
/// Whether the same ranks run both, as far as owners say.
bool haveEqualOwners(const plan::CommandT &a, const plan::CommandT &b);

/// The ranks that have storage of a slot.
std::vector<RankTest> ownersOf(const plan::SlotT &slot);

/// The accesses of a command, reads before writes, then those of its guards. An input and an output of a
/// launch that are one buffer give one access each. Needs a command that passes the verifier's table checks.
std::vector<Access> accessesOf(const plan::PlanT &plan, const Mesh &mesh, const plan::CommandT &command);

/// The ranges of `access` in the memory of rank `owner`.
std::vector<ByteRange> rangesOf(const Access &access, const Mesh &mesh, uint32_t owner);

/// An operand of a contraction as a strided set of elements.
struct StridedDim {
  int64_t extent;
  int64_t stride;
};
enum class ContractOperand { a, b, c, bias };
std::vector<StridedDim> dimsOf(const plan::ContractT &contract, ContractOperand operand);

/// The element type of an operand of a contraction.
plan::ElementType typeOf(const plan::ContractT &contract, ContractOperand operand);

/// More separate ranges than this are not tracked; the verifier rejects such commands.
inline constexpr int64_t maxRanges = 65536;

/// Nor are more of all commands of a plan together: 256 MiB.
inline constexpr size_t maxAllRanges = size_t(1) << 24;

/// The bytes of a strided set, or nothing at all if they are more than maxRanges separate ranges. Needs
/// strides and extents that are not negative, and a last byte that fits int64_t.
bool stridedRanges(std::vector<StridedDim> dims, uint64_t elementBytes, std::vector<ByteRange> &ranges);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_ACCESS_H
