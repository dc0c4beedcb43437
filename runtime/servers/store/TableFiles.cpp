#include "runtime/servers/store/TableFiles.h"

#include "runtime/Error.h"
#include "runtime/plan/format/Quoted.h"
#include "runtime/plan/format/TemporaryFile.h"
#include "runtime/plan/model/Mesh.h"
#include "runtime/servers/model/Manifest.h"

#include <boost/interprocess/file_mapping.hpp>
#include <boost/interprocess/mapped_region.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <map>
#include <regex>

namespace epl::runtime::servers {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr uint64_t kHeaderAlignment = 8;
constexpr uint64_t kMostHeader = 100'000'000; // as safetensors has it

const char *typeName(plan::ElementType type) {
  switch (type) {
  case plan::ElementType::i1:
    return "BOOL";
  case plan::ElementType::i8:
    return "I8";
  case plan::ElementType::i16:
    return "I16";
  case plan::ElementType::i32:
    return "I32";
  case plan::ElementType::i64:
    return "I64";
  case plan::ElementType::f16:
    return "F16";
  case plan::ElementType::bf16:
    return "BF16";
  case plan::ElementType::f32:
    return "F32";
  case plan::ElementType::f64:
    return "F64";
  }
  throw Error("safetensors has no elements of such a type");
}

/// A tensor of a file: something of each row.
struct Column {
  std::string name;
  plan::ElementType type;
  std::vector<int64_t> shape; // of one row
  size_t bytes;               // of one row
};

/// The value and the slots, in the order of a row's fields.
std::vector<Column> columnsOf(const manifest::TableT &table, const RowLayout &layout) {
  std::vector<Column> columns = {{"value", table.type, {int64_t(table.dim)}, layout.fields.front().bytes}};
  for (size_t i = 0; i < table.slots.size(); ++i)
    columns.push_back({"slot." + table.slots[i]->name, table.slots[i]->type, table.slots[i]->shape,
                       layout.fields[i + 1].bytes});
  return columns;
}

std::vector<int64_t> shapeOf(const Column &column, uint64_t rows) {
  std::vector<int64_t> shape = {int64_t(rows)};
  shape.insert(shape.end(), column.shape.begin(), column.shape.end());
  return shape;
}

std::string headerOf(const std::string &table, const std::vector<Column> &columns, uint64_t rows) {
  Json header;
  header["__metadata__"] = {{"table", table}};
  uint64_t offset = 0;
  auto add = [&](const Column &column) {
    uint64_t end = offset + rows * column.bytes;
    header[column.name] = {
        {"dtype", typeName(column.type)}, {"shape", shapeOf(column, rows)}, {"data_offsets", {offset, end}}};
    offset = end;
  };
  add({"ids", plan::ElementType::i64, {}, sizeof(int64_t)});
  std::ranges::for_each(columns, add);
  std::string text = header.dump();
  text.resize((text.size() + kHeaderAlignment - 1) / kHeaderAlignment * kHeaderAlignment, ' ');
  return text;
}

/// A file that is written in few large pieces.
class BufferedFile {
public:
  explicit BufferedFile(const fs::path &path) : file(path) { buffer.reserve(kBuffered); }

  void write(std::span<const std::byte> bytes) {
    if (buffer.size() + bytes.size() > kBuffered)
      flush();
    if (bytes.size() > kBuffered)
      return file.write({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
    auto *begin = reinterpret_cast<const uint8_t *>(bytes.data());
    buffer.insert(buffer.end(), begin, begin + bytes.size());
  }
  void commit() {
    flush();
    file.commit();
  }

private:
  static constexpr size_t kBuffered = size_t(1) << 20;

  void flush() {
    file.write(buffer);
    buffer.clear();
  }

  TemporaryFile file;
  std::vector<uint8_t> buffer;
};

std::string escaped(const std::string &name) {
  std::string result;
  for (char character : name)
    if (std::isalnum(static_cast<unsigned char>(character)) || character == '_' || character == '-') {
      result += character;
    } else {
      char code[4];
      std::snprintf(code, sizeof(code), "%%%02X", unsigned(static_cast<unsigned char>(character)));
      result += code;
    }
  return result;
}

/// A file of safetensors in memory, whose header is looked at as it is asked for tensors.
class TensorFile {
public:
  explicit TensorFile(const fs::path &path) : name("file " + runtime::quoted(path.string())) {
    try {
      // An empty file has nothing to map.
      if (fs::file_size(path) > 0) {
        boost::interprocess::file_mapping mapping(path.c_str(), boost::interprocess::read_only);
        region = boost::interprocess::mapped_region(mapping, boost::interprocess::read_only);
      }
    } catch (const std::exception &error) {
      fail(std::string("cannot be read: ") + error.what());
    }
    bytes = {static_cast<const std::byte *>(region.get_address()), region.get_size()};
    uint64_t size = 0;
    if (bytes.size() >= sizeof(size))
      std::memcpy(&size, bytes.data(), sizeof(size));
    if (size == 0 || size > kMostHeader || size > bytes.size() - sizeof(size))
      fail("has no header of safetensors");
    header = Json::parse(reinterpret_cast<const char *>(bytes.data()) + sizeof(size),
                         reinterpret_cast<const char *>(bytes.data()) + sizeof(size) + size, nullptr,
                         /*allow_exceptions=*/false);
    if (!header.is_object())
      fail("has a header that is no JSON object");
    bytes = bytes.subspan(sizeof(size) + size);
  }

  /// How many ids there are.
  uint64_t rows() const {
    const Json &entry = at("ids");
    auto shape = entry.find("shape");
    if (shape == entry.end() || !shape->is_array() || shape->size() != 1 || !(*shape)[0].is_number_unsigned())
      fail("has tensor \"ids\" that is no list");
    return (*shape)[0].get<uint64_t>();
  }

  /// The elements of a column. Throws Error if the file has another one.
  const std::byte *column(const Column &column, uint64_t rows) const {
    const Json &entry = at(column.name);
    Json expected = {{"dtype", typeName(column.type)}, {"shape", shapeOf(column, rows)}};
    for (const char *field : {"dtype", "shape"})
      if (auto found = entry.find(field); found == entry.end() || *found != expected[field])
        fail("has tensor " + runtime::quoted(column.name) + " with " + field + " " +
             (found == entry.end() ? "missing" : found->dump()) + ", expected " + expected[field].dump());
    auto offsets = entry.find("data_offsets");
    if (offsets == entry.end() || !offsets->is_array() || offsets->size() != 2 ||
        !(*offsets)[0].is_number_unsigned() || !(*offsets)[1].is_number_unsigned())
      fail("has tensor " + runtime::quoted(column.name) + " without data_offsets");
    auto begin = (*offsets)[0].get<uint64_t>(), end = (*offsets)[1].get<uint64_t>();
    if (begin > end || end > bytes.size() || (rows > 0 && (end - begin) / rows != column.bytes) ||
        (end - begin) != rows * column.bytes)
      fail("has tensor " + runtime::quoted(column.name) + " at bytes " + std::to_string(begin) + " to " +
           std::to_string(end) + " of " + std::to_string(bytes.size()) + ", expected " +
           std::to_string(rows * column.bytes) + " bytes");
    return bytes.data() + begin;
  }

  [[noreturn]] void fail(const std::string &fault) const { throw Error(name + " " + fault); }

private:
  const Json &at(const std::string &tensor) const {
    auto found = header.find(tensor);
    if (found == header.end() || !found->is_object())
      fail("has no tensor " + runtime::quoted(tensor));
    return *found;
  }

  const std::string name;
  boost::interprocess::mapped_region region;
  std::span<const std::byte> bytes; // behind the header
  Json header;
};

} // namespace

std::string tableFileName(const std::string &table, const FilePart &part) {
  return escaped(table) + ".server" + std::to_string(part.server) + "of" + std::to_string(part.servers) +
         ".lane" + std::to_string(part.lane) + "of" + std::to_string(part.lanes) + ".safetensors";
}

void writeTableFile(const manifest::TableT &table, TableRows &rows, std::span<const int64_t> ids,
                    const fs::path &path) {
  BufferedFile file(path);
  std::string header = headerOf(table.name, columnsOf(table, rows.layout()), ids.size());
  uint64_t size = header.size();
  file.write(std::as_bytes(std::span(&size, 1)));
  file.write(std::as_bytes(std::span(header)));
  file.write(std::as_bytes(ids));
  std::vector<TableRows::Row> places(ids.size());
  std::ranges::transform(ids, places.begin(), [&](int64_t id) { return rows.find(id); });
  for (auto [offset, bytes] : rows.layout().fields)
    for (TableRows::Row row : places)
      file.write({rows.at(row) + offset, bytes});
  file.commit();
}

std::vector<fs::path> tableFiles(const std::string &table, const fs::path &place) {
  std::error_code failure;
  if (fs::is_regular_file(place, failure))
    return {place};
  static const std::regex ending(R"(\.server(\d{1,9})of(\d{1,9})\.lane(\d{1,9})of(\d{1,9})\.safetensors)");
  std::vector<fs::path> paths;
  std::map<uint32_t, std::pair<uint32_t, uint32_t>> lanes; // of each server: how many there are, and are here
  uint32_t servers = 0;
  std::string prefix = escaped(table), of = "rows of table " + runtime::quoted(table),
              where = runtime::quoted(place.string());
  for (fs::directory_iterator entry(place, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    std::string name = entry->path().filename().string();
    std::smatch match;
    std::string rest = name.starts_with(prefix) ? name.substr(prefix.size()) : "";
    if (!std::regex_match(rest, match, ending))
      continue;
    auto number = [&](size_t group) { return uint32_t(std::stoul(match[group].str())); };
    auto &[expected, found] = lanes.try_emplace(number(1), number(4), 0).first->second;
    if (expected != number(4) || (!paths.empty() && servers != number(2)))
      throw Error("folder " + where + " has " + of + " of several saves, such as " + runtime::quoted(name));
    servers = number(2);
    ++found;
    paths.push_back(entry->path());
  }
  if (failure || paths.empty())
    throw Error("folder " + where + " has no " + of + (failure ? ": " + failure.message() : ""));
  for (uint32_t server = 0; server < servers; ++server)
    if (auto found = lanes.find(server); found == lanes.end() || found->second.first != found->second.second)
      throw Error("folder " + where + " lacks " + of + " that server " + std::to_string(server) + " of " +
                  std::to_string(servers) + " has saved");
  std::ranges::sort(paths);
  return paths;
}

namespace {

/// The rows in a file, found and checked, but for ids that come twice.
struct FoundRows {
  FoundRows(const manifest::TableT &table, Fields fields, const RowLayout &layout, const fs::path &path)
      : file(path), count(file.rows()),
        ids(file.column({"ids", plan::ElementType::i64, {}, sizeof(int64_t)}, count)),
        columns(columnsOf(table, layout)) {
    if (fields == Fields::values)
      columns.resize(1);
    data.reserve(columns.size());
    for (const Column &column : columns)
      data.push_back(file.column(column, count));
    for (uint64_t row = 0; row < count; ++row)
      checkId(table, id(row));
  }

  int64_t id(uint64_t row) const {
    int64_t id = 0;
    std::memcpy(&id, ids + row * sizeof(id), sizeof(id));
    return id;
  }

  /// Throws Error if the table has no row for it.
  void checkId(const manifest::TableT &table, int64_t id) const {
    if (id < 0 || uint64_t(id) >= table.rows)
      file.fail("has id " + std::to_string(id) + ", expected ids of 0 to " + std::to_string(table.rows - 1) +
                ", which table " + runtime::quoted(table.name) + " has");
    if (id == table.padding)
      file.fail("has id " + std::to_string(id) + ", the padding of table " + runtime::quoted(table.name) +
                ", expected no row of it");
  }

  TensorFile file;
  uint64_t count;
  const std::byte *ids;
  std::vector<Column> columns;
  std::vector<const std::byte *> data; // of each column
};

} // namespace

void checkTableFile(const manifest::TableT &table, Fields fields, const fs::path &path) {
  FoundRows(table, fields, RowLayout(table), path);
}

void readTableFile(const manifest::TableT &table, Fields fields, TableRows &rows,
                   const std::function<bool(int64_t)> &wanted, const fs::path &path) {
  FoundRows found(table, fields, rows.layout(), path);
  for (uint64_t i = 0; i < found.count; ++i) {
    int64_t id = found.id(i);
    if (!wanted(id))
      continue;
    if (rows.find(id) != TableRows::kNone)
      found.file.fail("has id " + std::to_string(id) + ", which was there before");
    std::byte *row = rows.at(rows.make(id));
    for (size_t field = 0; field < found.columns.size(); ++field)
      if (size_t bytes = found.columns[field].bytes; bytes != 0)
        std::memcpy(row + rows.layout().fields[field].offset, found.data[field] + i * bytes, bytes);
  }
}

} // namespace epl::runtime::servers
