#include "runtime/plan/schedule/Render.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace epl::runtime::schedule {
namespace {

/// A box of some columns, the last one free to part it from the next: `label`, then `fill`. Without room for
/// the label, its `letter`.
std::string box(size_t columns, std::string label, char letter, char fill) {
  if (columns == 0)
    return "";
  size_t room = std::max<size_t>(columns - 1, 1);
  if (label.size() > room)
    label = std::string(room, letter);
  label.resize(room, fill);
  label.resize(columns, ' ');
  return label;
}

class Renderer {
public:
  Renderer(const Run &run, double mostColumns) : run(run) {
    for (const std::vector<Span> &spans : run.spans)
      namesStages |= std::any_of(spans.begin(), spans.end(), [&](const Span &span) {
        return span.unit.stage != spans.front().unit.stage;
      });
    for (const std::vector<Span> &spans : run.spans)
      for (const Span &span : spans)
        makeRoom(span);
    if (columnsOfTime * run.makespan > mostColumns) {
      columnsOfTime = mostColumns / run.makespan;
      cell = 1;
    }
  }

  std::string text(size_t width) const {
    std::vector<std::string> rows;
    rows.reserve(run.spans.size());
    for (const std::vector<Span> &spans : run.spans)
      rows.push_back(row(spans));
    size_t label = std::max(head(rows.size() - 1).size(), size_t(10)), end = columns(run.makespan);
    size_t room = (width - label) / cell * cell;
    std::string text;
    for (size_t at = 0; at < end; at += room) {
      if (end > room)
        text += line(label, "time", timeText(double(at) / columnsOfTime));
      for (size_t mesh = 0; mesh < rows.size(); ++mesh)
        text += line(label, head(mesh), rows[mesh].substr(at, room));
    }
    return text;
  }

private:
  /// Makes time wide enough for the name of a unit and a free column.
  void makeRoom(const Span &span) {
    size_t needed = name(span.unit).size() + 1;
    if (columnsOfTime * (span.end - span.begin) < double(needed)) {
      columnsOfTime = double(needed) / (span.end - span.begin);
      cell = needed;
    }
  }

  size_t columns(double time) const { return size_t(std::lround(time * columnsOfTime)); }

  static std::string head(size_t mesh) { return "mesh " + std::to_string(mesh) + "  "; }

  std::string name(Unit unit) const {
    return (namesStages ? std::to_string(unit.stage) : "") + letterOf(unit.kind) +
           std::to_string(unit.microBatch);
  }

  std::string row(const std::vector<Span> &spans) const {
    std::string row;
    for (const Span &span : spans) {
      row += box(columns(span.begin) - row.size(), "", '.', '.');
      row += box(columns(span.end) - row.size(), name(span.unit), letterOf(span.unit.kind), '-');
    }
    return row + box(columns(run.makespan) - row.size(), "", '.', '.');
  }

  static std::string timeText(double time) {
    std::ostringstream text;
    text << time;
    return text.str();
  }

  static std::string line(size_t label, std::string head, const std::string &text) {
    head.resize(label, ' ');
    head += text;
    return head.substr(0, head.find_last_not_of(' ') + 1) + "\n";
  }

  const Run &run;
  bool namesStages = false;
  double columnsOfTime = 0;
  size_t cell = 1; // columns of a time that is a round one, after which lines may break
};

} // namespace

std::string render(const Run &run, size_t width, double mostColumns) {
  return Renderer(run, mostColumns).text(width);
}

} // namespace epl::runtime::schedule
