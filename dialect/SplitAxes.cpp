//===- SplitAxes.cpp - The axes that task graphs are split over -----------===//

#include "dialect/SplitAxes.h"

#include "dialect/Sharding.h"

#include <map>
#include <numeric>
#include <set>

using namespace mlir;
using namespace mlir::epl;

/// The counts over which task graphs are split, each once, ascending.
static SmallVector<int64_t> getSplitCounts(ArrayRef<TaskGraphOp> taskgraphs) {
  std::set<int64_t> counts;
  for (TaskGraphOp taskgraph : taskgraphs)
    if (taskgraph.getStrategy().getKind() == StrategyKind::split)
      counts.insert(taskgraph.getStrategy().getDeviceCount());
  return SmallVector<int64_t>(counts.begin(), counts.end());
}

/// The prime powers that divide `number`, each behind the lower ones of its prime: 2, 4, 3 of 12.
static SmallVector<int64_t> getPrimePowers(int64_t number) {
  SmallVector<int64_t> powers;
  for (int64_t prime = 2; number > 1; ++prime) {
    if (prime * prime > number)
      prime = number; // which has no smaller factor
    for (int64_t power = prime; number % prime == 0; power *= prime, number /= prime)
      powers.push_back(power);
  }
  return powers;
}

/// Each prime power that counts share is a factor of the axis of just these counts.
SmallVector<SplitAxis> mlir::epl::getSplitAxes(ArrayRef<TaskGraphOp> taskgraphs) {
  SmallVector<int64_t> counts = getSplitCounts(taskgraphs);
  int64_t multiple = 1;
  for (int64_t count : counts)
    multiple = std::lcm(multiple, count);
  std::map<std::vector<int64_t>, int64_t> sizes; // of the axes of these counts
  for (int64_t power : getPrimePowers(multiple)) {
    std::vector<int64_t> users;
    llvm::copy_if(counts, std::back_inserter(users), [&](int64_t count) { return count % power == 0; });
    sizes.try_emplace(users, 1).first->second *= getPrimePowers(power).front();
  }
  SmallVector<SplitAxis> axes;
  for (auto &[users, size] : sizes)
    axes.push_back({"", size, SmallVector<int64_t>(users.begin(), users.end())});
  llvm::sort(axes, [](const SplitAxis &a, const SplitAxis &b) {
    return a.counts.size() != b.counts.size() ? a.counts.size() > b.counts.size() : a.counts < b.counts;
  });
  for (auto [index, axis] : llvm::enumerate(axes))
    axis.name = kModelAxis.str() + (index == 0 ? "" : std::to_string(index + 1));
  return axes;
}

SmallVector<SplitAxis> mlir::epl::getSplitAxes(MeshOp mesh) {
  SmallVector<SplitAxis> axes = getSplitAxes(getTaskGraphs(mesh));
  SmallVector<AxisAttr> own = mesh.getAxesOfRole(AxisRole::model);
  axes.truncate(std::min(axes.size(), own.size()));
  for (auto [axis, named] : llvm::zip_equal(axes, ArrayRef(own).take_front(axes.size())))
    axis.name = named.getName().str();
  return axes;
}
