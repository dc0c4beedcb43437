#include "CardReport.h"

#include "Columns.h"
#include "Units.h"

#include "runtime/plan/model/Access.h"
#include "runtime/plan/model/Cost.h"

#include <algorithm>
#include <functional>
#include <map>

namespace epl::runtime::tool {
namespace {

/// Commands that are shown as one.
struct Sum {
  std::string name;
  size_t commands = 0;
  double predicted = 0, measured = 0; // nanoseconds
};

/// Sums by name, the longest first.
std::vector<Sum> sumsOf(const std::vector<Price> &prices, const std::vector<double> *measured,
                        const std::function<std::string(uint32_t command)> &nameOf) {
  std::map<std::string, Sum> byName;
  for (uint32_t command = 0; command < prices.size(); ++command) {
    std::string name = nameOf(command);
    Sum &sum = byName[name];
    sum.name = name;
    ++sum.commands;
    sum.predicted += prices[command].nanoseconds;
    sum.measured += measured ? (*measured)[command] : 0;
  }
  std::vector<Sum> sums;
  sums.reserve(byName.size());
  for (auto &[_, sum] : byName)
    sums.push_back(std::move(sum));
  std::ranges::sort(sums, {}, [](const Sum &sum) { return std::pair(-sum.predicted, sum.name); });
  return sums;
}

std::vector<Sum> sumsByLimit(const std::vector<Price> &prices) {
  return sumsOf(prices, nullptr, [&](uint32_t command) { return std::string(prices[command].limit); });
}

std::string meaningOf(const std::string &limit) {
  for (Limit each :
       {Limit::memory, Limit::parallelism, Limit::compute, Limit::link, Limit::launch, Limit::factorization})
    if (limit == limitName(each))
      return limitMeaning(each);
  return "";
}

/// What people call the computation of a command.
std::string computeKind(const plan::PlanT &plan, const plan::CommandT &command) {
  if (const plan::ContractT *contract = command.action.AsContract())
    return std::string("product of ") + plan::EnumNameElementType(contract->type);
  if (command.action.AsAttentionGradient())
    return "gradient of attention";
  const plan::KernelT &kernel = *plan.kernels[command.action.AsLaunch()->kernel];
  return kernel.factorization ? "factorization" : kernel.form + " kernel";
}

std::string kindText(const plan::PlanT &plan, const plan::CommandT &command) {
  switch (command.action.type) {
  case plan::Action::ReducePart:
  case plan::Action::GatherParts:
    return "all_reduce";
  case plan::Action::GatherBlocks:
    return "all_gather";
  case plan::Action::ReduceBlocks:
    return "reduce_scatter";
  case plan::Action::ExchangeBlocks:
    return "all_to_all";
  case plan::Action::ReduceToRoot:
    return "reduce";
  case plan::Action::CopyFromRoot:
    return "broadcast";
  case plan::Action::Copy:
    return hostSlotOf(plan, command.action.AsCopy()->source) >= 0   ? "copy from the host"
           : hostSlotOf(plan, command.action.AsCopy()->target) >= 0 ? "copy to the host"
                                                                    : "copy";
  case plan::Action::Send:
    return "send";
  case plan::Action::Receive:
    return "receive";
  case plan::Action::Pull:
    return "pull";
  case plan::Action::Push:
    return "push";
  case plan::Action::Launch:
  case plan::Action::Contract:
  case plan::Action::AttentionGradient:
  case plan::Action::NONE:
    break;
  }
  return computeKind(plan, command);
}

} // namespace

std::string limitShares(const std::vector<Price> &prices) {
  std::vector<Sum> sums = sumsByLimit(prices);
  double total = totalOf(prices);
  std::string text;
  for (const Sum &sum : sums)
    if (sum.predicted > 0)
      text += (text.empty() ? "" : ", ") + sum.name + " " + percentText(ratio(sum.predicted, total));
  return text;
}

std::string limitsTable(const std::vector<Price> &prices) {
  std::vector<Sum> sums = sumsByLimit(prices);
  double total = totalOf(prices);
  std::string text =
      "\npredicted by limit; all commands: " + timeText(total) + "\n  share      time  commands  limit\n";
  for (const Sum &sum : sums)
    text += right(percentText(ratio(sum.predicted, total)), 7) + right(timeText(sum.predicted), 10) +
            right(std::to_string(sum.commands), 10) + "  " + left(sum.name, 12) + meaningOf(sum.name) + '\n';
  return text;
}

std::string kindsTable(const plan::PlanT &plan, const std::vector<Price> &prices,
                       const std::vector<double> *measured) {
  std::vector<Sum> sums =
      sumsOf(prices, measured, [&](uint32_t command) { return kindText(plan, *plan.commands[command]); });
  std::string text = measured
                         ? "\npredicted beside measured, by kind of command; ratio: measured / predicted\n"
                           "  commands  predicted   measured   ratio  kind\n"
                         : "\npredicted by kind of command\n  commands  predicted  kind\n";
  for (const Sum &sum : sums) {
    text += right(std::to_string(sum.commands), 10) + right(timeText(sum.predicted), 11);
    if (measured)
      text += right(timeText(sum.measured), 11) +
              right(sum.predicted > 0 ? numberText(sum.measured / sum.predicted) : "-", 8);
    text += "  " + sum.name + '\n';
  }
  return text;
}

} // namespace epl::runtime::tool
