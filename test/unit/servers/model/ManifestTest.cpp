// Manifests: what is written is read, and each rule of the verifier has a manifest that breaks it.

#include "runtime/Error.h"
#include "runtime/servers/model/VerifyManifest.h"

#include "test/unit/servers/Manifests.h"

#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

namespace epl::runtime::servers::test {
namespace {

using manifest::ManifestT;
using testing::ElementsAre;
using testing::HasSubstr;

ManifestT makeFc(manifest::Mode mode = manifest::Mode::sync) {
  return makeManifest({{"fc_b", {1000}}, {"fc_w", {1000, 1000}}, {"scale", {}}}, {.servers = 2}, mode);
}

std::string errorOf(std::span<const uint8_t> bytes) {
  try {
    parseManifest(bytes, "m");
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

TEST(Manifest, IsReadAsItWasWritten) {
  for (manifest::Mode mode : manifest::EnumValuesMode()) {
    ManifestT manifest = makeFc(mode);
    EXPECT_THAT(faultsOf(manifest), ElementsAre()) << manifest::EnumNameMode(mode);
    std::vector<uint8_t> bytes = serializeManifest(manifest);
    EXPECT_EQ(serializeManifest(parseManifest(bytes, "m")), bytes);
  }
}

TEST(Manifest, MayHoldNothing) {
  EXPECT_THAT(faultsOf(makeManifest({}, {.servers = 3})), ElementsAre());
  EXPECT_THAT(faultsOf(makeManifest({{"empty", {4, 0}}}, {.servers = 3})), ElementsAre());
}

TEST(Manifest, HasBlocksByNumber) {
  ManifestT manifest = makeFc();
  BlockTable blocks(manifest);
  ASSERT_EQ(blocks.size(), 4u);
  EXPECT_EQ(blocks[2].name, "fc_w.block1");
  EXPECT_EQ(blocks.parameter(2).name, "fc_w");
  EXPECT_EQ(blocks.bytes(2), 2000000u);
  EXPECT_EQ(blocks.stateBytes(2, 0), 2000000u);
  EXPECT_EQ(blocks.stateBytes(2, 1), 4u);
  EXPECT_EQ(blocks.pushBytes(2), 2000000u);
  EXPECT_EQ(blocks.firstRow(2), 500u);
  EXPECT_THAT(blocks.ofServer(0), ElementsAre(0, 2));
  EXPECT_THAT(blocks.ofServer(1), ElementsAre(1, 3));
}

TEST(Manifest, SaysWhatAPushIsMadeOf) {
  ManifestT manifest =
      makeManifest({{"w", {5, 3}}}, {.servers = 2, .minBlockSize = 1}, manifest::Mode::async);
  addNumber(manifest, plan::ElementType::i64);
  manifest.parameters[0]->pushes.push_back(std::make_unique<manifest::PushedT>());
  manifest::PushedT &rows = *manifest.parameters[0]->pushes.back();
  rows.type = plan::ElementType::f64, rows.shape = {5}, rows.sliced = true;
  for (const auto &plan : manifest.plans)
    plan->arguments.emplace_back(manifest::ArgumentRole::gradient, 2);
  EXPECT_THAT(faultsOf(manifest), ElementsAre());
  BlockTable blocks(manifest);
  std::vector<PushPart> parts = blocks.pushParts(1);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_THAT(parts[0].shape, ElementsAre(2, 3));
  EXPECT_EQ(parts[0].bytes, 24u);
  EXPECT_THAT(parts[1].shape, ElementsAre());
  EXPECT_EQ(parts[1].type, plan::ElementType::i64);
  EXPECT_EQ(parts[1].offset, 64u);
  EXPECT_EQ(parts[2].elements, 2u);
  EXPECT_EQ(parts[2].offset, 128u);
  EXPECT_EQ(blocks.pushBytes(1), 144u);
  EXPECT_EQ(blocks.pushBytes(0), 152u);
}

TEST(Manifest, AveragesNoIntegers) {
  ManifestT one = makeManifest({{"w", {5}}}, {.servers = 1}, manifest::Mode::sync, 1), several = makeFc();
  addNumber(one, plan::ElementType::i32);
  addNumber(several, plan::ElementType::i32);
  EXPECT_THAT(faultsOf(one), ElementsAre());
  EXPECT_THAT(faultsOf(several),
              testing::Contains("push 1 of parameter \"fc_w\" has element type i32, expected "
                                "floats, of which there is an average over 2 workers"));
}

TEST(Manifest, IsRefusedWithAllThatIsWrong) {
  ManifestT manifest = makeFc();
  manifest.workers = 0, manifest.geo_steps = 3;
  EXPECT_EQ(errorOf(serializeManifest(manifest)),
            "manifest \"m\" is not valid:\nthere are 0 workers, expected from 1 to 4096\n"
            "geo_steps is 3, expected at least 1 in mode geo, and 0 in all others");
}

/// Bytes changed at random are an error or another manifest, wherever they begin in memory.
TEST(Manifest, OfDamagedBytesIsAnError) {
  ManifestT whole = makeFc();
  addTable(whole, "user", 16);
  std::vector<uint8_t> bytes = serializeManifest(whole);
  std::mt19937 random(3);
  for (int i = 0; i < 3000; ++i) {
    std::vector<uint8_t> changed = bytes;
    for (unsigned count = 1 + random() % 4; count > 0; --count)
      changed[random() % changed.size()] = uint8_t(random());
    if (i % 3 == 0)
      changed.resize(random() % changed.size());
    changed.insert(changed.begin(), 0xa5);
    if (std::string error = errorOf(std::span(changed).subspan(1)); error != "no error") {
      EXPECT_THAT(error, HasSubstr("manifest \"m\" is "));
    }
  }
  EXPECT_EQ(errorOf({}), "manifest \"m\" is damaged or none");
}

bool hasTables(manifest::Mode mode) { return mode != manifest::Mode::dc_asgd && mode != manifest::Mode::geo; }

TEST(Manifest, HasTablesInSomeModes) {
  for (manifest::Mode mode : manifest::EnumValuesMode()) {
    ManifestT manifest = makeFc(mode);
    addTable(manifest, "user", 16);
    if (!hasTables(mode)) {
      EXPECT_THAT(faultsOf(manifest),
                  ElementsAre("table \"user\" is in mode " + std::string(manifest::EnumNameMode(mode)) +
                              ", which has none, expected sync, half_async or async"));
      continue;
    }
    EXPECT_THAT(faultsOf(manifest), ElementsAre());
    std::vector<uint8_t> bytes = serializeManifest(manifest);
    EXPECT_EQ(serializeManifest(parseManifest(bytes, "m")), bytes);
  }
}

TEST(Manifest, HasPartsOfTablesBehindBlocks) {
  ManifestT manifest = makeFc();
  addTable(manifest, "user", 16);
  addTable(manifest, "item", 8);
  BlockTable blocks(manifest);
  EXPECT_EQ(blocks.size(), 4u);
  ASSERT_EQ(blocks.total(), 8u);
  EXPECT_FALSE(blocks.isPart(3));
  EXPECT_TRUE(blocks.isPart(4));
  EXPECT_EQ(blocks.partOf(1, 0), 6u);
  EXPECT_EQ(blocks.tableNumber(6), 1u);
  EXPECT_EQ(blocks.table(6).name, "item");
  EXPECT_EQ(blocks.serverOf(5), 1u);
  EXPECT_EQ(blocks.serverOf(1), 1u);
  EXPECT_EQ(blocks.text(5), "table \"user\"");
  EXPECT_EQ(blocks.text(1), "block \"fc_w.block0\"");
  EXPECT_THAT(blocks.ofServer(1), ElementsAre(1, 3));
  EXPECT_THAT(blocks.allOfServer(1), ElementsAre(1, 3, 5, 7));
  EXPECT_EQ(rowBytes(blocks.table(4)), 64u);
}

TEST(Manifest, SaysHowManyRowsAPushHas) {
  for (uint64_t row : {2, 4, 64, 100})
    for (uint64_t rows = 0, next = 0; rows < 300; ++rows) {
      RowsPush push = RowsPush::of(rows, row);
      EXPECT_EQ(push.offset % 64, 0u);
      EXPECT_GE(push.offset, rows * 8);
      for (; next < push.bytes; ++next)
        EXPECT_FALSE(RowsPush::withBytes(next, row)) << next << " bytes of " << row;
      std::optional<RowsPush> found = RowsPush::withBytes(next++, row);
      ASSERT_TRUE(found) << rows << " rows of " << row;
      EXPECT_EQ(found->rows, rows);
      EXPECT_EQ(found->offset, push.offset);
    }
}

struct Fault {
  std::function<void(ManifestT &)> change;
  std::string message;
};

manifest::ParameterT &w(ManifestT &manifest) { return *manifest.parameters[1]; }
manifest::TableT &user(ManifestT &manifest) { return *manifest.tables[0]; }

const Fault faults[] = {
    {[](ManifestT &m) { user(m).name = "fc_w"; }, "table \"fc_w\" is named twice or not at all"},
    {[](ManifestT &m) { user(m).init = manifest::InitKind(7); },
     "table \"user\" has init 7, which does not exist"},
    {[](ManifestT &m) { user(m).scale = std::numeric_limits<double>::infinity(); },
     "table \"user\" has a scale that is not finite"},
    {[](ManifestT &m) { user(m).admit = 0; },
     "table \"user\" admits rows at sighting 0, expected 1 or a later one"},
    {[](ManifestT &m) { user(m).rows = 0; },
     "table \"user\" has 0 rows, expected from 1 to 9223372036854775808"},
    {[](ManifestT &m) { user(m).rows = (uint64_t(1) << 63) + 1; },
     "table \"user\" has 9223372036854775809 rows, expected from 1 to 9223372036854775808"},
    {[](ManifestT &m) { user(m).plan = 9; }, "table \"user\" is updated by plan 9, expected one below 4"},
    {[](ManifestT &m) { user(m).plan = 0; },
     "table \"user\" is f32[256, 16], a state f32[256, 16], a state i32[256], a push f32[256, 16], expected "
     "f32[1000], a state f32[1000], a state i32[], a push f32[1000] as block \"fc_b\", which plan 0 updates, "
     "too"},
    {[](ManifestT &m) { user(m).type = plan::ElementType::i32; },
     "table \"user\" has element type i32, expected floats"},
    {[](ManifestT &m) { user(m).type = plan::ElementType(99); },
     "table \"user\" has element type 99, expected floats"},
    {[](ManifestT &m) { user(m).dim = 0; },
     "table \"user\" has rows of 0 elements, expected at least 1, and at most 16777216 bytes"},
    {[](ManifestT &m) { user(m).dim = uint64_t(1) << 62; },
     "table \"user\" has rows of 4611686018427387904 elements, expected at least 1, and at most 16777216 "
     "bytes"},
    {[](ManifestT &m) { user(m).slots[1]->name = "moment"; },
     "slot \"moment\" of table \"user\" is named twice or not at all"},
    {[](ManifestT &m) { user(m).slots[0]->shape = {-3}; },
     "slot \"moment\" of table \"user\" has shape [-3], expected extents from 0 on and at most "
     "281474976710656 bytes"},
    {[](ManifestT &m) { user(m).slots[0]->first.pop_back(); },
     "slot \"moment\" of table \"user\" has a first value of 63 bytes, expected 64, and at most 16777216"},
    {[](ManifestT &m) { m.plans[3]->arguments.pop_back(); },
     "plan 3 has 0 arguments that are gradient 0, expected 1"},
    {[](ManifestT &m) { m.version = 9; }, "version is 9, expected 4"},
    {[](ManifestT &m) { m.mode = manifest::Mode(9); }, "mode is 9, which does not exist"},
    {[](ManifestT &m) { m.on_lost = manifest::OnLost(-1); }, "on_lost is -1, which does not exist"},
    {[](ManifestT &m) { m.servers = 5000; }, "there are 5000 servers, expected from 1 to 4096"},
    {[](ManifestT &m) { w(m).name = "fc_b"; }, "parameter \"fc_b\" is named twice or not at all"},
    {[](ManifestT &m) { w(m).type = plan::ElementType(99); },
     "parameter \"fc_w\" has element type 99, which does not exist"},
    {[](ManifestT &m) { w(m).shape = {-1, 3}; },
     "parameter \"fc_w\" has shape [-1, 3], expected extents from 0 on and at most 281474976710656 bytes"},
    {[](ManifestT &m) { w(m).shape = {0, int64_t(1) << 50, int64_t(1) << 50}; },
     "parameter \"fc_w\" has shape [0, 1125899906842624, 1125899906842624], expected extents from 0 on and "
     "at most "
     "281474976710656 bytes"},
    {[](ManifestT &m) { w(m).states[1]->name = "fc_w.moment"; },
     "state \"fc_w.moment\" of parameter \"fc_w\" is named twice or not at all"},
    {[](ManifestT &m) { w(m).states[0]->name = "fc_b.moment"; },
     "state \"fc_b.moment\" of parameter \"fc_w\" is a state of another parameter, too, expected this only "
     "of states "
     "that are not sliced"},
    {[](ManifestT &m) { w(m).states[0]->shape = {999, 1000}; },
     "state \"fc_w.moment\" of parameter \"fc_w\" is sliced and has shape [999, 1000], expected as many rows "
     "as the "
     "parameter of shape [1000, 1000]"},
    {[](ManifestT &m) { w(m).pushes.clear(); }, "parameter \"fc_w\" has no push"},
    {[](ManifestT &m) { w(m).pushes[0]->type = plan::ElementType(99); },
     "push 0 of parameter \"fc_w\" has element type 99, which does not exist"},
    {[](ManifestT &m) { w(m).pushes[0]->shape = {999, 1000}; },
     "push 0 of parameter \"fc_w\" is sliced and has shape [999, 1000], expected as many rows as the "
     "parameter of shape [1000, 1000]"},
    {[](ManifestT &m) {
       addNumber(m);
       for (size_t i : {0, 1})
         w(m).pushes[i]->sliced = false, w(m).pushes[i]->shape = {int64_t(1) << 46};
     },
     "parameter \"fc_w\" has pushes of 562949953421312 bytes up to number 1, expected at most "
     "281474976710656"},
    {[](ManifestT &m) { w(m).blocks.clear(); }, "parameter \"fc_w\" has no block"},
    {[](ManifestT &m) { w(m).blocks[1]->name = "fc_w.block7"; },
     "block \"fc_w.block7\" of parameter \"fc_w\" is block 1 of 2, expected the name \"fc_w.block1\" and "
     "that no "
     "other block has it"},
    {[](ManifestT &m) { w(m).blocks[1]->server = 2; },
     "block \"fc_w.block1\" of parameter \"fc_w\" is on server 2, expected one below 2"},
    {[](ManifestT &m) { w(m).blocks[1]->begin = 499000; },
     "block \"fc_w.block1\" of parameter \"fc_w\" has 500000 elements from 499000 on, expected some from "
     "500000 on, "
     "up to 1000000 at most"},
    {[](ManifestT &m) { w(m).blocks[1]->size = 500001; },
     "block \"fc_w.block1\" of parameter \"fc_w\" has 500001 elements from 500000 on, expected some from "
     "500000 on, "
     "up to 1000000 at most"},
    {[](ManifestT &m) { w(m).blocks[0]->size = 0; },
     "block \"fc_w.block0\" of parameter \"fc_w\" has 0 elements from 0 on, expected some from 0 on, up to "
     "1000000 "
     "at most"},
    {[](ManifestT &m) { w(m).blocks[1]->size = 499500; },
     "block \"fc_w.block1\" of parameter \"fc_w\" has 499500 elements, expected a multiple of 1000, which a "
     "row has"},
    {[](ManifestT &m) { w(m).blocks[1]->size = 499000, w(m).blocks[1]->shape[0] = 499; },
     "parameter \"fc_w\" has blocks up to element 999000, expected up to 1000000"},
    {[](ManifestT &m) { w(m).blocks[1]->shape = {1000, 500}; },
     "block \"fc_w.block1\" of parameter \"fc_w\" has shape [1000, 500], expected [500, 1000]"},
    {[](ManifestT &m) { w(m).blocks[1]->plan = 4; },
     "block \"fc_w.block1\" is updated by plan 4, expected one below 4"},
    {[](ManifestT &m) { w(m).blocks[1]->plan = 0; },
     "block \"fc_w.block1\" is f32[500, 1000], a state f32[500, 1000], a state i32[], a push f32[500, 1000], "
     "expected f32[1000], a state f32[1000], a state i32[], a push f32[1000] as block \"fc_b\", which plan 0 "
     "updates, too"},
    {[](ManifestT &m) { m.plans.push_back(std::make_unique<manifest::ApplyPlanT>()); },
     "plan 4 updates nothing"},
    {[](ManifestT &m) { m.plans[0]->arguments.pop_back(); },
     "plan 0 has 0 arguments that are gradient 0, expected 1"},
    {[](ManifestT &m) { m.plans[0]->arguments[1] = m.plans[0]->arguments[2]; },
     "plan 0 has 0 arguments that are state 0, expected 1"},
    {[](ManifestT &m) { m.plans[0]->arguments.emplace_back(manifest::ArgumentRole::state, 2); },
     "plan 0 has an argument that is state 2, which block \"fc_b\" has not"},
    {[](ManifestT &m) { m.plans[0]->arguments.emplace_back(manifest::ArgumentRole::gradient, 1); },
     "plan 0 has an argument that is gradient 1, which block \"fc_b\" has not"},
    {[](ManifestT &m) { m.mode = manifest::Mode::dc_asgd; },
     "plan 1 has 0 arguments that are backup, expected 1"},
    {[](ManifestT &m) { m.plans[0]->arguments.emplace_back(manifest::ArgumentRole(9), -1); },
     "plan 0 has an argument that is role 9, which block \"fc_b\" has not"},
};

TEST(Manifest, IsFoundAtFault) {
  for (const Fault &fault : faults) {
    ManifestT manifest = makeFc();
    addTable(manifest, "user", 16);
    fault.change(manifest);
    EXPECT_THAT(faultsOf(manifest), testing::Contains(fault.message));
  }
}

} // namespace
} // namespace epl::runtime::servers::test
