// Rows of tables by server, and back in the order of the batch.

#include "runtime/servers/model/Ids.h"

#include "runtime/Error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace epl::runtime::servers {
namespace {

using testing::ElementsAre;
using Batch = std::vector<int64_t>;

std::string errorOf(const Batch &batch, uint32_t servers) {
  try {
    splitIds(batch, servers);
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

/// The id that each position of the batch gets the row of.
Batch merged(const IdsByServer &split) {
  Batch all, result;
  for (const Batch &ids : split.ids)
    all.insert(all.end(), ids.begin(), ids.end());
  for (uint32_t row : split.row)
    result.push_back(all.at(row));
  return result;
}

TEST(Ids, AreEachOnceAtTheirServer) {
  Batch batch = {5, 2, 5, 3};
  IdsByServer split = splitIds(batch, 2);
  EXPECT_THAT(split.ids, ElementsAre(ElementsAre(2), ElementsAre(3, 5)));
  EXPECT_EQ(merged(split), batch);
}

TEST(Ids, HaveSixtyFourBits) {
  Batch batch = {INT64_MAX, int64_t(1) << 40, 0, INT64_MAX};
  IdsByServer split = splitIds(batch, 3);
  EXPECT_EQ(split.ids[INT64_MAX % 3].back(), INT64_MAX);
  EXPECT_EQ(merged(split), batch);
}

TEST(Ids, MayBeNone) { EXPECT_THAT(splitIds(Batch{}, 2).ids, ElementsAre(ElementsAre(), ElementsAre())); }

TEST(Ids, AreNotBelowZero) {
  EXPECT_EQ(errorOf({4, -2}, 2), "id -2 at position 1 of the batch is below 0");
  EXPECT_EQ(errorOf({4}, 0), "there are 0 servers that have rows, expected at least 1");
}

} // namespace
} // namespace epl::runtime::servers
