//===- AcyclicPartitionTest.cpp - Parts join if no cycle comes of it ------===//

#include "passes/kernel/cluster/AcyclicPartition.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

using namespace mlir::epl;
using llvm::SmallVector;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

namespace {

/// What each node reads; nodes are numbered so that they read smaller ones.
using Sources = std::vector<SmallVector<unsigned>>;

AcyclicPartition makePartition(const Sources &sources) {
  AcyclicPartition parts;
  for (const auto &read : sources)
    parts.addNode(read);
  return parts;
}

/// Whether the parts can be put in an order: those that nothing unplaced leads to are placed until no more
/// are.
bool isAcyclic(const Sources &sources, const std::vector<unsigned> &partOf) {
  std::vector<bool> placed(sources.size());
  auto isReady = [&](unsigned part) {
    return llvm::all_of(llvm::seq<unsigned>(0, sources.size()), [&](unsigned node) {
      return partOf[node] != part || llvm::all_of(sources[node], [&](unsigned source) {
               return partOf[source] == part || placed[partOf[source]];
             });
    });
  };
  for (bool changed = true; std::exchange(changed, false);)
    for (unsigned part = 0; part < sources.size(); ++part)
      if (!placed[part] && isReady(part))
        changed = placed[part] = true;
  return llvm::all_of(placed, [](bool is) { return is; });
}

std::vector<unsigned> getParts(const AcyclicPartition &parts, size_t count) {
  std::vector<unsigned> partOf;
  for (unsigned node = 0; node < count; ++node)
    partOf.push_back(parts.getPart(node));
  return partOf;
}

/// Each part of the order stands behind those that it reads.
void checkOrder(const Sources &sources, const AcyclicPartition &parts) {
  std::vector<int> placeOf(sources.size(), -1);
  size_t count = 0;
  for (auto [place, part] : llvm::enumerate(parts.getOrder())) {
    placeOf[part] = int(place);
    count += parts.getNodes(part).size();
    EXPECT_TRUE(llvm::is_sorted(parts.getNodes(part)));
  }
  EXPECT_EQ(count, sources.size());
  for (auto [node, read] : llvm::enumerate(sources))
    for (unsigned source : read)
      EXPECT_LE(placeOf[parts.getPart(source)], placeOf[parts.getPart(node)]);
}

Sources makeRandomSources(std::mt19937 &random) {
  Sources sources(2 + random() % 14);
  for (unsigned node = 1; node < sources.size(); ++node)
    for (unsigned count = random() % 4; count > 0; --count)
      sources[node].push_back(random() % node);
  return sources;
}

/// Tries to join two parts, and looks whether it is done exactly if no cycle comes of it.
void joinSome(const Sources &sources, AcyclicPartition &parts, std::mt19937 &random) {
  unsigned a = parts.getPart(random() % sources.size()), b = parts.getPart(random() % sources.size());
  if (a == b)
    return;
  std::vector<unsigned> before = getParts(parts, sources.size()), joined = before;
  llvm::replace(joined, b, a);
  bool did = parts.tryJoin(a, b);
  EXPECT_EQ(did, isAcyclic(sources, joined)) << a << " and " << b;
  std::vector<unsigned> after = getParts(parts, sources.size());
  if (did)
    llvm::replace(after, b, a);
  EXPECT_EQ(after, did ? joined : before);
}

TEST(AcyclicPartition, JoinsExactlyWhatMakesNoCycle) {
  std::mt19937 random(0);
  for (int graph = 0; graph < 2000 && !testing::Test::HasFailure(); ++graph) {
    SCOPED_TRACE("graph " + std::to_string(graph));
    Sources sources = makeRandomSources(random);
    AcyclicPartition parts = makePartition(sources);
    for (int attempt = 0; attempt < 30; ++attempt)
      joinSome(sources, parts, random);
    checkOrder(sources, parts);
  }
}

TEST(AcyclicPartition, SeesAThirdPartBehindBothNodes) {
  // 4 joins 0; then 1 leads to 2 by way of 3, which stands behind 2, and of that part.
  AcyclicPartition parts = makePartition({{}, {}, {0}, {1}, {0, 3}});
  EXPECT_TRUE(parts.tryJoin(0, 4));
  EXPECT_FALSE(parts.tryJoin(1, 2));
  EXPECT_THAT(parts.getNodes(parts.getPart(0)), ElementsAre(0, 4));
  EXPECT_THAT(parts.getUsers(0), UnorderedElementsAre(2, 4));
  EXPECT_THAT(parts.getOrder(), ElementsAre(1, 3, parts.getPart(0), 2));
}

} // namespace
