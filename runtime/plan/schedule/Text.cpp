#include "runtime/plan/schedule/Text.h"

#include "runtime/plan/format/Error.h"
#include "runtime/plan/format/Quoted.h"
#include "runtime/plan/format/Reader.h"
#include "runtime/plan/format/Report.h"

#include <charconv>
#include <optional>

namespace epl::runtime::schedule {

std::string write(const Table &table) {
  std::string text;
  for (const std::vector<Unit> &lane : table) {
    for (size_t i = 0; i < lane.size(); ++i)
      text += (i == 0 ? "" : " ") + toString(lane[i]);
    text += '\n';
  }
  return text;
}

/// Takes what is in front of the first of `separators`, and that.
static std::string_view take(std::string_view &text, std::string_view separators) {
  size_t end = text.find_first_of(separators);
  std::string_view taken = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return taken;
}

/// The number behind a letter, m12.
static std::optional<uint32_t> readNumber(std::string_view text, char letter) {
  uint32_t number = 0;
  if (!text.starts_with(letter))
    return {};
  auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    return {};
  return number;
}

static std::optional<Kind> readKind(std::string_view text) {
  size_t kind = text.size() == 1 ? kindLetters.find(text) : std::string_view::npos;
  if (kind == std::string_view::npos)
    return {};
  return static_cast<Kind>(kind);
}

static std::optional<Unit> readUnit(std::string_view word) {
  std::optional<uint32_t> stage = readNumber(take(word, "."), 's');
  std::optional<Kind> kind = readKind(take(word, "."));
  std::optional<uint32_t> microBatch = readNumber(word, 'm');
  if (!stage || !kind || !microBatch)
    return {};
  return Unit{*stage, *kind, *microBatch};
}

namespace {

class Parser {
public:
  explicit Parser(const std::string &file) : written{.table = {}, .file = file} {}

  WrittenTable run(std::string_view text) {
    while (!text.empty()) {
      ++line;
      readLine(take(text, "\n"));
    }
    if (written.table.empty() && !report.failed())
      report.add(written.file, " has no units, expected a line of units for each mesh, like s0.F.m0 s0.B.m0");
    if (report.failed())
      throw PlanError(report.take());
    return std::move(written);
  }

private:
  void readLine(std::string_view text) {
    text = take(text, "#");
    std::vector<Unit> lane;
    for (size_t word = 1; !text.empty();)
      if (std::string_view letters = take(text, " \t\r"); !letters.empty())
        readWord(letters, word++, lane);
    if (lane.empty())
      return;
    written.table.push_back(std::move(lane));
    written.lines.push_back(line);
  }

  void readWord(std::string_view letters, size_t word, std::vector<Unit> &lane) {
    if (std::optional<Unit> unit = readUnit(letters))
      lane.push_back(*unit);
    else
      report.add(written.file, ":", line, ": word ", word, " is ", quoted(std::string(letters.substr(0, 40))),
                 ", expected a unit like s0.F.m0, of kind F, B, I or W");
  }

  WrittenTable written;
  size_t line = 0;
  Report report;
};

} // namespace

WrittenTable parse(std::string_view text, const std::string &file) { return Parser(file).run(text); }

WrittenTable readTable(const std::string &file) {
  std::vector<uint8_t> bytes = readBytes(file);
  return parse({reinterpret_cast<const char *>(bytes.data()), bytes.size()}, file);
}

} // namespace epl::runtime::schedule
