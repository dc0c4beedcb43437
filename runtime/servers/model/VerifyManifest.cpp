#include "runtime/servers/model/VerifyManifest.h"

#include "runtime/plan/format/Quoted.h"
#include "runtime/plan/format/Report.h"
#include "runtime/plan/model/Mesh.h"
#include "runtime/servers/model/Manifest.h"
#include "runtime/servers/model/Slices.h"

#include <cmath>
#include <map>
#include <optional>
#include <set>

namespace epl::runtime::servers {
namespace {

/// Bytes of one tensor: far more than any memory, far less than what overflows.
constexpr uint64_t maxBytes = uint64_t(1) << 48;
/// Bytes of the value of a row, and of each of its slots: so many at once are in memory whatever they are
/// for.
constexpr uint64_t maxRowBytes = uint64_t(1) << 24;
/// Rows of a table: its ids have 63 bits.
constexpr uint64_t maxRows = uint64_t(1) << 63;

template <typename EnumT> bool exists(EnumT value) { return EnumT::MIN <= value && value <= EnumT::MAX; }

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text;
  for (int64_t extent : shape)
    text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + text + "]";
}

class Rules {
public:
  explicit Rules(const manifest::ManifestT &manifest) : manifest(manifest) {}

  std::vector<std::string> run() {
    if (manifest.version != manifestVersion)
      report.add("version is ", manifest.version, ", expected ", manifestVersion);
    checkJob();
    for (const auto &parameter : manifest.parameters)
      checkParameter(*parameter);
    for (const auto &table : manifest.tables)
      checkTable(*table);
    for (uint32_t plan = 0; plan < manifest.plans.size(); ++plan)
      checkPlan(plan);
    return report.take();
  }

private:
  /// What a plan is for, by the first block, or table, that it updates.
  struct Use {
    std::string user, text;
    size_t states, pushes;
  };

  void checkJob() {
    if (!exists(manifest.mode))
      report.add("mode is ", int(manifest.mode), ", which does not exist");
    if (!exists(manifest.on_lost))
      report.add("on_lost is ", int(manifest.on_lost), ", which does not exist");
    checkCount("workers", manifest.workers);
    checkCount("servers", manifest.servers);
    if ((manifest.mode == manifest::Mode::geo) != (manifest.geo_steps > 0))
      report.add("geo_steps is ", manifest.geo_steps,
                 ", expected at least 1 in mode geo, and 0 in all others");
  }

  void checkCount(const char *what, uint32_t count) {
    if (count == 0 || count > maxProcesses)
      report.add("there are ", count, " ", what, ", expected from 1 to ", maxProcesses);
  }

  void checkParameter(const manifest::ParameterT &parameter) {
    std::string user = "parameter " + quoted(parameter.name);
    if (parameter.name.empty() || !names.insert(parameter.name).second)
      report.add(user, " is named twice or not at all");
    if (!checkTensor(user, parameter.type, parameter.shape))
      return;
    std::set<std::string> own;
    bool good = true;
    for (const auto &state : parameter.states)
      good = checkState(parameter, *state, own) && good;
    good = checkPushes(parameter) && good;
    if (parameter.blocks.empty())
      return report.add(user, " has no block");
    uint64_t next = 0;
    for (size_t index = 0; index < parameter.blocks.size(); ++index)
      if (std::optional<uint64_t> end = checkBlock(parameter, index, next); !end)
        return;
      else
        next = *end;
    if (uint64_t elements = elementCount(parameter.shape); next != elements)
      return report.add(user, " has blocks up to element ", next, ", expected up to ", elements);
    for (const auto &block : parameter.blocks)
      if (good)
        checkUse(parameter, *block);
  }

  /// Whether its bytes may be counted.
  bool checkTensor(const std::string &user, plan::ElementType type, const std::vector<int64_t> &shape) {
    if (!exists(type)) {
      report.add(user, " has element type ", int(type), ", which does not exist");
      return false;
    }
    uint64_t bytes = elementBytes(type), count = 1;
    for (int64_t extent : shape)
      // A factor of 0 hides no product of the others, which a row is.
      if (extent < 0 || __builtin_mul_overflow(count, std::max<uint64_t>(uint64_t(extent), 1), &count) ||
          count > maxBytes / bytes) {
        report.add(user, " has shape ", shapeText(shape), ", expected extents from 0 on and at most ",
                   maxBytes, " bytes");
        return false;
      }
    return true;
  }

  bool checkState(const manifest::ParameterT &parameter, const manifest::StateT &state,
                  std::set<std::string> &own) {
    std::string user = "state " + quoted(state.name) + " of parameter " + quoted(parameter.name);
    if (state.name.empty() || !own.insert(state.name).second)
      report.add(user, " is named twice or not at all");
    else if (!whole.emplace(state.name, !state.sliced).second && (state.sliced || !whole[state.name]))
      report.add(user,
                 " is a state of another parameter, too, expected this only of states that are not sliced");
    if (!checkTensor(user, state.type, state.shape))
      return false;
    return !state.sliced || checkRows(user, state.shape, parameter);
  }

  /// Of what is sliced.
  bool checkRows(const std::string &user, const std::vector<int64_t> &shape,
                 const manifest::ParameterT &parameter) {
    if (!shape.empty() && !parameter.shape.empty() && shape.front() == parameter.shape.front())
      return true;
    report.add(user, " is sliced and has shape ", shapeText(shape),
               ", expected as many rows as the parameter of shape ", shapeText(parameter.shape));
    return false;
  }

  bool checkPushes(const manifest::ParameterT &parameter) {
    std::string owner = "parameter " + quoted(parameter.name);
    if (parameter.pushes.empty()) {
      report.add(owner, " has no push");
      return false;
    }
    uint64_t bytes = 0;
    for (size_t index = 0; index < parameter.pushes.size(); ++index) {
      const manifest::PushedT &pushed = *parameter.pushes[index];
      std::string user = "push " + std::to_string(index) + " of " + owner;
      if (!checkTensor(user, pushed.type, pushed.shape) ||
          (pushed.sliced && !checkRows(user, pushed.shape, parameter)))
        return false;
      if (manifest.mode == manifest::Mode::sync && manifest.workers > 1 && !isFloat(pushed.type))
        report.add(user, " has element type ", plan::EnumNameElementType(pushed.type),
                   ", expected floats, of which there is an average over ", manifest.workers, " workers");
      bytes += elementCount(pushed.shape) * elementBytes(pushed.type);
      if (bytes > maxBytes) {
        report.add(owner, " has pushes of ", bytes, " bytes up to number ", index, ", expected at most ",
                   maxBytes);
        return false;
      }
    }
    return true;
  }

  /// The element behind the block; nothing if what follows it cannot be checked.
  std::optional<uint64_t> checkBlock(const manifest::ParameterT &parameter, size_t index, uint64_t next) {
    const manifest::BlockT &block = *parameter.blocks[index];
    std::string user = "block " + quoted(block.name) + " of parameter " + quoted(parameter.name);
    std::string name = blockName(parameter.name, index, parameter.blocks.size());
    uint64_t elements = elementCount(parameter.shape), row = rowElements(parameter.shape);
    if (block.name != name || !blocks.insert(block.name).second)
      report.add(user, " is block ", index, " of ", parameter.blocks.size(), ", expected the name ",
                 quoted(name), " and that no other block has it");
    if (block.server >= manifest.servers)
      report.add(user, " is on server ", block.server, ", expected one below ", manifest.servers);
    if (block.begin != next || block.size > elements - next || (block.size == 0 && elements > 0)) {
      report.add(user, " has ", block.size, " elements from ", block.begin, " on, expected some from ", next,
                 " on, up to ", elements, " at most");
      return std::nullopt;
    }
    if (row > 0 && block.size % row != 0)
      report.add(user, " has ", block.size, " elements, expected a multiple of ", row, ", which a row has");
    else if (std::vector<int64_t> shape = sliceShape(parameter.shape, {block.begin, block.size});
             block.shape != shape)
      report.add(user, " has shape ", shapeText(block.shape), ", expected ", shapeText(shape));
    else
      return next + block.size;
    return std::nullopt;
  }

  /// That the plan of a block is one for such blocks.
  void checkUse(const manifest::ParameterT &parameter, const manifest::BlockT &block) {
    if (block.plan >= manifest.plans.size())
      return report.add("block ", quoted(block.name), " is updated by plan ", block.plan,
                        ", expected one below ", manifest.plans.size());
    std::string text = std::string(plan::EnumNameElementType(parameter.type)) + shapeText(block.shape);
    for (const auto &state : parameter.states)
      text += std::string(", a state ") + plan::EnumNameElementType(state->type) +
              shapeText(shapeIn(block, *state));
    for (const auto &pushed : parameter.pushes)
      text += std::string(", a push ") + plan::EnumNameElementType(pushed->type) +
              shapeText(shapeIn(block, *pushed));
    addUse({"block " + quoted(block.name), text, parameter.states.size(), parameter.pushes.size()},
           block.plan);
  }

  void addUse(const Use &use, uint32_t plan) {
    const Use &first = uses.emplace(plan, use).first->second;
    if (first.text != use.text)
      report.add(use.user, " is ", use.text, ", expected ", first.text, " as ", first.user, ", which plan ",
                 plan, " updates, too");
  }

  void checkTable(const manifest::TableT &table) {
    std::string user = "table " + quoted(table.name);
    if (table.name.empty() || !names.insert(table.name).second)
      report.add(user, " is named twice or not at all");
    if (manifest.mode == manifest::Mode::dc_asgd || manifest.mode == manifest::Mode::geo)
      report.add(user, " is in mode ", manifest::EnumNameMode(manifest.mode),
                 ", which has none, expected sync, half_async or async");
    if (!exists(table.init))
      report.add(user, " has init ", int(table.init), ", which does not exist");
    if (!std::isfinite(table.scale))
      report.add(user, " has a scale that is not finite");
    if (table.admit == 0)
      report.add(user, " admits rows at sighting 0, expected 1 or a later one");
    if (table.rows == 0 || table.rows > maxRows)
      report.add(user, " has ", table.rows, " rows, expected from 1 to ", maxRows);
    if (table.plan >= manifest.plans.size())
      report.add(user, " is updated by plan ", table.plan, ", expected one below ", manifest.plans.size());
    else if (checkRow(user, table))
      addUse({user, rowText(table), table.slots.size(), 1}, table.plan);
  }

  /// Whether rows may be counted.
  bool checkRow(const std::string &user, const manifest::TableT &table) {
    if (!exists(table.type) || !isFloat(table.type)) {
      report.add(user, " has element type ",
                 exists(table.type) ? std::string(plan::EnumNameElementType(table.type))
                                    : std::to_string(int(table.type)),
                 ", expected floats");
      return false;
    }
    if (table.dim == 0 || table.dim > maxRowBytes / elementBytes(table.type)) {
      report.add(user, " has rows of ", table.dim, " elements, expected at least 1, and at most ",
                 maxRowBytes, " bytes");
      return false;
    }
    std::set<std::string> own;
    bool good = true;
    for (const auto &slot : table.slots)
      good = checkSlot(user, *slot, own) && good;
    return good;
  }

  bool checkSlot(const std::string &owner, const manifest::SlotT &slot, std::set<std::string> &own) {
    std::string user = "slot " + quoted(slot.name) + " of " + owner;
    if (slot.name.empty() || !own.insert(slot.name).second)
      report.add(user, " is named twice or not at all");
    if (!checkTensor(user, slot.type, slot.shape))
      return false;
    uint64_t bytes = elementCount(slot.shape) * elementBytes(slot.type);
    if (bytes <= maxRowBytes && slot.first.size() == bytes)
      return true;
    report.add(user, " has a first value of ", slot.first.size(), " bytes, expected ", bytes,
               ", and at most ", maxRowBytes);
    return false;
  }

  static std::string rowText(const manifest::TableT &table) {
    auto text = [](plan::ElementType type, std::span<const int64_t> row) {
      return std::string(plan::EnumNameElementType(type)) + shapeText(shapeOfRows(row));
    };
    std::vector<int64_t> row = {int64_t(table.dim)};
    std::string result = text(table.type, row);
    for (const auto &slot : table.slots)
      result += ", a state " + text(slot->type, slot->shape);
    return result + ", a push " + text(table.type, row);
  }

  void checkPlan(uint32_t index) {
    auto use = uses.find(index);
    if (use == uses.end()) {
      if (!report.failed())
        report.add("plan ", index, " updates nothing");
      return;
    }
    std::map<std::pair<manifest::ArgumentRole, int32_t>, uint32_t> times;
    for (const manifest::Argument &argument : manifest.plans[index]->arguments)
      ++times[{argument.role(), argument.state()}];
    auto expect = [&](manifest::ArgumentRole role, int32_t state, uint32_t count) {
      auto found = times.find({role, state});
      uint32_t got = found == times.end() ? 0 : found->second;
      if (found != times.end())
        times.erase(found);
      if (got != count)
        report.add("plan ", index, " has ", got, " arguments that are ", argumentText(role, state),
                   ", expected ", count);
    };
    expect(manifest::ArgumentRole::parameter, -1, 1);
    expect(manifest::ArgumentRole::backup, -1, manifest.mode == manifest::Mode::dc_asgd ? 1 : 0);
    for (size_t state = 0; state < use->second.states; ++state)
      expect(manifest::ArgumentRole::state, int32_t(state), 1);
    for (size_t push = 0; push < use->second.pushes; ++push)
      expect(manifest::ArgumentRole::gradient, int32_t(push), 1);
    for (const auto &[argument, count] : times)
      report.add("plan ", index, " has an argument that is ", argumentText(argument.first, argument.second),
                 ", which ", use->second.user, " has not");
  }

  static std::string argumentText(manifest::ArgumentRole role, int32_t state) {
    std::string text =
        exists(role) ? manifest::EnumNameArgumentRole(role) : "role " + std::to_string(int(role));
    return state == -1 ? text : text + " " + std::to_string(state);
  }

  const manifest::ManifestT &manifest;
  Report report;
  std::set<std::string> names, blocks;
  std::map<std::string, bool> whole; ///< of each state's name: whether it is not sliced
  std::map<uint32_t, Use> uses;
};

} // namespace

std::vector<std::string> faultsOf(const manifest::ManifestT &manifest) { return Rules(manifest).run(); }

} // namespace epl::runtime::servers
