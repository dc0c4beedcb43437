//===- StageCuts.cpp - Where a chain of blocks is cut ---------------------===//
//
// Two dynamic programs over (stages, blocks). The first finds the time of the largest stage, the second, with
// that as the limit of every stage, the fewest bytes. One over pairs of both would be wrong: a beginning that
// is slower but sends less is better where a later stage is the largest.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/stages/StageCuts.h"

#include <algorithm>
#include <limits>

using namespace mlir::epl;

StageTime mlir::epl::getStageTime(const StageChain &chain, unsigned stage, unsigned begin, unsigned end) {
  const StageDevices &devices = chain.stages[stage];
  StageTime time;
  double messages = 0;
  for (unsigned block = begin; block < end; ++block)
    time.compute += devices.seconds[block];
  for (const ChainValue &value : chain.values) {
    bool isMade = begin <= value.maker && value.maker < end;
    bool isSent = isMade && value.readers.back() >= end;
    bool isRead = value.maker < begin && std::any_of(
                                             value.readers.begin(), value.readers.end(),
                                             [&](auto r) { return begin <= r && r < end; });
    if (isSent || (isRead && value.hasGradient)) {
      time.bytes += value.bytes;
      messages += value.messages;
    }
  }
  time.sends = time.bytes * devices.secondsPerByte + messages * devices.secondsPerMessage;
  return time;
}

namespace {
constexpr double kNever = std::numeric_limits<double>::infinity();

/// A cut that is not to be: the end of a stage.
struct Forbidden {
  unsigned stage, end;
};

/// What stages that begin at one block send, by the block behind their last.
struct Sends {
  std::vector<double> bytes, messages;
};

class CutSearch {
public:
  CutSearch(const StageChain &chain, std::optional<Forbidden> forbidden);

  std::optional<StageCuts> run();

private:
  enum class Goal { largestStage, bytes };

  void solve(Goal goal, double limit);
  void extend(Goal goal, double limit, unsigned stage, unsigned begin, const Sends &sends);
  Sends getSends(unsigned begin) const;
  double getSeconds(unsigned stage, unsigned begin, unsigned end, const Sends &sends) const;

  const StageChain &chain;
  std::optional<Forbidden> forbidden;
  unsigned numBlocks, numStages;
  std::vector<std::vector<double>> seconds; ///< of each stage, what the blocks before each one take
  std::vector<std::vector<double>> best;    ///< of so many stages that have so many blocks
  std::vector<std::vector<unsigned>> begins;
};
} // namespace

CutSearch::CutSearch(const StageChain &chain, std::optional<Forbidden> forbidden)
    : chain(chain), forbidden(forbidden), numBlocks(chain.numBlocks),
      numStages(unsigned(chain.stages.size())) {
  seconds.reserve(numStages);
  for (const StageDevices &devices : chain.stages) {
    std::vector<double> &sums = seconds.emplace_back(numBlocks + 1, 0);
    for (unsigned block = 0; block < numBlocks; ++block)
      sums[block + 1] = sums[block] + devices.seconds[block];
  }
}

/// Each value is added where stages begin to send it, and taken off where they no longer do.
Sends CutSearch::getSends(unsigned begin) const {
  Sends sends{std::vector<double>(numBlocks + 1, 0), std::vector<double>(numBlocks + 1, 0)};
  auto add = [&](unsigned from, const ChainValue &value, double sign) {
    sends.bytes[from] += sign * value.bytes;
    sends.messages[from] += sign * value.messages;
  };
  for (const ChainValue &value : chain.values) {
    if (value.maker >= begin) {
      add(value.maker + 1, value, 1);
      if (value.readers.back() < numBlocks)
        add(value.readers.back() + 1, value, -1);
    } else if (value.hasGradient) {
      auto reader = std::lower_bound(value.readers.begin(), value.readers.end(), begin);
      if (reader != value.readers.end())
        add(*reader + 1, value, 1);
    }
  }
  for (unsigned end = 1; end <= numBlocks; ++end) {
    sends.bytes[end] += sends.bytes[end - 1];
    sends.messages[end] += sends.messages[end - 1];
  }
  return sends;
}

double CutSearch::getSeconds(unsigned stage, unsigned begin, unsigned end, const Sends &sends) const {
  const StageDevices &devices = chain.stages[stage];
  return seconds[stage][end] - seconds[stage][begin] + sends.bytes[end] * devices.secondsPerByte +
         sends.messages[end] * devices.secondsPerMessage;
}

/// Tries all ends of a stage that begins at a block.
void CutSearch::extend(Goal goal, double limit, unsigned stage, unsigned begin, const Sends &sends) {
  for (unsigned end = begin + 1; end <= numBlocks; ++end) {
    double time = getSeconds(stage, begin, end, sends);
    bool isForbidden = forbidden && forbidden->stage == stage && forbidden->end == end;
    if (isForbidden || time > limit)
      continue;
    double before = best[stage][begin];
    double cost = goal == Goal::bytes ? before + sends.bytes[end] : std::max(before, time);
    if (cost < best[stage + 1][end]) {
      best[stage + 1][end] = cost;
      begins[stage + 1][end] = begin;
    }
  }
}

void CutSearch::solve(Goal goal, double limit) {
  best.assign(numStages + 1, std::vector<double>(numBlocks + 1, kNever));
  begins.assign(numStages + 1, std::vector<unsigned>(numBlocks + 1, 0));
  best[0][0] = 0;
  for (unsigned begin = 0; begin < numBlocks; ++begin) {
    Sends sends = getSends(begin);
    for (unsigned stage = 0; stage < numStages; ++stage)
      if (best[stage][begin] < kNever)
        extend(goal, limit, stage, begin, sends);
  }
}

std::optional<StageCuts> CutSearch::run() {
  solve(Goal::largestStage, kNever);
  double largest = best[numStages][numBlocks];
  if (largest == kNever)
    return std::nullopt;
  solve(Goal::bytes, largest);
  StageCuts cuts{std::vector<unsigned>(numStages), largest, best[numStages][numBlocks]};
  for (unsigned stage = numStages, end = numBlocks; stage > 0; --stage) {
    cuts.ends[stage - 1] = end;
    end = begins[stage][end];
  }
  return cuts;
}

std::optional<StageCuts> mlir::epl::findStageCuts(const StageChain &chain) {
  return CutSearch(chain, std::nullopt).run();
}

/// Another one differs in the end of some stage.
std::optional<StageCuts> mlir::epl::findNextBestCuts(const StageChain &chain, const StageCuts &best) {
  std::optional<StageCuts> next;
  for (unsigned stage = 0; stage + 1 < best.ends.size(); ++stage) {
    std::optional<StageCuts> other = CutSearch(chain, Forbidden{stage, best.ends[stage]}).run();
    if (other && (!next || std::pair(other->seconds, other->bytes) < std::pair(next->seconds, next->bytes)))
      next = other;
  }
  return next;
}
