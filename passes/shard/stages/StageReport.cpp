//===- StageReport.cpp - Where a step is cut, as a table ------------------===//

#include "passes/shard/stages/StageReport.h"

#include "dialect/SourceLocation.h"
#include "passes/shard/explain/Table.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::epl;

static std::string getMilliseconds(double seconds) { return llvm::formatv("{0:F3}", seconds * 1e3).str(); }

static std::string getBytes(double bytes) { return std::to_string(int64_t(bytes)); }

/// The product of a block, and the user's line.
static std::string getPlace(const WorkChain &work, unsigned block) {
  return describeOp(work.getProduct(block));
}

/// `0 to 3`, or `4`.
static std::string getRange(unsigned begin, unsigned end) {
  std::string first = std::to_string(begin);
  return end - begin == 1 ? first : first + " to " + std::to_string(end - 1);
}

/// What the stages of another cut have.
static std::string describeNext(const StageCuts &next) {
  std::string text = "next best: blocks";
  unsigned begin = 0;
  for (unsigned end : next.ends) {
    text += (begin ? " | " : " ") + getRange(begin, end);
    begin = end;
  }
  return text + ": the largest takes " + getMilliseconds(next.seconds) + " ms, " + getBytes(next.bytes) +
         " bytes are sent";
}

void mlir::epl::explainStages(func::FuncOp function, const WorkChain &work, const StageChain &chain,
                              const StageCuts &cuts) {
  std::vector<std::vector<std::string>> rows = {
      {"stage", "blocks", "first product", "ms", "sending", "bytes sent"}};
  unsigned begin = 0;
  for (auto [stage, end] : llvm::enumerate(cuts.ends)) {
    StageTime time = getStageTime(chain, unsigned(stage), begin, end);
    rows.push_back({std::to_string(stage), getRange(begin, end), getPlace(work, begin),
                    getMilliseconds(time.getTotal()), getMilliseconds(time.sends), getBytes(time.bytes)});
    begin = end;
  }
  std::string table = makeTable(rows, {true, false, false, true, true, true});
  if (std::optional<StageCuts> next = findNextBestCuts(chain, cuts))
    table += "\n| " + describeNext(*next);
  function.emitRemark() << chain.numBlocks << " blocks in " << cuts.ends.size()
                        << " stages: the largest takes " << getMilliseconds(cuts.seconds) << " ms in a step, "
                        << getBytes(cuts.bytes) << " bytes are sent" << table;
}
