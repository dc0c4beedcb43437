#include "Render.h"

#include "CardReport.h"
#include "Shardings.h"
#include "Units.h"
#include "Xml.h"

#include "runtime/plan/model/Cost.h"
#include "runtime/plan/model/Names.h"
#include "runtime/plan/model/Parts.h"
#include "runtime/plan/model/Summary.h"

#include <algorithm>
#include <numeric>
#include <sstream>
#include <utility>

namespace epl::runtime::tool {
namespace {

// Sizes in pixels.
constexpr int kBoxWidth = 112, kBoxHeight = 46, kColumn = kBoxWidth + 22, kRow = kBoxHeight + 50;
constexpr int kMargin = 20, kLabel = 130, kHead = 112;
constexpr size_t kLineLetters = 17;                // what fits a box
constexpr int kLine = 16, kCell = 18, kLetter = 6; // of the tables
constexpr uint32_t kMostCells = 32;                // devices that the table of holdings draws

constexpr const char *kStyle = R"(
  text { font-family: ui-monospace, monospace; font-size: 10px; fill: #222 }
  .head { font-size: 18px; font-weight: bold } .sub { font-size: 12px; fill: #555 } .small { fill: #666 }
  .lane { fill: #f6f7f9 } .order { stroke: #b8bec8; stroke-width: 1.5 }
  .box { stroke: #444; stroke-width: 0.7; rx: 4px }
  .compute .box { fill: #cfe3ff } .product .box { fill: #8fb8f5 }
  .collective .box { fill: #ffd9a8 } .copy .box { fill: #dcdcdc } .transfer .box { fill: #c9e7c1 }
  .wait { fill: none; stroke: #b4441e; stroke-width: 1.3; marker-end: url(#head) }
  .part { stroke: #444; stroke-width: 0.5 } .bold { font-weight: bold }
  .members { stroke-dasharray: 5 3 } .command:hover .box, .wait:hover { stroke-width: 2.5 }
)";

/// A name in two lines, cut behind a "_" or a space where there is one, and shortened to what fits. Cuts
/// never part a character of more than one byte.
std::pair<std::string, std::string> inTwoLines(const std::string &name) {
  auto isInside = [&](size_t i) { return i < name.size() && (name[i] & 0xc0) == 0x80; };
  auto cutBefore = [&](size_t i) {
    while (isInside(i))
      --i;
    return i;
  };
  if (name.size() <= kLineLetters)
    return {name, ""};
  size_t cut = name.find_last_of("_ ", kLineLetters - 1);
  cut = cut == std::string::npos || cut < 4 ? cutBefore(kLineLetters) : cut + 1;
  std::string rest = name.substr(cut);
  if (rest.size() > kLineLetters)
    rest = name.substr(cut, cutBefore(cut + kLineLetters - 3) - cut) + "...";
  return {name.substr(0, cut), rest};
}

class Renderer {
public:
  /// `devices`: who runs the plan; `prefix`: of the ids of its commands in the document; `numbers`: the
  /// device that each rank is; `prices`, `part`: of all commands, or null, and which of them are the plan's.
  Renderer(const plan::PlanT &plan, std::string devices, std::string prefix, std::vector<uint32_t> numbers,
           const Prices *prices, size_t part)
      : plan(plan), devices(std::move(devices)), prefix(std::move(prefix)), numbers(std::move(numbers)),
        model(prices), prices(prices ? &prices->commands[part] : nullptr), columns(plan.commands.size()) {
    Mesh mesh(plan);
    std::vector<uint32_t> free(plan.lanes.size()); // the first free column of each lane
    for (uint32_t command = 0; command < plan.commands.size(); ++command) {
      const plan::CommandT &source = *plan.commands[command];
      costs.push_back(costOf(plan, mesh, source));
      uint32_t column = free[source.lane];
      for (const plan::Wait &wait : source.waits)
        column = std::max(column, columns[wait.command()] + 1);
      columns[command] = column;
      free[source.lane] = column + 1;
      width = std::max(width, column + 1);
    }
  }

  std::string run() {
    drawTables(top(uint32_t(plan.lanes.size())) + kLine);
    std::string tables = std::exchange(out, std::ostringstream()).str();
    int right = std::max({left(width) + kMargin, 900, tablesRight}), bottom = tablesBottom + 6;
    size = {right, bottom};
    out << R"(<svg xmlns="http://www.w3.org/2000/svg" width=")" << right << R"(" height=")" << bottom
        << R"(" viewBox="0 0 )" << right << ' ' << bottom << "\">\n<style>" << kStyle << "</style>\n"
        << R"(<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7")"
        << R"( orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#b4441e"/></marker></defs>)" << '\n'
        << R"(<rect width="100%" height="100%" fill="white"/>)" << '\n';
    head();
    for (uint32_t lane = 0; lane < plan.lanes.size(); ++lane)
      drawLane(lane, right);
    for (uint32_t command = 0; command < plan.commands.size(); ++command)
      for (const plan::Wait &wait : plan.commands[command]->waits)
        drawWait(command, wait);
    for (uint32_t command = 0; command < plan.commands.size(); ++command)
      drawCommand(command);
    out << tables << "</svg>\n";
    return out.str();
  }

  /// Width and height of the picture, once it is drawn.
  std::pair<int, int> size;

private:
  static int left(uint32_t column) { return kMargin + kLabel + int(column) * kColumn; }
  static int top(uint32_t lane) { return kHead + int(lane) * kRow; }

  void text(int x, int y, const char *style, std::string_view words) {
    out << "<text x=\"" << x << "\" y=\"" << y << "\" class=\"" << style << "\">" << xml(words)
        << "</text>\n";
  }

  void head() {
    Summary summary = summarize(plan);
    double flops = 0, bytes = 0;
    for (const Cost &cost : costs) {
      flops += double(cost.flops);
      bytes += double(cost.bytes);
    }
    text(kMargin, 32, "head", plan.layout);
    text(kMargin, 54, "sub",
         devices + ": " + std::to_string(plan.commands.size()) + " commands (" +
             std::to_string(summary.launches + summary.contractions) + " kernels, " +
             std::to_string(summary.collectives) + " collectives), " + flopsText(flops) + ", " +
             bytesText(bytes) + " read and written, arena " + bytesText(double(summary.arenaBytes)));
    const std::pair<const char *, const char *> legend[] = {
        {"compute", "kernel"},
        {"product", "matrix product (library)"},
        {"collective", "collective"},
        {"copy", "copy"},
        {"transfer", "to or from another mesh, or outside"}};
    int x = kMargin;
    for (auto [kind, name] : legend) {
      out << "<g class=\"" << kind << "\"><rect class=\"box\" x=\"" << x
          << R"(" y="68" width="14" height="14"/></g>)";
      text(x + 20, 79, "sub", name);
      x += 50 + int(std::string_view(name).size()) * 8;
    }
    text(x, 79, "sub", "arrow: waits for; dashed: on all devices of the collective");
    if (prices)
      text(kMargin, 97, "sub",
           "predicted on " + model->card + ", one command after another: " + timeText(totalOf(*prices)) +
               "; " + limitShares(*prices));
  }

  void drawLane(uint32_t index, int right) {
    const plan::LaneT &lane = *plan.lanes[index];
    int y = top(index) + kBoxHeight / 2;
    out << "<rect class=\"lane\" x=\"" << kMargin << "\" y=\"" << top(index) - 12 << "\" width=\""
        << right - 2 * kMargin << "\" height=\"" << kBoxHeight + 24 << "\"/>\n";
    text(kMargin + 8, y, "sub", plan::EnumNameLaneKind(lane.kind));
    if (lane.communicator >= 0) {
      std::string axes;
      for (const std::string &axis : plan.communicators[lane.communicator]->axes)
        axes += (axes.empty() ? "over " : ", ") + axis;
      text(kMargin + 8, y + 14, "small", axes);
    }
    if (!lane.commands.empty())
      out << "<path class=\"order\" d=\"M" << left(columns[lane.commands.front()]) << ',' << y << " H"
          << left(columns[lane.commands.back()]) << "\"/>\n";
  }

  void drawWait(uint32_t command, const plan::Wait &wait) {
    uint32_t from = plan.commands[wait.command()]->lane, to = plan.commands[command]->lane;
    int x1 = left(columns[wait.command()]) + kBoxWidth - 14, x2 = left(columns[command]) + 14;
    int y1 = top(from) + (from < to ? kBoxHeight : 0), y2 = top(to) + (from > to ? kBoxHeight : 0);
    int bend = from < to ? 26 : -26;         // leaves the source downwards or upwards
    int arrival = from == to ? bend : -bend; // an arrow within a lane is an arc above it
    bool members = wait.scope() == plan::WaitScope::members;
    out << "<path class=\"wait" << (members ? " members" : "") << "\" d=\"M" << x1 << ',' << y1 << " C" << x1
        << ',' << y1 + bend << ' ' << x2 << ',' << y2 + arrival << ' ' << x2 << ',' << y2 << "\"><title>"
        << xml(commandName(plan, command) + " waits for " + commandName(plan, wait.command()))
        << (members ? " of every member" : "") << "</title></path>\n";
  }

  void drawCommand(uint32_t index) {
    const plan::CommandT &command = *plan.commands[index];
    bool product = command.action.type == plan::Action::Contract;
    int x = left(columns[index]), y = top(command.lane);
    out << "<g class=\"command " << (product ? "product" : kindName(kindOf(command))) << "\" id=\"" << prefix
        << 'c' << index << "\"><title>" << xml(describe(index)) << "</title>\n<rect class=\"box\" x=\"" << x
        << "\" y=\"" << y << "\" width=\"" << kBoxWidth << "\" height=\"" << kBoxHeight << "\"/>\n";
    auto [first, second] = inTwoLines(command.name);
    text(x + 5, y + 13, "name", first);
    text(x + 5, y + 25, "name", second);
    text(x + 5, y + 40, "small", "#" + std::to_string(index) + " " + phase(index));
    out << "</g>\n";
  }

  /// The phase of computations, how much the others move.
  std::string phase(uint32_t index) const {
    const Cost &cost = costs[index];
    const plan::CommandT &command = *plan.commands[index];
    if (std::string phase = phaseName(command); !phase.empty() && kindOf(command) == CommandKind::compute)
      return phase;
    return bytesText(double(cost.payload ? cost.payload : cost.bytes));
  }

  /// The tooltip of a command.
  std::string describe(uint32_t index) const {
    const plan::CommandT &command = *plan.commands[index];
    const Cost &cost = costs[index];
    std::string text = commandName(plan, index) + "\n" + plan::EnumNameAction(command.action.type);
    if (!command.work.empty())
      text += ", " + command.work;
    if (!command.location.empty())
      text += "\n" + command.location;
    if (!command.cause.empty())
      text += "\n" + command.cause;
    if (cost.flops != 0)
      text += "\n" + flopsText(double(cost.flops));
    if (cost.payload != 0)
      text += "\ntensor of " + bytesText(double(cost.payload)) + ", " + bytesText(double(cost.received)) +
              " received from other devices";
    text += "\n" + bytesText(double(cost.bytes)) + " read and written";
    if (prices)
      text += "\npredicted " + timeText((*prices)[index].nanoseconds) + ", limit " + (*prices)[index].limit;
    return text;
  }

  /// Words of a table, which makes the picture wider where they need it.
  void cell(int x, std::string_view words, const char *style = "name") {
    text(x, tablesBottom, style, words);
    tablesRight = std::max(tablesRight, x + int(words.size()) * kLetter + kMargin);
  }

  void drawTables(int y) {
    tablesBottom = y;
    if (plan.devices > 1)
      drawHoldings();
    drawExchanges();
  }

  /// A cell for each device: equal numbers are equal parts.
  void drawHoldings() {
    bool areCells = plan.devices <= kMostCells;
    cell(kMargin, "Who holds what: the part of each device; a tensor [8/data, 4] is split along \"data\"",
         "sub");
    tablesBottom += kLine + 4;
    int x = kMargin + (areCells ? int(plan.devices) * kCell + 10 : 0);
    for (const Holding &holding : holdingsOf(plan)) {
      for (uint32_t rank = 0; areCells && rank < plan.devices; ++rank)
        drawPart(rank, holding);
      cell(x, bytesText(double(holding.bytes)) + " a device");
      cell(x + 110, plan::EnumNameSlotRole(holding.role));
      cell(x + 170, holding.name + " " + holding.tensor +
                        (holding.tensors == 1 ? "" : ", " + std::to_string(holding.tensors) + " of them"));
      tablesBottom += kCell;
    }
    tablesBottom += kLine;
  }

  void drawPart(uint32_t rank, const Holding &holding) {
    int x = kMargin + int(rank) * kCell;
    uint32_t hue = holding.shares == 1 ? 0 : holding.parts[rank] * 360 / holding.shares;
    out << "<rect class=\"part\" x=\"" << x << "\" y=\"" << tablesBottom - 12 << "\" width=\"" << kCell - 2
        << "\" height=\"" << kCell - 2 << "\" fill=\"hsl(" << hue
        << (holding.shares == 1 ? ", 0%, 88%)\"><title>" : ", 65%, 80%)\"><title>") << plan.device_kind << ':'
        << numbers[rank]
        << (holding.shares == 1 ? " has all" : " has part " + std::to_string(holding.parts[rank]))
        << "</title></rect>\n";
    text(x + 4, tablesBottom, "small", holding.shares == 1 ? "=" : std::to_string(holding.parts[rank]));
  }

  void drawExchanges() {
    std::vector<Exchange> exchanges = exchangesOf(plan);
    if (exchanges.empty())
      return;
    cell(kMargin, "Collectives in program order, alike ones together: what a device receives, and why",
         "sub");
    tablesBottom += kLine + 4;
    for (const Exchange &exchange : exchanges) {
      cell(kMargin, "#" + std::to_string(exchange.commands.front()));
      cell(kMargin + 40, std::to_string(exchange.calls) + " x");
      cell(kMargin + 80, exchange.kind + " " + exchange.route, "bold");
      cell(kMargin + 260, std::to_string(exchange.members) + " devices");
      cell(kMargin + 340, bytesText(double(exchange.received)));
      cell(kMargin + 410, exchange.work);
      cell(kMargin + 500, exchange.cause);
      tablesBottom += kLine;
    }
  }

  const plan::PlanT &plan;
  std::string devices, prefix;
  std::vector<uint32_t> numbers; // of each rank
  const Prices *model;
  const std::vector<Price> *prices; // of each command; null: not known
  std::vector<Cost> costs;          // of each command
  std::vector<uint32_t> columns;    // of each command
  uint32_t width = 0;               // columns
  int tablesRight = 0;              // what they need of the picture's width
  int tablesBottom = 0;             // where the next line of a table stands
  std::ostringstream out;
};

} // namespace

/// The devices at these places of the plan's order.
static std::vector<uint32_t> devicesAt(const plan::PlanT &plan, std::vector<uint32_t> places) {
  for (uint32_t &place : places)
    place = deviceAt(plan, place);
  return places;
}

/// Pictures of the parts, one below the other.
static std::string renderParts(const plan::PlanT &plan, const Prices *prices) {
  std::string pictures;
  int width = 0, height = 0;
  for (size_t part = 0; part < plan.parts.size(); ++part) {
    std::string name = "Part " + std::to_string(part);
    Renderer renderer(*plan.parts[part]->plan, name + ", on " + deviceNames(plan, *plan.parts[part]),
                      "p" + std::to_string(part), devicesAt(plan, placesOf(*plan.parts[part])), prices, part);
    std::string picture = renderer.run();
    picture.insert(picture.find(' '), " y=\"" + std::to_string(height) + "\"");
    pictures += picture;
    width = std::max(width, renderer.size.first);
    height += renderer.size.second;
  }
  return R"(<svg xmlns="http://www.w3.org/2000/svg" width=")" + std::to_string(width) + R"(" height=")" +
         std::to_string(height) + "\">\n" + pictures + "</svg>\n";
}

std::string renderPlan(const plan::PlanT &plan, const Prices *prices) {
  if (!plan.parts.empty())
    return renderParts(plan, prices);
  std::string devices = plan.devices > 1 ? "Every device, " + plan.device_kind + ":0 to " + plan.device_kind +
                                               ":" + std::to_string(plan.devices - 1) + ", runs these lanes"
                                         : "One device runs these lanes";
  std::vector<uint32_t> places(plan.devices);
  std::iota(places.begin(), places.end(), 0);
  return Renderer(plan, devices, "", devicesAt(plan, places), prices, 0).run();
}

} // namespace epl::runtime::tool
