#include "Shardings.h"

#include "runtime/plan/model/Cost.h"
#include "runtime/plan/model/Parts.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <tuple>

namespace epl::runtime::tool {
namespace {

bool isDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// A name, cut before and behind each number.
std::vector<std::string> piecesOf(const std::string &name) {
  std::vector<std::string> pieces;
  for (char c : name) {
    if (pieces.empty() || isDigit(pieces.back().back()) != isDigit(c))
      pieces.emplace_back();
    pieces.back() += c;
  }
  return pieces;
}

/// What names of one kind share: numbers are "#".
std::string kindOf(const std::vector<std::string> &pieces) {
  std::string kind;
  for (const std::string &piece : pieces)
    kind += isDigit(piece.front()) ? "#" : piece;
  return kind;
}

/// The name of a kind once `other` belongs to it, too.
void widen(std::vector<std::string> &pieces, const std::vector<std::string> &other) {
  for (size_t i = 0; i < pieces.size(); ++i)
    if (pieces[i] != other[i])
      pieces[i] = "*";
}

std::string join(const std::vector<std::string> &pieces, const char *separator) {
  std::string text;
  for (const std::string &piece : pieces)
    text += (text.empty() ? "" : separator) + piece;
  return text;
}

/// For each device which part of the slot's tensor it holds, and how many different ones there are.
std::pair<std::vector<uint32_t>, uint32_t> partsOf(const plan::PlanT &plan, const Mesh &mesh,
                                                   const plan::SlotT &slot) {
  std::vector<uint32_t> parts;
  uint32_t shares = 1;
  for (uint32_t rank = 0; rank < mesh.devices(); ++rank) {
    std::vector<int64_t> coordinates = mesh.coordinates(rank);
    uint32_t part = 0, count = 1;
    for (const auto &dim : slot.sharding)
      for (const std::string &name : dim->axes)
        for (size_t axis = 0; axis < plan.axes.size(); ++axis)
          if (plan.axes[axis]->name == name) {
            part = part * plan.axes[axis]->size + uint32_t(coordinates[axis]);
            count *= plan.axes[axis]->size;
          }
    parts.push_back(part);
    shares = count;
  }
  return {parts, shares};
}

/// The communicator of a collective, which is its lane's; -1 of other commands.
int32_t communicatorOf(const plan::PlanT &plan, const plan::CommandT &command) {
  return plan.lanes[command.lane]->communicator;
}

/// What a command moves goes over axes, comes from a channel or from outside, or goes there; empty for other
/// commands.
std::string routeOf(const plan::PlanT &plan, const plan::CommandT &command) {
  if (int32_t communicator = communicatorOf(plan, command); communicator >= 0)
    return "over " + join(plan.communicators[communicator]->axes, ", ");
  if (command.action.AsPull())
    return "from outside";
  if (command.action.AsPush())
    return "to outside";
  const plan::ReceiveT *receive = command.action.AsReceive();
  return receive ? "from channel " + std::to_string(receive->channel) : "";
}

/// The name of a collective without the scope that it stands in, or of a pull or a push without what it
/// moves.
std::string collectiveKind(const plan::CommandT &command) {
  if (command.action.AsPull() || command.action.AsPush())
    return command.action.AsPull() ? "pull" : "push";
  return command.name.substr(0, command.name.find(" in "));
}

} // namespace

std::string deviceNames(const plan::PlanT &plan, const plan::PartT &part) {
  constexpr size_t kMostNames = 8;
  std::vector<uint32_t> places = placesOf(part);
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(places.size(), kMostNames); ++i)
    names.push_back(part.plan->device_kind + ":" + std::to_string(deviceAt(plan, places[i])));
  std::string rest =
      places.size() > kMostNames ? " and " + std::to_string(places.size() - kMostNames) + " more" : "";
  return join(names, ", ") + rest;
}

std::string tensorText(const plan::SlotT &slot) {
  std::string text = plan::EnumNameElementType(slot.type);
  const std::vector<int64_t> &seen = slot.caller_shape.empty() ? slot.shape : slot.caller_shape;
  size_t dim = 0;
  auto dimText = [&] {
    std::string extent = std::to_string(slot.shape[dim]);
    for (const std::string &axis : slot.sharding[dim]->axes)
      extent += "/" + axis;
    ++dim;
    return extent;
  };
  text += '[';
  for (size_t i = 0; i < seen.size(); ++i) {
    text += i == 0 ? "" : ", ";
    int64_t taken = slot.shape[dim];
    text += dimText();
    for (; taken < seen[i]; text += "x" + dimText())
      taken *= slot.shape[dim];
    if (i == 0 && slot.caller_rows)
      text += " of " + std::to_string(slot.caller_rows->count()) + " from " +
              std::to_string(slot.caller_rows->first()) + " on";
  }
  return text + "]";
}

/// ` on data 1` for a slot that one member has alone; empty for others.
static std::string ownerText(const plan::PlanT &plan, const plan::SlotT &slot) {
  if (!slot.owner)
    return "";
  return " on " + join(plan.communicators[slot.owner->communicator()]->axes, ", ") + " " +
         std::to_string(slot.owner->member());
}

std::vector<Holding> holdingsOf(const plan::PlanT &plan) {
  Mesh mesh(plan);
  std::vector<Holding> holdings;
  std::vector<std::vector<std::string>> names; // of each, in pieces
  std::map<std::tuple<std::string, std::string, plan::SlotRole>, size_t> known;
  for (const auto &slot : plan.slots) {
    if (slot->updates >= 0 ||
        slot->sharding.size() != slot->shape.size()) // of several meshes: the parts' matter
      continue;
    std::vector<std::string> pieces = piecesOf(slot->name);
    std::string tensor = tensorText(*slot) + ownerText(plan, *slot) + (slot->in_host ? " in the host" : "");
    auto [place, isNew] = known.try_emplace({kindOf(pieces), tensor, slot->role}, holdings.size());
    if (isNew) {
      auto [parts, shares] = partsOf(plan, mesh, *slot);
      holdings.push_back({"", tensor, slot->role, 0, 0, shares, std::move(parts)});
      names.push_back(pieces);
    }
    Holding &holding = holdings[place->second];
    widen(names[place->second], pieces);
    ++holding.tensors;
    holding.bytes += localBytes(plan, *slot);
  }
  for (size_t i = 0; i < holdings.size(); ++i)
    holdings[i].name = join(names[i], "");
  return holdings;
}

std::vector<Exchange> exchangesOf(const plan::PlanT &plan) {
  Mesh mesh(plan);
  std::vector<Exchange> exchanges;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, size_t> known;
  std::map<uint32_t, size_t> reduced; // exchange of the last reduction with each buffer as its first target
  for (uint32_t index = 0; index < plan.commands.size(); ++index) {
    const plan::CommandT &command = *plan.commands[index];
    std::string route = routeOf(plan, command);
    if (route.empty())
      continue;
    uint64_t received = costOf(plan, mesh, command).received;
    if (const auto *gather = command.action.AsGatherParts())
      if (auto first = reduced.find(gather->tensors.front().buffer); first != reduced.end()) {
        exchanges[first->second].received += received;
        exchanges[first->second].commands.push_back(index);
        continue;
      }
    std::string kind = collectiveKind(command);
    std::string source = command.location.substr(command.location.rfind('/') + 1);
    std::string cause = command.cause.empty() ? source : command.cause;
    auto [place, isNew] = known.try_emplace({kind, route, command.work, cause}, exchanges.size());
    if (isNew) {
      int32_t communicator = communicatorOf(plan, command);
      uint32_t members = communicator < 0 ? mesh.devices() : mesh.memberCount(uint32_t(communicator));
      exchanges.push_back({kind, route, members, command.work, cause, 0, {}, 0});
    }
    Exchange &exchange = exchanges[place->second];
    ++exchange.calls;
    exchange.commands.push_back(index);
    exchange.received += received;
    if (const auto *reduce = command.action.AsReducePart())
      reduced[reduce->tensors.front().target] = place->second;
  }
  return exchanges;
}

} // namespace epl::runtime::tool
