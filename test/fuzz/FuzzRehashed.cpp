// Plan files whose plan has been changed and hashed again: what the hash does not protect from. The fuzzer
// changes the plan inside, bytes or whole fields; the frame around it is always right.

#include "test/fuzz/FuzzPlan.h"

#include "runtime/plan/format/Error.h"
#include "runtime/plan/format/Reader.h"
#include "runtime/plan/format/Writer.h"

#include <algorithm>
#include <cstring>
#include <random>

using namespace epl::runtime;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

namespace {

/// The plan in a plan file; nothing if there is none.
std::vector<uint8_t> contentOf(std::span<const uint8_t> bytes) {
  if (bytes.size() < 12)
    return {};
  flatbuffers::Verifier frame(bytes.data(), bytes.size());
  if (!plan::VerifySizePrefixedPlanFileBuffer(frame))
    return {};
  const auto &content = *plan::GetSizePrefixedPlanFile(bytes.data())->plan();
  return {content.begin(), content.end()};
}

/// Changes one number somewhere to one that is likely to matter: small, or at the end of its range.
void changeNumber(std::vector<uint8_t> &content, std::mt19937 &random) {
  static constexpr int64_t values[] = {-2, -1, 0,  1,   2,         3,         4,
                                       7,  63, 64, 255, INT32_MAX, INT32_MIN, INT64_MAX};
  size_t width = size_t(1) << random() % 4;
  if (content.size() < width)
    return;
  size_t place = random() % (content.size() - width + 1) / width * width;
  int64_t value = values[random() % std::size(values)];
  if (random() % 2)
    std::memcpy(&value, &content[place], width), value = int64_t(uint64_t(value) + random() % 7 - 3);
  std::memcpy(&content[place], &value, width);
}

/// A structured change, which keeps the FlatBuffer well formed: one entry of a table in place of another.
void changeTable(plan::PlanT &plan, std::mt19937 &random) {
  auto exchange = [&](auto &list) {
    if (list.size() > 1)
      std::swap(list[random() % list.size()], list[random() % list.size()]);
  };
  auto drop = [&](auto &list) {
    if (!list.empty())
      list.erase(list.begin() + int64_t(random() % list.size()));
  };
  auto change = [&](auto &list) { random() % 2 ? exchange(list) : drop(list); };
  if (!plan.parts.empty()) {
    plan::PartT &part = *plan.parts[random() % plan.parts.size()];
    return random() % 4   ? changeTable(*part.plan, random)
           : random() % 2 ? change(part.slots)
                          : change(plan.parts);
  }
  switch (random() % 7) {
  case 0:
    return change(plan.commands);
  case 1:
    return change(plan.buffers);
  case 2:
    return change(plan.slots);
  case 3:
    return change(plan.kernels);
  case 4:
    return change(plan.lanes);
  case 5:
    return change(plan.axes);
  default:
    if (!plan.commands.empty())
      change(plan.commands[random() % plan.commands.size()]->waits);
  }
}

/// The content after a structured change, or as it was where it is no plan.
std::vector<uint8_t> withChangedTable(const std::vector<uint8_t> &content, std::mt19937 &random) {
  try {
    plan::PlanT plan = parsePlanUnverified(sealPlan(content), "fuzz");
    changeTable(plan, random);
    return contentOf(serializePlan(plan));
  } catch (const PlanError &) {
    return content;
  }
}

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> content = contentOf({data, size});
  if (content.empty())
    content = contentOf(serializePlan(plan::PlanT()));
  switch (random() % 8) {
  case 0: {
    size_t limit = content.size() + 64;
    size_t old = content.size();
    content.resize(limit);
    content.resize(LLVMFuzzerMutate(content.data(), old, limit));
    break;
  }
  case 1:
  case 2:
    content = withChangedTable(content, random);
    break;
  default:
    for (unsigned count = 1 + random() % 3; count > 0; --count)
      changeNumber(content, random);
  }
  std::vector<uint8_t> file = sealPlan(content);
  if (file.size() > maxSize)
    return size;
  std::ranges::copy(file, data);
  return file.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  test::tryPlan({data, size});
  return 0;
}
