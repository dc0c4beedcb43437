//===- StageCuts.h - Where a chain of blocks is cut -------------*- C++ -*-===//
//
// A pipeline is as fast as its largest stage. A stage is a run of blocks of a chain on devices of its own.
// Its time is that of its blocks, forward and backward, and of what its devices send: values of its own that
// later stages read, and gradients of values of earlier stages that it reads. Sends count in full, since no
// schedule hides all of them; a value counts once, however many stages read it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <optional>
#include <vector>

namespace mlir::epl {

/// A value that one block makes and later ones read.
struct ChainValue {
  unsigned maker;
  std::vector<unsigned> readers; ///< ascending, all behind the maker
  double bytes;                  ///< of the value in a step, and of its gradient
  double messages;               ///< in which these are sent
  bool hasGradient;              ///< which goes back
};

/// What the devices of a stage take.
struct StageDevices {
  std::vector<double> seconds; ///< for each block of the chain in a step
  double secondsPerByte, secondsPerMessage;
};

struct StageChain {
  unsigned numBlocks;
  std::vector<StageDevices> stages;
  std::vector<ChainValue> values;
};

/// What a stage takes in a step.
struct StageTime {
  double compute = 0, sends = 0; ///< seconds
  double bytes = 0;              ///< that it sends

  double getTotal() const { return compute + sends; }
};

/// Of the blocks from `begin` to before `end` on the devices of `stage`.
StageTime getStageTime(const StageChain &chain, unsigned stage, unsigned begin, unsigned end);

/// A chain in stages, each of at least one block.
struct StageCuts {
  std::vector<unsigned> ends; ///< of each stage, the block behind its last
  double seconds;             ///< of the largest stage
  double bytes;               ///< that all stages send
};

/// Of all cuts that whose largest stage is least, of these the one of the fewest bytes. None if there are
/// fewer blocks than stages. Time: stages x blocks^2.
std::optional<StageCuts> findStageCuts(const StageChain &chain);

/// The best of all others than `best`, if there are any.
std::optional<StageCuts> findNextBestCuts(const StageChain &chain, const StageCuts &best);

} // namespace mlir::epl
