// Rows of a table in memory: what is in them, where they are found, what they take.

#include "runtime/servers/store/TableRows.h"

#include "runtime/servers/model/Manifest.h"
#include "test/unit/servers/Manifests.h"

#include <cmath>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <random>

namespace epl::runtime::servers::test {
namespace {

using manifest::InitKind;
using testing::ElementsAre;

/// A table of f32, as addTable makes it.
manifest::TableT makeTable(uint64_t dim, InitKind init = InitKind::uniform) {
  manifest::ManifestT manifest;
  addTable(manifest, "user", dim);
  manifest::TableT table = *manifest.tables.front();
  table.init = init, table.seed = 7;
  return table;
}

template <typename T = float> std::vector<T> firstOf(const manifest::TableT &table, int64_t id) {
  std::vector<T> value(table.dim);
  FirstRows(table).write(id, reinterpret_cast<std::byte *>(value.data()));
  return value;
}

/// What numpy.random.Philox(key=[7, 0], counter=[0, 5, 0, 0]).random_raw(5) gives, in the formula of uniform.
TEST(FirstRows, AreThoseOfNumpy) {
  manifest::TableT table = makeTable(5);
  table.type = plan::ElementType::f64, table.scale = 1;
  EXPECT_EQ(firstOf<double>(table, 5),
            (std::vector<double>{-0x1.43d05b98d81c0p-3, -0x1.3d2b6ff4965d8p-1, 0x1.53eecf6e82accp-1,
                                 0x1.30c0e904a06f8p-1, -0x1.c9250d3ce1e78p-2}));
}

TEST(FirstRows, FollowFromSeedIdAndElement) {
  manifest::TableT table = makeTable(6), wider = makeTable(9), other = makeTable(6);
  other.seed = 8;
  std::vector<float> value = firstOf(table, 5), more = firstOf(wider, 5);
  EXPECT_EQ(value, std::vector<float>(more.begin(), more.begin() + 6));
  EXPECT_NE(value, firstOf(table, 6));
  EXPECT_NE(value, firstOf(other, 5));
}

TEST(FirstRows, AreAsWideAsTheirScale) {
  for (InitKind init : {InitKind::uniform, InitKind::normal}) {
    manifest::TableT table = makeTable(50000, init);
    table.scale = 0.5;
    std::vector<float> value = firstOf(table, 1);
    double sum = 0, squares = 0;
    for (float element : value)
      sum += element, squares += double(element) * element;
    EXPECT_NEAR(sum / 50000, 0, 0.01);
    EXPECT_NEAR(std::sqrt(squares / 50000), init == InitKind::normal ? 0.5 : 0.5 / std::sqrt(3), 0.01);
    auto [least, most] = std::ranges::minmax(value);
    EXPECT_EQ(init == InitKind::uniform, least >= -0.5F && most <= 0.5F);
  }
}

TEST(FirstRows, MayBeANumber) {
  manifest::TableT table = makeTable(3, InitKind::zeros);
  EXPECT_THAT(firstOf(table, 1), ElementsAre(0, 0, 0));
  table.init = InitKind::constant;
  EXPECT_THAT(firstOf(table, 1), ElementsAre(0.5, 0.5, 0.5));
  table.type = plan::ElementType::f16;
  EXPECT_EQ(firstOf<uint16_t>(table, 1), (std::vector<uint16_t>(3, 0x3800)));
  table.type = plan::ElementType::bf16;
  EXPECT_EQ(firstOf<uint16_t>(table, 1), (std::vector<uint16_t>(3, 0x3f00)));
}

float &element(TableRows &rows, TableRows::Row row) { return *reinterpret_cast<float *>(rows.at(row)); }

TEST(TableRows, AreMadeOfFirstValues) {
  manifest::TableT table = makeTable(3);
  table.slots[0]->first[1] = 17;
  TableRows rows(table);
  EXPECT_EQ(rows.find(5), TableRows::kNone);
  TableRows::Row row = rows.findOrAdmit(5);
  ASSERT_NE(row, TableRows::kNone);
  EXPECT_EQ(rows.find(5), row);
  std::vector<float> value(3);
  std::memcpy(value.data(), rows.at(row), 12);
  EXPECT_EQ(value, firstOf(table, 5));
  EXPECT_EQ(std::memcmp(rows.at(row) + rows.layout().fields[1].offset, table.slots[0]->first.data(), 12), 0);
  EXPECT_EQ(rows.layout().stride, 32u) << "3 and 3 elements, a count, and to a multiple of 8";
}

/// Beside a map: rows come and go, and stay what they are.
TEST(TableRows, AreFoundAmongMany) {
  manifest::TableT table = makeTable(1);
  TableRows rows(table);
  std::map<int64_t, float> expected;
  std::mt19937_64 random(2);
  for (int i = 0; i < 50000; ++i) {
    int64_t id = random() % 2 ? int64_t(random() % 5000) : int64_t(random() >> 1);
    if (random() % 4 == 0) {
      rows.erase(id);
      expected.erase(id);
      continue;
    }
    element(rows, rows.findOrAdmit(id)) = float(i);
    expected[id] = float(i);
  }
  EXPECT_EQ(rows.size(), expected.size());
  std::vector<int64_t> ids;
  for (auto [id, value] : expected) {
    ids.push_back(id);
    ASSERT_NE(rows.find(id), TableRows::kNone);
    EXPECT_EQ(element(rows, rows.find(id)), value);
  }
  EXPECT_EQ(rows.idsOf([](uint64_t) { return true; }), ids);
  // The same by many at once, and others between them.
  for (size_t begin = 0; begin < ids.size(); begin += TableRows::kAhead / 2) {
    std::vector<int64_t> asked;
    for (size_t i = begin; i < std::min(begin + TableRows::kAhead / 2, ids.size()); ++i)
      asked.insert(asked.end(), {ids[i], int64_t(random() >> 1)});
    std::vector<TableRows::Row> found(asked.size());
    rows.find(asked, rows.layout().stride, found.data());
    for (size_t i = 0; i < asked.size(); ++i)
      EXPECT_EQ(found[i], rows.find(asked[i]));
  }
}

TEST(RowIndex, MixesIdsSoThatTheyCanBeTold) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 1000; ++i) {
    auto id = int64_t(random());
    EXPECT_EQ(RowIndex::idOf(RowIndex::keyOf(id)), id);
    EXPECT_EQ(RowIndex::idOf(RowIndex::keyOf(i)), i);
  }
  EXPECT_NE(RowIndex::keyOf(1) >> 32, RowIndex::keyOf(2) >> 32);
}

/// Keys that have one home, at the end of the table, too, come and go.
TEST(RowIndex, FindsRowsWhoseKeysAreClose) {
  RowIndex index;
  std::map<RowIndex::Key, RowIndex::Row> expected;
  std::vector<RowIndex::Key> keys;
  std::mt19937_64 random(2);
  for (RowIndex::Row row = 0; row < 20000; ++row) {
    RowIndex::Key key = random() % 4 == 0 ? UINT64_MAX - random() % 40000 : random();
    if (!expected.emplace(key, row).second)
      continue;
    index.insert(key, row);
    keys.push_back(key);
    if (RowIndex::Key other = keys[random() % keys.size()]; random() % 3 == 0 && expected.contains(other)) {
      index.erase(other);
      EXPECT_EQ(index.find(other), RowIndex::kNone);
      expected.erase(other);
    }
  }
  EXPECT_EQ(index.size(), expected.size());
  for (auto [key, row] : expected)
    EXPECT_EQ(index.find(key), row);
  std::map<RowIndex::Key, RowIndex::Row> found;
  index.forEach([&](int64_t id, RowIndex::Row row) { found[RowIndex::keyOf(id)] = row; });
  EXPECT_EQ(found, expected);
  index.clear();
  EXPECT_EQ(index.find(keys.front()), RowIndex::kNone);
  EXPECT_EQ(index.bytes(), 0u);
}

TEST(TableRows, AreAdmittedAfterSomeSightings) {
  manifest::TableT table = makeTable(1);
  table.admit = 3;
  TableRows rows(table);
  EXPECT_EQ(rows.findOrAdmit(4), TableRows::kNone);
  EXPECT_EQ(rows.sight(4), TableRows::kNone);
  EXPECT_EQ(rows.sight(4), TableRows::kNone);
  EXPECT_EQ(rows.sight(5), TableRows::kNone);
  EXPECT_EQ(rows.size(), 0u);
  TableRows::Row row = rows.sight(4);
  EXPECT_NE(row, TableRows::kNone);
  EXPECT_EQ(rows.sight(4), row);
}

TEST(TableRows, KnowWhenTheyChanged) {
  manifest::TableT table = makeTable(1);
  TableRows rows(table);
  for (int64_t id : {1, 2, 3}) {
    ++rows.version;
    rows.findOrAdmit(id);
  }
  rows.changed(rows.find(1)) = 9;
  EXPECT_THAT(rows.idsOf([](uint64_t version) { return version > 2; }), ElementsAre(1, 3));
}

/// The measure: a row of 16 with a slot, as Adagrad has it, takes at most 1.3 times its own bytes.
TEST(TableRows, TakeLittleMoreThanTheirElements) {
  manifest::TableT table = makeTable(16);
  table.slots.pop_back();
  TableRows rows(table);
  std::mt19937_64 random(2);
  size_t count = 0;
  for (size_t most : {20000, 100000, 250000, 400000}) {
    for (; count < most; ++count)
      rows.findOrAdmit(int64_t(random() >> 1));
    EXPECT_LE(double(rows.bytes()), 1.3 * 128 * double(count)) << count;
  }
}

} // namespace
} // namespace epl::runtime::servers::test
