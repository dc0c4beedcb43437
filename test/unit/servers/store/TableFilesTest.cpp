// Rows of tables in files: what is written is read, by any number of servers; what is wrong is named.

#include "runtime/servers/store/TableFiles.h"

#include "runtime/Error.h"
#include "test/unit/servers/Manifests.h"

#include <cstring>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace epl::runtime::servers::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

class TableFiles : public testing::Test {
protected:
  void SetUp() override {
    manifest::ManifestT manifest;
    addTable(manifest, "user", 3);
    table = *manifest.tables.front();
    folder = fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder);
    fs::create_directories(folder);
  }

  /// A file of rows whose first element is `10 * id`.
  fs::path write(const std::vector<int64_t> &ids, const FilePart &part) {
    TableRows rows(table);
    for (int64_t id : ids) {
      float value = 10 * float(id);
      std::memcpy(rows.at(rows.make(id)), &value, sizeof(value));
    }
    fs::path path = folder / tableFileName(table.name, part);
    writeTableFile(table, rows, rows.idsOf([](uint64_t) { return true; }), path);
    return path;
  }

  std::string errorOf(const fs::path &path) {
    TableRows rows(table);
    try {
      readTableFile(table, Fields::all, rows, [](int64_t) { return true; }, path);
    } catch (const Error &error) {
      return error.what();
    }
    return "no error";
  }

  /// The file with another header.
  std::string errorOf(const fs::path &path, const std::function<void(nlohmann::ordered_json &)> &change) {
    std::ifstream file(path, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), {}};
    uint64_t size = 0;
    std::memcpy(&size, bytes.data(), 8);
    auto header = nlohmann::ordered_json::parse(bytes.substr(8, size));
    std::string data = bytes.substr(8 + size);
    change(header);
    std::string text = header.dump();
    size = text.size();
    std::string changed(reinterpret_cast<const char *>(&size), 8);
    fs::path other = folder / "other";
    std::ofstream(other, std::ios::binary) << changed << text << data;
    return errorOf(other);
  }

  manifest::TableT table;
  fs::path folder;
};

TEST_F(TableFiles, AreReadAsTheyWereWritten) {
  fs::path path = write({7, 2, int64_t(1) << 60}, {0, 1, 0, 1});
  EXPECT_EQ(path.filename(), "user.server0of1.lane0of1.safetensors");
  TableRows rows(table);
  readTableFile(table, Fields::all, rows, [](int64_t id) { return id != 2; }, path);
  EXPECT_EQ(rows.size(), 2u);
  TableRows::Row row = rows.find(7);
  ASSERT_NE(row, TableRows::kNone);
  std::vector<float> value(3), first(3);
  std::memcpy(value.data(), rows.at(row), 12);
  rows.writeFirst(7, reinterpret_cast<std::byte *>(first.data()));
  first[0] = 70;
  EXPECT_EQ(value, first);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1) << "no draft is left";
}

TEST_F(TableFiles, AreFoundInTheirFolder) {
  for (uint32_t server : {0, 1})
    for (uint32_t lane = 0; lane <= server; ++lane)
      write({}, {server, 2, lane, server + 1});
  std::ofstream(folder / "user2.server0of1.lane0of1.safetensors");
  EXPECT_THAT(tableFiles("user", folder), testing::SizeIs(3));
  EXPECT_EQ(tableFileName("a/b.c", {1, 2, 3, 4}), "a%2Fb%2Ec.server1of2.lane3of4.safetensors");
}

TEST_F(TableFiles, GiveValuesAlone) {
  fs::path path = write({7}, {0, 1, 0, 1});
  EXPECT_THAT(tableFiles("user", path), testing::ElementsAre(path)) << "one file";
  TableRows saved(table);
  float value = 5;
  int32_t count = 3;
  TableRows::Row row = saved.make(7);
  std::memcpy(saved.at(row), &value, sizeof(value));
  ASSERT_EQ(saved.layout().fields[2].bytes, sizeof(count));
  std::memcpy(saved.at(row) + saved.layout().fields[2].offset, &count, sizeof(count));
  std::vector<int64_t> ids = {7};
  writeTableFile(table, saved, ids, path);
  for (Fields fields : {Fields::all, Fields::values}) {
    checkTableFile(table, fields, path);
    TableRows rows(table);
    readTableFile(table, fields, rows, [](int64_t) { return true; }, path);
    std::byte *found = rows.at(rows.find(7));
    float element = 0;
    std::memcpy(&element, found, sizeof(element));
    EXPECT_EQ(element, 5);
    bool isFirst = std::memcmp(found + rows.layout().fields[2].offset, &count, sizeof(count)) != 0;
    EXPECT_EQ(isFirst, fields == Fields::values);
  }
}

TEST_F(TableFiles, AreAllOfOneSave) {
  auto find = [&] { tableFiles("user", folder); };
  EXPECT_THAT(find, ThrowsMessage<Error>(HasSubstr("has no rows of table \"user\"")));
  write({}, {0, 2, 0, 1});
  EXPECT_THAT(find,
              ThrowsMessage<Error>(HasSubstr("lacks rows of table \"user\" that server 1 of 2 has saved")));
  write({}, {1, 2, 0, 2});
  EXPECT_THAT(find,
              ThrowsMessage<Error>(HasSubstr("lacks rows of table \"user\" that server 1 of 2 has saved")));
  write({}, {1, 3, 0, 2});
  EXPECT_THAT(find, ThrowsMessage<Error>(HasSubstr("has rows of table \"user\" of several saves")));
  EXPECT_THAT([&] { tableFiles("user", folder / "none"); }, ThrowsMessage<Error>(HasSubstr("No such file")));
}

TEST_F(TableFiles, AreOfTheTable) {
  fs::path path = write({7, 2}, {0, 1, 0, 1});
  auto changed = [&](const char *tensor, const char *field, const nlohmann::ordered_json &value) {
    return errorOf(path, [&](auto &header) { header[tensor][field] = value; });
  };
  EXPECT_EQ(errorOf(path, [](auto &) {}), "no error");
  EXPECT_THAT(changed("value", "dtype", "F64"),
              HasSubstr("has tensor \"value\" with dtype \"F64\", expected \"F32\""));
  EXPECT_THAT(changed("value", "shape", {2, 4}), HasSubstr("with shape [2,4], expected [2,3]"));
  EXPECT_THAT(changed("ids", "shape", {1, 2}), HasSubstr("has tensor \"ids\" that is no list"));
  EXPECT_THAT(changed("ids", "shape", {uint64_t(1) << 62}),
              HasSubstr("has tensor \"ids\" at bytes 0 to 16 of"));
  EXPECT_THAT(changed("value", "data_offsets", {16, 1000}), HasSubstr("at bytes 16 to 1000 of"));
  EXPECT_THAT(changed("value", "data_offsets", {40, 16}), HasSubstr("at bytes 40 to 16 of"));
  EXPECT_THAT(changed("value", "data_offsets", "all"), HasSubstr("without data_offsets"));
  EXPECT_THAT(errorOf(path, [](auto &header) { header.erase("slot.count"); }),
              HasSubstr("has no tensor \"slot.count\""));
}

TEST_F(TableFiles, HaveIdsThatTheTableMayHave) {
  fs::path path = write({7, 2}, {0, 1, 0, 1});
  table.rows = 8;
  table.padding = 3;
  EXPECT_EQ(errorOf(path), "no error");
  auto fault = [&](uint64_t limit, int64_t padding) {
    table.rows = limit, table.padding = padding;
    std::string error = errorOf(path);
    EXPECT_THAT([&] { checkTableFile(table, Fields::values, path); }, ThrowsMessage<Error>(error));
    return error;
  };
  std::string file = "file \"" + path.string() + "\" ";
  EXPECT_EQ(fault(7, -1), file + "has id 7, expected ids of 0 to 6, which table \"user\" has");
  EXPECT_EQ(fault(8, 2), file + "has id 2, the padding of table \"user\", expected no row of it");
  path = write({-5}, {0, 1, 0, 1});
  EXPECT_EQ(fault(uint64_t(1) << 63, -5),
            file + "has id -5, expected ids of 0 to 9223372036854775807, which table \"user\" has");
}

TEST_F(TableFiles, AreWhole) {
  fs::path path = write({7, 2}, {0, 1, 0, 1});
  for (uintmax_t size : {uintmax_t(0), uintmax_t(5), uintmax_t(40), fs::file_size(path) - 1}) {
    fs::resize_file(path, size);
    EXPECT_THAT(errorOf(path), HasSubstr("file \"" + path.string() + "\" has ")) << size;
    write({7, 2}, {0, 1, 0, 1});
  }
  EXPECT_THAT(errorOf(folder / "none"), HasSubstr("cannot be read"));
  TableRows rows(table);
  rows.make(2);
  EXPECT_THAT([&] { readTableFile(table, Fields::all, rows, [](int64_t) { return true; }, path); },
              ThrowsMessage<Error>(HasSubstr("has id 2, which was there before")));
}

TEST_F(TableFiles, AreNotWrittenWhereNoneCanBe) {
  TableRows rows(table);
  EXPECT_THAT([&] { writeTableFile(table, rows, {}, folder / "none" / "file"); },
              ThrowsMessage<Error>(HasSubstr("cannot create")));
}

} // namespace
} // namespace epl::runtime::servers::test
