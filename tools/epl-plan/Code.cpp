#include "Code.h"

#include "runtime/Error.h"
#include "runtime/plan/format/Quoted.h"
#include "runtime/plan/model/Images.h"
#include "runtime/plan/model/Parts.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <string_view>

namespace epl::runtime::tool {
namespace {

constexpr std::string_view kEntry = ".visible .entry ";

std::string_view textOf(const plan::PlanT &plan) {
  const plan::ImageT *image = findImage(plan, plan::ImageKind::ptx);
  if (image)
    return {reinterpret_cast<const char *>(image->bytes.data()), image->bytes.size()};
  if (plan.device_kind != "cuda")
    throw Error("the plan has no code for GPUs: it is for \"" + plan.device_kind +
                "\" devices, expected one that was compiled for GPUs (--devices=cuda:0)");
  throw Error("the plan has no code of its own: libraries run all of its kernels");
}

/// The kernels that have code, and by which names they may be asked for: their own, and those of commands
/// that launch them, which `epl-plan explain` and timelines show.
std::multimap<std::string, const plan::KernelT *> kernelsByName(const plan::PlanT &plan) {
  std::multimap<std::string, const plan::KernelT *> kernels;
  auto add = [&](const std::string &name, const plan::KernelT &kernel) {
    if (!kernel.grids.empty())
      kernels.emplace(name, &kernel);
  };
  for (const plan::PlanT *part : meshPlansOf(plan)) {
    for (const auto &kernel : part->kernels)
      add(kernel->name, *kernel);
    for (const auto &command : part->commands)
      if (const plan::LaunchT *launch = command->action.AsLaunch())
        add(command->name, *part->kernels[launch->kernel]);
  }
  return kernels;
}

/// The entries of the kernels of a name.
std::set<std::string, std::less<>> entriesOf(const plan::PlanT &plan, const std::string &name) {
  std::set<std::string, std::less<>> entries;
  auto kernels = kernelsByName(plan);
  auto [begin, end] = kernels.equal_range(name);
  for (const auto &[_, kernel] : std::ranges::subrange(begin, end))
    for (size_t phase = 0; phase < kernel->grids.size(); ++phase)
      entries.insert({symbolOfPhase(*kernel, phase), symbolOfList(*kernel, phase)});
  if (!entries.empty())
    return entries;
  std::set<std::string> names;
  for (const auto &[known, _] : kernels)
    names.insert(known);
  std::string text;
  for (const std::string &known : names)
    text += (text.empty() ? "" : ", ") + quoted(known);
  throw Error("the plan has no code for a kernel " + quoted(name) + ", expected one of " + text);
}

/// What is left of a module without the other entries. An entry ends with the first line that is "}" alone or
/// begins so: all within it is indented, or a label.
std::string withEntries(std::string_view ptx, const std::set<std::string, std::less<>> &entries) {
  std::string text;
  while (!ptx.empty()) {
    size_t begin = std::min(ptx.find(kEntry), ptx.size());
    text += ptx.substr(0, begin);
    ptx.remove_prefix(begin);
    size_t end = ptx.find("\n}");
    end = end == std::string_view::npos ? ptx.size() : std::min(ptx.find('\n', end + 1), ptx.size());
    std::string_view entry = ptx.substr(0, end);
    ptx.remove_prefix(end);
    if (entry.empty())
      continue;
    std::string_view name = entry.substr(kEntry.size());
    if (entries.contains(name.substr(0, name.find('('))))
      text += entry;
  }
  return text;
}

} // namespace

std::string ptxOf(const plan::PlanT &plan, const std::string &kernel) {
  std::string_view ptx = textOf(plan);
  return kernel.empty() ? std::string(ptx) : withEntries(ptx, entriesOf(plan, kernel));
}

} // namespace epl::runtime::tool
