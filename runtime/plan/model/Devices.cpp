#include "runtime/plan/model/Devices.h"

#include "runtime/Error.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace epl::runtime {

static bool isNumber(const std::string &text) {
  size_t first = text.starts_with('-');
  return text.size() > first && std::all_of(text.begin() + ptrdiff_t(first), text.end(),
                                            [](char c) { return '0' <= c && c <= '9'; });
}

/// The number in `text`, 0 if it is negative, maxDevices + 1 if it is more than that.
static uint32_t saturate(const std::string &text) {
  if (text.starts_with('-'))
    return 0;
  uint32_t count = 0;
  for (char digit : text)
    count = std::min(10 * count + uint32_t(digit - '0'), maxDevices + 1);
  return count;
}

/// Without spaces at the ends, in lower-case letters.
static std::string trim(const std::string &text) {
  constexpr const char *spaces = " \t\n\r";
  size_t first = text.find_first_not_of(spaces);
  if (first == std::string::npos)
    return "";
  std::string trimmed = text.substr(first, text.find_last_not_of(spaces) - first + 1);
  std::transform(trimmed.begin(), trimmed.end(), trimmed.begin(),
                 [](char c) { return 'A' <= c && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return trimmed;
}

/// What stands before and behind the first `separator`, if there is one.
static std::pair<std::string, std::optional<std::string>> split(const std::string &text, char separator) {
  size_t at = text.find(separator);
  if (at == std::string::npos)
    return {text, std::nullopt};
  return {text.substr(0, at), text.substr(at + 1)};
}

static constexpr const char *expected = "devices must be \"cpu:N\", \"cuda:CARDS\" or a count";

static Devices parseCpus(const std::string &text, const std::string &count) {
  auto [first, second] = split(count, 'x');
  std::string nodes = second ? first : "1", each = second.value_or(first);
  if (!isNumber(nodes) || !isNumber(each))
    throw Error(std::string(expected) + ", found \"" + text + "\"");
  return {"cpu", saturate(nodes) * saturate(each), saturate(nodes), {}};
}

/// The numbers of cards, "0", "0-3" or "0,2".
static std::vector<uint32_t> parseCards(const std::string &text, std::string list) {
  auto fail = [&](const std::string &found) -> Error {
    return Error("cards must be numbers and ranges, as in \"cuda:0\", \"cuda:0-3\", \"cuda:0,2\", found \"" +
                 found + "\" in \"" + text + "\"");
  };
  std::vector<uint32_t> cards;
  for (std::optional<std::string> rest = std::move(list); rest;) {
    auto [range, next] = split(*rest, ',');
    auto [low, high] = split(range, '-');
    if (low.empty() || !isNumber(low) || (high && !isNumber(*high)))
      throw fail(range);
    uint32_t first = saturate(low), last = high ? saturate(*high) : first;
    if (last < first || last >= maxDevices)
      throw fail(range);
    for (uint32_t card = first; card <= last; ++card) {
      if (std::ranges::find(cards, card) != cards.end())
        throw Error("card " + std::to_string(card) + " is named twice in \"" + text +
                    "\"; virtual devices of one card are \"cuda:" + std::to_string(card) + "x2\"");
      cards.push_back(card);
    }
    rest = next;
  }
  return cards;
}

/// Of what stands before the "*", nothing or "4", the number of processes; one if that is not said.
static uint32_t parseProcesses(const std::string &text, const std::string &number) {
  if (!number.empty() && (!isNumber(number) || saturate(number) == 0))
    throw Error("before the \"*\" of \"" + text + "\" must be the number of processes, or nothing, found \"" +
                number + "\"");
  return number.empty() ? 1 : saturate(number);
}

static Devices parseGpus(const std::string &text, const std::string &count) {
  auto [list, each] = split(count, 'x');
  if (each && !isNumber(*each))
    throw Error("the devices on each card must be a number, found \"" + *each + "\" in \"" + text + "\"");
  uint32_t eachCount = saturate(each.value_or("1"));
  auto [before, behind] = split(list, '*');
  bool hasCards = behind && behind->starts_with('[') && behind->ends_with(']');
  if (behind && (behind->empty() || hasCards)) {
    uint32_t processes = parseProcesses(text, before);
    std::vector<uint32_t> some;
    if (hasCards)
      some = parseCards(text, behind->substr(1, behind->size() - 2));
    return {"cuda", processes * eachCount, 1, std::move(some), processes};
  }
  std::vector<uint32_t> cards = parseCards(text, list);
  return {"cuda", uint32_t(cards.size()) * eachCount, 1, std::move(cards)};
}

Devices Devices::parse(const std::string &text) {
  size_t colon = text.find(':');
  std::string kind = colon == std::string::npos ? "cpu" : trim(text.substr(0, colon));
  std::string count = trim(text.substr(colon + 1)); // npos + 1 is 0: a count alone
  for (const char *other : {"gpu", "cuda"})
    if (count == other || kind == "gpu")
      throw Error(std::string(expected) + ", found \"" + text + "\"; the first GPU is \"cuda:0\"");
  if (kind == "tpu" || count == "tpu")
    throw Error(std::string(expected) + ", found \"" + text + "\", which is not supported yet");
  if (kind != "cpu" && kind != "cuda")
    throw Error(std::string(expected) + ", found \"" + text + "\"");
  Devices devices = kind == "cpu" ? parseCpus(text, count) : parseGpus(text, count);
  if (devices.count == 0)
    throw Error("at least one device is needed, found \"" + text + "\"");
  if (devices.count > maxDevices)
    throw Error("at most " + std::to_string(maxDevices) + " devices are supported, found \"" + text + "\"");
  return devices;
}

/// As parseCards takes them, neighbours as ranges.
static std::string cardsText(const std::vector<uint32_t> &cards) {
  std::string text;
  for (size_t i = 0; i < cards.size();) {
    size_t end = i + 1;
    while (end < cards.size() && cards[end] == cards[end - 1] + 1)
      ++end;
    text += (text.empty() ? "" : ",") + std::to_string(cards[i]);
    if (end - i > 1)
      text += "-" + std::to_string(cards[end - 1]);
    i = end;
  }
  return text.empty() ? "0" : text;
}

std::string Devices::str() const {
  if (kind == "cpu")
    return "cpu:" + (nodes > 1 ? std::to_string(nodes) + "x" : "") + std::to_string(count / nodes);
  uint32_t each = count / std::max(processes == 0 ? uint32_t(cards.size()) : processes, 1U);
  std::string where = processes == 0   ? cardsText(cards)
                      : processes == 1 ? "*"
                                       : std::to_string(processes) + "*";
  if (processes != 0 && !cards.empty())
    where += "[" + cardsText(cards) + "]";
  return kind + ":" + where + (each > 1 ? "x" + std::to_string(each) : "");
}

Devices Devices::among(const std::string &list) const {
  if (kind != "cuda")
    throw Error("cards \"" + list + "\" are chosen for \"" + str() + "\", expected devices \"cuda:CARDS\"");
  std::vector<uint32_t> chosen = parseCards(list, trim(list));
  Devices devices = *this;
  if (processes != 0 && cards.empty())
    devices.cards = chosen;
  for (size_t i = 0; i < cards.size(); ++i) {
    if (cards[i] >= chosen.size())
      throw Error("\"" + str() + "\" names card " + std::to_string(cards[i]) + " of \"" + list +
                  "\", expected " + (chosen.size() == 1 ? "0" : "0 to " + std::to_string(chosen.size() - 1)) +
                  ", as they count from 0 in that list");
    devices.cards[i] = chosen[cards[i]];
  }
  return devices;
}

Devices Devices::ofProcess(uint32_t place) const {
  if (processes == 0)
    return *this;
  return {kind, count / processes, 1, {cards.empty() ? place : cards[place % cards.size()]}};
}

} // namespace epl::runtime
