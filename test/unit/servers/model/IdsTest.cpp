// Rows of tables by server, and back in the order of the batch.

#include "runtime/servers/model/Ids.h"

#include "runtime/Error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

namespace epl::runtime::servers {
namespace {

using testing::ElementsAre;
using Batch = std::vector<int64_t>;

IdsByServer split(const std::vector<Batch> &lookups, uint32_t servers,
                  std::optional<int64_t> padding = std::nullopt) {
  std::vector<std::span<const int64_t>> spans(lookups.begin(), lookups.end());
  IdsByServer result;
  IdSplitter().split(spans, servers, padding, "user", result);
  return result;
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

/// The ids of the rows that each place of each lookup gets.
std::vector<Batch> merged(const IdsByServer &split, const std::vector<Batch> &lookups, int64_t padding = 0) {
  std::map<uint32_t, int64_t> idAt;
  uint32_t row = 0;
  for (const Batch &ids : split.ids)
    for (int64_t id : ids) {
      for (uint32_t i = split.first[row]; i < split.first[row + 1]; ++i)
        EXPECT_TRUE(idAt.emplace(split.places[i], id).second);
      ++row;
    }
  EXPECT_EQ(row + 1, split.first.size());
  EXPECT_EQ(split.first.back(), split.places.size());
  for (uint32_t place : split.padding)
    EXPECT_TRUE(idAt.emplace(place, padding).second);
  std::vector<Batch> result;
  for (size_t lookup = 0; lookup < lookups.size(); ++lookup) {
    EXPECT_EQ(split.lookups[lookup] % IdsByServer::kLookupAlignment, 0u);
    EXPECT_LE(split.lookups[lookup] + lookups[lookup].size(), split.lookups[lookup + 1]);
    result.emplace_back();
    for (uint32_t i = 0; i < lookups[lookup].size(); ++i)
      result.back().push_back(idAt.at(split.lookups[lookup] + i));
  }
  return result;
}

TEST(Ids, AreEachOnceAtTheirServer) {
  Batch batch = {5, 2, 5, 3};
  IdsByServer found = split({batch}, 2);
  EXPECT_THAT(found.ids, ElementsAre(ElementsAre(2), ElementsAre(3, 5)));
  EXPECT_THAT(merged(found, {batch}), ElementsAre(batch));
  EXPECT_EQ(found.rowsBefore(1), 1u);
  EXPECT_EQ(found.rowsBefore(2), 3u);
}

TEST(Ids, OfSeveralLookupsAreOne) {
  std::vector<Batch> lookups = {{7, 2}, {}, {2, 4}};
  IdsByServer found = split(lookups, 1);
  EXPECT_THAT(found.ids, ElementsAre(ElementsAre(2, 4, 7)));
  EXPECT_THAT(found.lookups, ElementsAre(0, 64, 64, 128));
  EXPECT_THAT(found.places, ElementsAre(1, 64, 65, 0)) << "those of an id in their order";
  EXPECT_EQ(merged(found, lookups), lookups);
}

/// Ids that are close, far apart, equal, and mixed.
TEST(Ids, AreSortedAsByComparing) {
  std::mt19937_64 random(1);
  for (int bits : {0, 1, 10, 21, 22, 23, 40, 63})
    for (size_t size : {0, 1, 32, 33, 1024, 1025, 30000}) {
      std::vector<IdAt> ids(size), spare(size);
      for (uint32_t i = 0; i < size; ++i) {
        int64_t id = bits == 0 ? 5 : int64_t(random() >> (64 - bits));
        ids[i] = {i % 1000 == 7 ? int64_t(random() >> 1) : id, i};
      }
      std::vector<IdAt> expected = ids;
      std::ranges::sort(expected, {}, [](const IdAt &each) { return std::pair(each.id, each.place); });
      sortByIds(ids, spare);
      EXPECT_TRUE(std::ranges::equal(
          ids, expected,
          [](const IdAt &one, const IdAt &other) { return one.id == other.id && one.place == other.place; }))
          << size << " ids of " << bits << " bits";
    }
}

TEST(Ids, AreSplitInMemoryOfOthers) {
  IdSplitter splitter;
  IdsByServer result;
  for (const Batch &batch : {Batch{9, 4, 9, 3, 2}, Batch{-1, 5}, Batch{}}) {
    std::span<const int64_t> ids(batch);
    splitter.split(std::span(&ids, 1), 2, -1, "user", result);
    EXPECT_THAT(merged(result, {batch}, -1), ElementsAre(batch));
  }
}

TEST(Ids, HaveSixtyFourBits) {
  Batch batch = {INT64_MAX, int64_t(1) << 40, 0, INT64_MAX};
  IdsByServer found = split({batch}, 3);
  EXPECT_EQ(found.ids[INT64_MAX % 3].back(), INT64_MAX);
  EXPECT_THAT(merged(found, {batch}), ElementsAre(batch));
}

TEST(Ids, AreAscendingHoweverManyThereAre) {
  std::mt19937_64 random(1);
  Batch batch(20000);
  for (int64_t &id : batch)
    id = int64_t(random() >> (1 + random() % 60));
  std::set<int64_t> distinct(batch.begin(), batch.end());
  for (uint32_t servers : {1, 4, 3000}) {
    IdsByServer found = split({batch}, servers);
    EXPECT_THAT(merged(found, {batch}), ElementsAre(batch));
    EXPECT_EQ(found.rowsBefore(servers), distinct.size());
    for (const Batch &ids : found.ids)
      EXPECT_TRUE(std::ranges::is_sorted(ids));
  }
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
    EXPECT_THAT(merged(found, {batch}, padding), ElementsAre(batch));
  }
}

TEST(Ids, AreNotBelowZero) {
  EXPECT_EQ(errorOf({{4}, {4, -2}}, 2), "table \"user\": id -2 at position 1 of lookup 1 is below 0");
  EXPECT_EQ(errorOf({{4, -2}}, 2, -1), "table \"user\": id -2 at position 1 of lookup 0 is below 0");
  EXPECT_EQ(errorOf({{4}}, 0), "there are 0 servers that have rows, expected at least 1");
}

} // namespace
} // namespace epl::runtime::servers
