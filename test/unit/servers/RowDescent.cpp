#include "test/unit/servers/RowDescent.h"

#include "runtime/plan/format/Writer.h"
#include "test/unit/executor/TestPlan.h"

#include <algorithm>

namespace epl::runtime::servers::test {

using manifest::ArgumentRole;
using plan::ElementType;
using plan::SlotRole;
using runtime::test::TestPlan;

std::vector<uint8_t> rowDescentPlan(int64_t dim) {
  TestPlan plan(1);
  std::vector<int64_t> rows = {kRowsAtOnce, dim}, counts = {kRowsAtOnce};
  uint32_t w = plan.slot(SlotRole::state, "w", ElementType::f32, rows);
  uint32_t n = plan.slot(SlotRole::state, "n", ElementType::i64, counts);
  uint32_t g = plan.slot(SlotRole::batch, "g", ElementType::f32, rows);
  plan.slot(SlotRole::result, "w", ElementType::f32, rows, {}, int32_t(w));
  plan.slot(SlotRole::result, "n", ElementType::i64, counts, {}, int32_t(n));
  uint32_t value = plan.slotBuffer(w), count = plan.slotBuffer(n);
  plan.launch("descend_f32", kRowsAtOnce * dim, {value, plan.slotBuffer(g), value});
  plan.launch("increment", kRowsAtOnce, {count, count});
  return serializePlan(*plan.finish());
}

std::shared_ptr<manifest::ManifestT> rowDescentManifest(const RowDescent &descent) {
  auto made = std::make_shared<manifest::ManifestT>();
  made->version = manifestVersion, made->mode = descent.mode;
  made->workers = descent.workers, made->servers = descent.servers;
  auto table = std::make_unique<manifest::TableT>();
  table->name = "user", table->type = ElementType::f32, table->dim = uint64_t(descent.dim);
  table->init = manifest::InitKind::constant, table->scale = 100;
  auto slot = std::make_unique<manifest::SlotT>();
  slot->name = "n", slot->type = ElementType::i64, slot->first.resize(sizeof(int64_t));
  table->slots.push_back(std::move(slot));
  made->tables.push_back(std::move(table));
  auto plan = std::make_unique<manifest::ApplyPlanT>();
  plan->arguments = {{ArgumentRole::parameter, -1}, {ArgumentRole::state, 0}, {ArgumentRole::gradient, 0}};
  Hash128 hash = hashBytes(rowDescentPlan(descent.dim));
  plan->hash_low = hash.low, plan->hash_high = hash.high;
  made->plans.push_back(std::move(plan));
  return made;
}

HostTensor rowsPush(const std::map<int64_t, std::vector<float>> &rows, int64_t dim) {
  RowsPush push = RowsPush::of(rows.size(), uint64_t(dim) * sizeof(float));
  HostTensor result = HostTensor::allocate({ElementType::i8, {int64_t(push.bytes)}});
  auto *id = reinterpret_cast<int64_t *>(result.data);
  std::byte *next = result.data + push.offset;
  for (const auto &[number, row] : rows) {
    *id++ = number;
    next = std::ranges::copy(std::as_bytes(std::span(row)), next).out;
  }
  return result;
}

} // namespace epl::runtime::servers::test
