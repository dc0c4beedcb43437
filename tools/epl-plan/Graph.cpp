#include "Graph.h"

#include <sstream>

namespace epl::runtime::tool {
namespace {

/// A text between quotes, on several lines if it has some.
std::string label(const std::string &text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      quoted += '\\';
    if (c == '\n')
      quoted += "\\n";
    else
      quoted += c;
  }
  return quoted + '"';
}

const char *shapeOf(plan::LaneKind kind) {
  switch (kind) {
  case plan::LaneKind::compute:
    return "box";
  case plan::LaneKind::communicate:
    return "ellipse";
  default:
    return "diamond";
  }
}

class Graph {
public:
  std::string run(const plan::PlanT &plan) {
    out << "digraph plan {\n  label=" << label(plan.layout) << ";\n";
    if (plan.parts.empty())
      add(plan, "");
    for (size_t part = 0; part < plan.parts.size(); ++part) {
      std::string name = "p" + std::to_string(part);
      out << "  subgraph cluster_" << name << " {\n  label=" << label("mesh " + std::to_string(part))
          << ";\n";
      add(*plan.parts[part]->plan, name);
      out << "  }\n";
    }
    out << "}\n";
    return out.str();
  }

private:
  void add(const plan::PlanT &plan, const std::string &prefix) {
    for (uint32_t index = 0; index < plan.commands.size(); ++index) {
      const plan::CommandT &command = *plan.commands[index];
      std::string text = command.name + "\n" + command.work;
      if (!command.location.empty())
        text += "\n" + command.location;
      out << "  " << prefix << 'c' << index << " [label=" << label(text)
          << ", shape=" << shapeOf(plan.lanes[command.lane]->kind) << "];\n";
      for (const plan::Wait &wait : command.waits)
        edge(prefix, wait.command(), index, "");
    }
    for (const auto &lane : plan.lanes)
      for (size_t i = 1; i < lane->commands.size(); ++i)
        edge(prefix, lane->commands[i - 1], lane->commands[i], " [style=dotted]");
  }

  void edge(const std::string &prefix, uint32_t from, uint32_t to, const char *style) {
    out << "  " << prefix << 'c' << from << " -> " << prefix << 'c' << to << style << ";\n";
  }

  std::ostringstream out;
};

} // namespace

std::string graphPlan(const plan::PlanT &plan) { return Graph().run(plan); }

} // namespace epl::runtime::tool
