//===- OperationsTest.cpp - Work that was handed over ---------------------===//

#include "test/cuda/driver/Operations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

using namespace cuda_double;

/// Random work in random order: exactly the pairs without a path that touch the same bytes are reported.
TEST(Operations, ReportExactlyWhatNothingOrders) {
  std::mt19937_64 random(3);
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Operations operations(seed);
    size_t size = 2 + random() % 12;
    std::vector<std::vector<bool>> paths(size, std::vector<bool>(size));
    std::vector<Use> uses;
    std::vector<size_t> ran;
    for (size_t i = 0; i < size; ++i) {
      std::vector<OperationId> after;
      for (size_t j = 0; j < i; ++j)
        if (random() % 4 == 0) {
          after.push_back(j);
          paths[j][i] = true;
          for (size_t k = 0; k < j; ++k)
            paths[k][i] = paths[k][i] || paths[k][j];
        }
      uint64_t begin = random() % 20;
      uses.push_back({begin, begin + 1 + random() % 5, random() % 2 == 0});
      EXPECT_EQ(operations.add(std::to_string(i), after,
                               [&ran, i, use = uses.back()] {
                                 ran.push_back(i);
                                 return std::vector<Use>{use};
                               }),
                i);
    }
    EXPECT_TRUE(ran.empty());
    operations.wait(operations.getAll());
    ASSERT_EQ(ran.size(), size);
    std::set<std::pair<size_t, size_t>> found, wanted;
    for (const Conflict &conflict : operations.conflicts)
      found.insert(std::minmax(std::stoul(conflict.first), std::stoul(conflict.second)));
    for (size_t i = 0; i < size; ++i)
      for (size_t j = i + 1; j < size; ++j) {
        bool meet = uses[i].begin < uses[j].end && uses[j].begin < uses[i].end;
        if (meet && (uses[i].isWritten || uses[j].isWritten) && !paths[i][j])
          wanted.insert({i, j});
        if (paths[i][j])
          EXPECT_LT(std::find(ran.begin(), ran.end(), i), std::find(ran.begin(), ran.end(), j));
      }
    EXPECT_EQ(found, wanted);
    EXPECT_TRUE(operations.getAll().empty()); // all is done and known
  }
}

TEST(Operations, RunNoMoreThanTheyMust) {
  Operations operations(1);
  bool other = false;
  OperationId first = operations.add("a", {}, [] { return std::vector<Use>(); });
  OperationId second = operations.add("b", {first}, [&] {
    other = true;
    return std::vector<Use>();
  });
  operations.wait(std::span(&first, 1));
  EXPECT_TRUE(operations.isDone(first));
  EXPECT_FALSE(other); // it comes after what was waited for
  EXPECT_TRUE(operations.hasPending());
  operations.runOne();
  EXPECT_TRUE(operations.isDone(second));
  operations.runOne(); // there is none
}

/// Others run while one waits; where nothing else may, the caller pauses.
TEST(Operations, AskAgainWhatWaits) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Operations operations(seed);
    int asked = 0, pauses = 0;
    bool isThere = false, other = false;
    OperationId waits = operations.add("a", {}, [&]() -> std::optional<std::vector<Use>> {
      ++asked;
      return isThere ? std::optional<std::vector<Use>>(std::in_place) : std::nullopt;
    });
    operations.add("b", {}, [&] {
      other = true;
      return std::vector<Use>();
    });
    operations.wait(std::span(&waits, 1), [&] {
      EXPECT_TRUE(other);
      isThere = ++pauses == 3;
    });
    EXPECT_TRUE(operations.isDone(waits));
    EXPECT_EQ(pauses, 3);
    EXPECT_GE(asked, 5); // once it begins, three times before a pause, and when it is over
    EXPECT_EQ(operations.runOne(), Operations::Progress::none);
  }
}
