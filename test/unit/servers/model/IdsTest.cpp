// Rows of tables by server, and back in the order of the batch.

#include "runtime/servers/model/Ids.h"

#include "runtime/Error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <set>

namespace epl::runtime::servers {
namespace {

using testing::ElementsAre;
using Batch = std::vector<int64_t>;

IdsByServer split(const std::vector<Batch> &lookups, uint32_t servers,
                  std::optional<int64_t> padding = std::nullopt) {
  std::vector<std::span<const int64_t>> spans(lookups.begin(), lookups.end());
  return splitIds(spans, servers, padding, "user");
}

std::string errorOf(const std::vector<Batch> &lookups, uint32_t servers,
                    std::optional<int64_t> padding = std::nullopt) {
  try {
    split(lookups, servers, padding);
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

/// The id that each position of the batch gets the row of.
Batch merged(const IdsByServer &split, int64_t padding = 0) {
  Batch all, result;
  for (const Batch &ids : split.ids)
    all.insert(all.end(), ids.begin(), ids.end());
  for (uint32_t row : split.row)
    result.push_back(row == kNoRow ? padding : all.at(row));
  return result;
}

TEST(Ids, AreEachOnceAtTheirServer) {
  Batch batch = {5, 2, 5, 3};
  IdsByServer found = split({batch}, 2);
  EXPECT_THAT(found.ids, ElementsAre(ElementsAre(2), ElementsAre(3, 5)));
  EXPECT_EQ(merged(found), batch);
  EXPECT_EQ(found.rowsBefore(1), 1u);
  EXPECT_EQ(found.rowsBefore(2), 3u);
}

TEST(Ids, OfSeveralLookupsAreOne) {
  IdsByServer found = split({{7, 2}, {}, {2, 4}}, 1);
  EXPECT_THAT(found.ids, ElementsAre(ElementsAre(2, 4, 7)));
  EXPECT_THAT(found.row, ElementsAre(2, 0, 0, 1));
}

TEST(Ids, HaveSixtyFourBits) {
  Batch batch = {INT64_MAX, int64_t(1) << 40, 0, INT64_MAX};
  IdsByServer found = split({batch}, 3);
  EXPECT_EQ(found.ids[INT64_MAX % 3].back(), INT64_MAX);
  EXPECT_EQ(merged(found), batch);
}

TEST(Ids, AreAscendingHoweverManyThereAre) {
  std::mt19937_64 random(1);
  Batch batch(20000);
  for (int64_t &id : batch)
    id = int64_t(random() >> (1 + random() % 60));
  IdsByServer found = split({batch}, 4);
  EXPECT_EQ(merged(found), batch);
  std::set<int64_t> distinct(batch.begin(), batch.end());
  EXPECT_EQ(found.rowsBefore(4), distinct.size());
  for (const Batch &ids : found.ids)
    EXPECT_TRUE(std::ranges::is_sorted(ids));
}

TEST(Ids, MayBeNone) {
  EXPECT_THAT(split({Batch{}}, 2).ids, ElementsAre(ElementsAre(), ElementsAre()));
  EXPECT_THAT(split({}, 1).ids, ElementsAre(ElementsAre()));
}

TEST(Ids, MayBePadding) {
  for (int64_t padding : {-1, 3}) {
    Batch batch = {padding, 5, padding, 4};
    IdsByServer found = split({batch}, 2, padding);
    EXPECT_THAT(found.ids, ElementsAre(ElementsAre(4), ElementsAre(5)));
    EXPECT_EQ(merged(found, padding), batch);
  }
}

TEST(Ids, AreNotBelowZero) {
  EXPECT_EQ(errorOf({{4}, {4, -2}}, 2), "table \"user\": id -2 at position 1 of lookup 1 is below 0");
  EXPECT_EQ(errorOf({{4, -2}}, 2, -1), "table \"user\": id -2 at position 1 of lookup 0 is below 0");
  EXPECT_EQ(errorOf({{4}}, 0), "there are 0 servers that have rows, expected at least 1");
}

} // namespace
} // namespace epl::runtime::servers
