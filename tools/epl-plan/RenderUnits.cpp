#include "RenderUnits.h"

#include "Simulation.h"
#include "Units.h"
#include "Xml.h"

#include "runtime/plan/model/Parts.h"
#include "runtime/plan/schedule/Render.h"
#include "runtime/plan/simulate/UnitTimes.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

namespace epl::runtime::tool {
namespace {

constexpr size_t kTextWidth = 100;
constexpr double kMostColumns = 400; // of the text's timeline

// Sizes in pixels.
constexpr int kMargin = 20, kLabel = 110, kHead = 96, kRow = 44, kBoxHeight = 30, kAxis = 44;
constexpr double kUnitWidth = 30, kLeastWidth = 760, kMostWidth = 16000; // of a unit, of the timeline
constexpr int kLetter = 7, kLegendLetter = 8;
constexpr int kTicks = 8; // about as many

constexpr const char *kStyle = R"(
  text { font-family: ui-monospace, monospace; font-size: 11px; fill: #222 }
  .head { font-size: 18px; font-weight: bold } .sub { font-size: 12px; fill: #555 } .small { fill: #666 }
  .number { text-anchor: middle } .lane { fill: #f6f7f9 } .axis { stroke: #b8bec8 }
  .box { stroke: #444; stroke-width: 0.7 }
  .F .box { fill: #a9ccff } .B .box { fill: #a8dba0 } .I .box { fill: #ffd9a8 } .W .box { fill: #dcc8f2 }
  .other .box { fill: #dcdcdc } .unit:hover .box { stroke-width: 2.5 }
)";

schedule::Run drawnUnits(const plan::PlanT &plan, const PlanRun &run) {
  checkHasUnits(plan, "to draw");
  return unitsOf(plan, run);
}

std::string figuresText(const PlanRun &run, const std::string &origin) {
  return origin + ": " + timeText(run.makespan) + ", bubble " + percentText(run.bubble());
}

/// What is done between units: neighbours in the lane that computes are one.
std::vector<CommandSpan> othersOf(const plan::PlanT &plan, const MeshRun &run) {
  std::vector<CommandSpan> others;
  for (const auto &lane : plan.lanes) {
    bool isNeighbour = false;
    for (uint32_t command : lane->commands) {
      const CommandSpan &span = run.commands[command];
      bool isOther = lane->kind == plan::LaneKind::compute && plan.commands[command]->unit < 0;
      if (isOther && isNeighbour)
        others.back().end = span.end;
      else if (isOther)
        others.push_back(span);
      isNeighbour = isOther;
    }
  }
  std::erase_if(others, [](const CommandSpan &span) { return span.end <= span.begin; });
  return others;
}

/// A round number, 1, 2 or 5 times a power of ten, of which about `count` are in `whole`.
double roundStep(double whole, int count) {
  double least = whole / count, power = std::pow(10, std::floor(std::log10(least)));
  for (double factor : {1, 2, 5})
    if (factor * power >= least)
      return factor * power;
  return 10 * power;
}

class Picture {
public:
  Picture(const plan::PlanT &plan, const PlanRun &run) : plan(plan), run(run), units(drawnUnits(plan, run)) {
    size_t most = 0;
    for (const std::vector<schedule::Span> &spans : units.spans) {
      most = std::max(most, spans.size());
      for (const schedule::Span &span : spans) {
        namesStages |= span.unit.stage != spans.front().unit.stage;
        kinds.insert(span.unit.kind);
      }
    }
    width = std::clamp(kUnitWidth * double(most), kLeastWidth, kMostWidth);
  }

  std::string draw(const std::string &origin) {
    int right = kMargin + kLabel + int(width) + kMargin;
    int bottom = top(run.meshes.size()) + kAxis;
    out << R"(<svg xmlns="http://www.w3.org/2000/svg" width=")" << right << R"(" height=")" << bottom
        << R"(" viewBox="0 0 )" << right << ' ' << bottom << "\">\n<style>" << kStyle << "</style>\n"
        << R"(<rect width="100%" height="100%" fill="white"/>)" << '\n';
    text(kMargin, 30, "head", scheduleText(plan));
    text(kMargin, 52, "sub", plan.layout + "; " + figuresText(run, origin));
    drawLegend();
    for (size_t mesh = 0; mesh < run.meshes.size(); ++mesh)
      drawMesh(mesh);
    drawAxis();
    out << "</svg>\n";
    return out.str();
  }

private:
  static int top(size_t mesh) { return kHead + int(mesh) * kRow; }
  double left(double time) const { return kMargin + kLabel + time / run.makespan * width; }

  void text(double x, int y, const char *style, std::string_view words) {
    out << "<text x=\"" << x << "\" y=\"" << y << "\" class=\"" << style << "\">" << xml(words)
        << "</text>\n";
  }

  void drawLegend() {
    static constexpr const char *names[] = {"F forward", "B backward", "I gradients that are sent back",
                                            "W gradients of parameters"};
    int x = kMargin;
    auto entry = [&](std::string_view style, std::string_view name) {
      out << "<g class=\"" << style << "\"><rect class=\"box\" x=\"" << x
          << R"(" y="64" width="14" height="14"/></g>)";
      text(x + 20, 75, "sub", name);
      x += 44 + int(name.size()) * kLegendLetter;
    };
    for (schedule::Kind kind : kinds)
      entry(std::string(1, letterOf(kind)), names[size_t(kind)]);
    bool hasOthers = false;
    std::vector<const plan::PlanT *> meshes = meshPlansOf(plan);
    for (size_t mesh = 0; mesh < meshes.size(); ++mesh)
      hasOthers |= !othersOf(*meshes[mesh], run.meshes[mesh]).empty();
    if (hasOthers)
      entry("other", "once in a step");
  }

  void drawMesh(size_t mesh) {
    int y = top(mesh);
    out << "<rect class=\"lane\" x=\"" << kMargin << "\" y=\"" << y << "\" width=\"" << kLabel + width
        << "\" height=\"" << kRow - 4 << "\"/>\n";
    text(kMargin + 6, y + 17, "sub", "mesh " + std::to_string(mesh));
    std::string devices = meshDevices(plan)[mesh];
    text(kMargin + 6, y + 32, "small", devices.substr(0, (kLabel - 8) / kLetter));
    for (const CommandSpan &span : othersOf(*meshPlansOf(plan)[mesh], run.meshes[mesh]))
      drawBox(y + 5, span, "other", "", "done once in a step");
    for (const schedule::Span &span : units.spans[mesh])
      drawUnit(y + 5, span);
  }

  void drawUnit(int y, const schedule::Span &span) {
    std::string number = std::to_string(span.unit.microBatch);
    if (namesStages)
      number.insert(0, std::to_string(span.unit.stage) + ".");
    drawBox(y, {span.begin, span.end}, std::string("unit ") + letterOf(span.unit.kind), number,
            toString(span.unit));
  }

  void drawBox(int y, CommandSpan span, const std::string &style, const std::string &label,
               const std::string &title) {
    double x = left(span.begin), size = left(span.end) - x;
    out << "<g class=\"" << style << "\"><title>" << title << ", " << timeText(span.begin) << " to "
        << timeText(span.end) << "</title><rect class=\"box\" x=\"" << x << "\" y=\"" << y << "\" width=\""
        << size << "\" height=\"" << kBoxHeight << "\"/>";
    if (!label.empty() && double(label.size()) * kLetter < size)
      text(x + size / 2, y + kBoxHeight / 2 + 4, "number", label);
    out << "</g>\n";
  }

  void drawAxis() {
    int y = top(run.meshes.size()) + 4;
    double step = roundStep(run.makespan, kTicks);
    for (int tick = 0; tick * step <= run.makespan; ++tick) {
      double time = tick * step;
      out << "<path class=\"axis\" d=\"M" << left(time) << ',' << y << " v6\"/>\n";
      text(left(time), y + 20, "small number", timeText(time));
    }
  }

  const plan::PlanT &plan;
  const PlanRun &run;
  schedule::Run units;
  std::set<schedule::Kind> kinds; // that there are
  bool namesStages = false;       // a mesh has several
  double width = 0;               // of the timeline
  std::ostringstream out;
};

} // namespace

std::string unitsText(const plan::PlanT &plan, const PlanRun &run, const std::string &origin) {
  schedule::Run units = drawnUnits(plan, run);
  return plan.layout + "\n" + scheduleText(plan) + "\n" + figuresText(run, origin) + "\n\n" +
         render(units, kTextWidth, kMostColumns);
}

std::string unitsPicture(const plan::PlanT &plan, const PlanRun &run, const std::string &origin) {
  return Picture(plan, run).draw(origin);
}

} // namespace epl::runtime::tool
