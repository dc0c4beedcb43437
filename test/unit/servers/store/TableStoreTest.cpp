// A server's part of a table, updated by a hand-written plan beside a plain loop.

#include "runtime/servers/store/BlockStore.h"

#include "runtime/Error.h"
#include "runtime/servers/store/AskedRows.h"
#include "runtime/servers/store/LaneIds.h"
#include "runtime/servers/store/Occurrences.h"
#include "test/unit/servers/RowDescent.h"
#include "test/unit/session/Tensors.h"

#include <atomic>
#include <cstring>
#include <future>
#include <gmock/gmock.h>
#include <map>
#include <numeric>

namespace epl::runtime::servers::test {
namespace {

using runtime::test::elements;
using testing::HasSubstr;
using Rows = std::map<int64_t, std::vector<float>>;

/// A server with a table whose rows begin with 100.
struct Fixture {
  explicit Fixture(uint32_t threads, uint32_t servers = 1)
      : manifest(rowDescentManifest({.dim = kDim, .servers = servers})), blocks(*manifest),
        plans(*manifest, 0) {
    plans.set(0, rowDescentPlan(kDim));
    store = std::make_unique<BlockStore>(manifest, 0, plans, threads);
  }

  /// Updates and waits; why it failed. `asked`: of the first push.
  std::string update(const std::vector<Rows> &pushes, double factor = 1,
                     std::shared_ptr<AskedRows> asked = nullptr) {
    std::vector<TableStore::Push> given;
    for (const Rows &push : pushes) {
      HostTensor memory = rowsPush(push, kDim);
      given.push_back({memory, memory.type.bytes(), std::exchange(asked, nullptr)});
    }
    std::promise<std::string> done;
    store->tables().update(blocks.partOf(0, 0), given, factor,
                           [&](const std::string &error) { done.set_value(error); });
    return done.get_future().get();
  }

  std::vector<float> gather(const std::vector<int64_t> &ids, bool create = true) {
    std::promise<std::vector<float>> done;
    // What is there is taken at once: it stays.
    std::vector<float> found;
    asked = store->tables().gather(
        blocks.partOf(0, 0), std::make_shared<const std::vector<int64_t>>(ids), create,
        [&](const std::string &error, const HostTensor &rows, uint64_t bytes) {
          EXPECT_EQ(error, "");
          EXPECT_GE(bytes, found.size() * sizeof(float));
          auto *values = reinterpret_cast<const float *>(rows.data);
          found.insert(found.end(), values + found.size(), values + bytes / sizeof(float));
          ++calls;
          if (bytes == rows.type.bytes())
            done.set_value(found);
        });
    return done.get_future().get();
  }

  uint64_t rows() const { return store->tables().rows(blocks.partOf(0, 0)); }

  static constexpr int64_t kDim = 4;
  std::atomic<int> calls = 0;       // of who gathers
  std::shared_ptr<AskedRows> asked; // last
  std::shared_ptr<manifest::ManifestT> manifest;
  BlockTable blocks;
  ApplyPlans plans;
  std::unique_ptr<BlockStore> store;
};

std::vector<float> gradientOf(int64_t id, int worker) {
  std::vector<float> gradient;
  for (int64_t i = 0; i < Fixture::kDim; ++i)
    gradient.push_back(float(8 * ((id + i + worker) % 16)));
  return gradient;
}

TEST(TableStore, UpdatesRowsOfSeveralWorkers) {
  for (uint32_t threads : {1, 3}) {
    Fixture fixture(threads);
    Rows expected;
    for (int step = 0; step < 3; ++step) {
      std::vector<Rows> pushes(3);
      for (int worker = 0; worker < 3; ++worker)
        for (int64_t id = worker * 100; id < 700; id += worker + 1) // more than two calls of the plan
          pushes[size_t(worker)][id * id * id] = gradientOf(id, worker);
      Rows sums;
      for (const Rows &push : pushes)
        for (const auto &[id, gradient] : push) {
          std::vector<float> &sum = sums[id];
          sum.resize(Fixture::kDim);
          for (size_t i = 0; i < sum.size(); ++i)
            sum[i] += gradient[i];
        }
      for (const auto &[id, sum] : sums) {
        std::vector<float> &row = expected.try_emplace(id, Fixture::kDim, 100.0F).first->second;
        for (size_t i = 0; i < row.size(); ++i)
          row[i] -= sum[i] / 4 / 2;
      }
      EXPECT_EQ(fixture.update(pushes, 0.25), "");
    }
    EXPECT_EQ(fixture.rows(), expected.size());
    std::vector<int64_t> ids;
    std::vector<float> values;
    for (const auto &[id, row] : expected) {
      ids.insert(ids.begin(), id);
      values.insert(values.begin(), row.begin(), row.end());
    }
    EXPECT_EQ(fixture.gather(ids), values);
  }
}

/// Chunk after chunk, each of which is dealt out to the lanes: rows that are there, and new ones.
TEST(TableStore, GathersManyRowsInParts) {
  constexpr int64_t kCount = 50000; // more than three chunks
  for (uint32_t threads : {1, 3}) {
    Fixture fixture(threads);
    Rows push;
    for (int64_t id = 0; id < kCount; id += 2)
      push[id] = std::vector<float>(4, float(id % 64));
    EXPECT_EQ(fixture.update({push}), "");
    std::vector<int64_t> ids;
    std::vector<float> values;
    for (int64_t i = 0; i < kCount; ++i) {
      int64_t id = i * 7919 % kCount;
      ids.push_back(id);
      values.insert(values.end(), 4, id % 2 ? 100 : 100 - float(id % 64) / 2);
    }
    EXPECT_EQ(fixture.gather(ids), values);
    EXPECT_EQ(fixture.calls.load(), 4);
    EXPECT_EQ(fixture.rows(), uint64_t(kCount));
  }
}

TEST(LaneIds, DealOutEachIdOnce) {
  std::vector<int64_t> ids(1000);
  std::iota(ids.begin(), ids.end(), 0);
  size_t checked = 0;
  LaneIds dealt(ids, 3, 300, [&](size_t begin, size_t end) {
    EXPECT_EQ(begin, checked);
    checked = end;
  });
  EXPECT_EQ(dealt.numChunks(), 4u);
  std::vector<int> found(1000);
  for (uint32_t lane = 0; lane < 3; ++lane) {
    int64_t last = -1;
    for (LaneCursor own(dealt, lane); own.next(); last = int64_t(own.position)) {
      ++found[own.position];
      EXPECT_EQ(laneOf(ids[own.position], 3), lane);
      EXPECT_GT(int64_t(own.position), last);
    }
    EXPECT_GT(last, 900) << "no lane is idle";
  }
  EXPECT_EQ(found, std::vector<int>(1000, 1));
  EXPECT_EQ(checked, 1000u);
  LaneIds none({}, 3, 300, [](size_t, size_t) {});
  EXPECT_FALSE(LaneCursor(none, 0).next());
}

/// Waits for a task; how many rows it was done with, or why not.
std::string outcomeOf(const std::function<void(TableStore::Counted)> &task) {
  std::promise<std::string> done;
  task([&](const std::string &error, uint64_t rows) {
    done.set_value(error.empty() ? std::to_string(rows) : error);
  });
  return done.get_future().get();
}

/// Ids in ascending order.
std::vector<int64_t> idsOf(const Rows &rows) {
  std::vector<int64_t> ids;
  ids.reserve(rows.size());
  for (const auto &[id, row] : rows)
    ids.push_back(id);
  return ids;
}

/// A push is the same with what its worker has asked for before as without it, whatever that was, and though
/// other rows may be where those were.
TEST(TableStore, UpdatesRowsWhereALookupHasFoundThem) {
  constexpr int64_t kCount = 20000; // more than a chunk
  for (uint32_t threads : {1, 3}) {
    Fixture with(threads), without(threads);
    uint32_t part = with.blocks.partOf(0, 0);
    Rows all, some, fresh;
    for (int64_t id = 0; id < kCount; ++id)
      all[id] = gradientOf(id, 0);
    for (int64_t id = 1; id < kCount; id += 3)
      some[id] = gradientOf(id, 1), fresh[id + kCount] = gradientOf(id, 2);
    auto step = [&](const std::vector<int64_t> &ids, bool create, const std::vector<Rows> &pushes) {
      EXPECT_EQ(with.gather(ids, create), without.gather(ids, create));
      EXPECT_EQ(with.update(pushes, 0.5, with.asked), "");
      EXPECT_EQ(without.update(pushes, 0.5), "");
    };
    step(idsOf(all), /*create=*/true, {all});
    EXPECT_TRUE(std::ranges::none_of(with.asked->found, [](auto row) { return row == TableRows::kNone; }));
    EXPECT_TRUE(with.asked->areAscending(idsOf(all)));
    EXPECT_FALSE(with.asked->areAscending(idsOf(some)));
    step(idsOf(all), true, {some});
    step(idsOf(some), true, {some, all});
    step(idsOf(fresh), /*create=*/false, {fresh});
    step({1, 0, 0}, true, {Rows{{1, gradientOf(1, 0)}}});
    EXPECT_FALSE(with.asked->areAscending(std::vector<int64_t>{1, 0, 0}));
    EXPECT_EQ(with.gather(idsOf(all)), without.gather(idsOf(all)));
    for (Fixture *each : {&with, &without}) {
      std::shared_ptr<AskedRows> before = each->asked;
      EXPECT_NE(outcomeOf([&](auto done) { each->store->tables().evict(part, 2, done); }), "0");
      each->gather(idsOf(fresh)); // in the places of others
      EXPECT_EQ(each->update({all}, 0.5, each == &with ? before : nullptr), "");
    }
    EXPECT_EQ(with.gather(idsOf(all), false), without.gather(idsOf(all), false));
    EXPECT_EQ(with.gather(idsOf(fresh), false), without.gather(idsOf(fresh), false));
  }
}

TEST(TableStore, MakesRowsOnlyWhereItShall) {
  Fixture fixture(2);
  EXPECT_EQ(fixture.gather({3, 9}, /*create=*/false), std::vector<float>(8, 100));
  EXPECT_EQ(fixture.rows(), 0u);
  EXPECT_EQ(fixture.gather({3, 9, 3}), std::vector<float>(12, 100));
  EXPECT_EQ(fixture.rows(), 2u);
  EXPECT_EQ(fixture.update({{}}), "");
  EXPECT_EQ(fixture.rows(), 2u);
  EXPECT_GE(fixture.store->tables().bytes(fixture.blocks.partOf(0, 0)), 2u * 24);
}

TEST(TableStore, DropsGradientsOfIdsThatAreNotAdmitted) {
  Fixture fixture(1);
  fixture.manifest->tables[0]->admit = 2;
  Rows push = {{5, std::vector<float>(4, 2)}};
  EXPECT_EQ(fixture.update({push}), "");
  EXPECT_EQ(fixture.gather({5}), std::vector<float>(4, 100));
  EXPECT_EQ(fixture.rows(), 0u);
  EXPECT_EQ(fixture.update({push}), "");
  EXPECT_EQ(fixture.gather({5}), std::vector<float>(4, 99));
}

TEST(TableStore, RefusesWhatIsNotItsOwn) {
  Fixture fixture(2, /*servers=*/2);
  EXPECT_THAT(fixture.update({{{3, std::vector<float>(4)}}}),
              HasSubstr("a push of table \"user\" at server 0 has id 3, which is at server 1"));
  HostTensor memory = rowsPush({{2, std::vector<float>(4)}, {4, std::vector<float>(4)}}, Fixture::kDim);
  std::memset(memory.data, 0, 16); // both ids are 0
  std::promise<std::string> done;
  fixture.store->tables().update(fixture.blocks.partOf(0, 0), {{memory, memory.type.bytes()}}, 1,
                                 [&](const std::string &error) { done.set_value(error); });
  EXPECT_THAT(done.get_future().get(), HasSubstr("has id 0 behind 0, expected ids from 0 on that ascend"));
  EXPECT_THROW(fixture.store->tables().rows(fixture.blocks.partOf(0, 1)), Error);
  std::promise<std::string> asked;
  fixture.store->tables().gather(
      fixture.blocks.partOf(0, 0), std::make_shared<const std::vector<int64_t>>(std::vector<int64_t>{2, 3}),
      true, [&](const std::string &error, const HostTensor &, uint64_t) { asked.set_value(error); });
  EXPECT_EQ(asked.get_future().get(), "server 0 is asked for id 3 of table \"user\", which it has not");
}

std::filesystem::path newFolder(const std::string &name) {
  std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

TEST(TableStore, IsLoadedByAnyNumberOfServersAndThreads) {
  std::filesystem::path folder = newFolder("saved_by_one");
  Fixture one(3);
  Rows push;
  for (int64_t id = 0; id < 100; ++id)
    push[id] = gradientOf(id, 0);
  EXPECT_EQ(one.update({push}), "");
  uint32_t part = one.blocks.partOf(0, 0);
  EXPECT_EQ(outcomeOf([&](auto done) { one.store->tables().save(part, folder, false, false, done); }), "100");
  Fixture other(2, /*servers=*/2);
  EXPECT_EQ(other.gather({2, 200}), std::vector<float>(8, 100));
  part = other.blocks.partOf(0, 0);
  EXPECT_EQ(outcomeOf([&](auto done) { other.store->tables().load(part, folder, Fields::all, done); }), "50");
  EXPECT_EQ(other.gather({2, 98, 200}, /*create=*/false), one.gather({2, 98, 200}, false));
  auto load = [&](const std::filesystem::path &place, Fields fields) {
    return outcomeOf([&](auto done) { other.store->tables().load(part, place, fields, done); });
  };
  EXPECT_THAT(load(folder / "none", Fields::all), HasSubstr("has no rows of table"));
  std::filesystem::path damaged = folder / "user.server0of1.lane2of3.safetensors";
  std::filesystem::resize_file(damaged, std::filesystem::file_size(damaged) - 1);
  EXPECT_THAT(load(folder, Fields::all), HasSubstr(damaged.string()));
  EXPECT_EQ(other.store->tables().rows(part), 50u) << "those that were there";
  EXPECT_EQ(load(folder / "user.server0of1.lane0of3.safetensors", Fields::values),
            std::to_string(other.store->tables().rows(part)));
  EXPECT_LT(other.store->tables().rows(part), 50u) << "those of one file";
}

TEST(TableStore, ExportsWhatHasChanged) {
  std::filesystem::path folder = newFolder("exported");
  Fixture fixture(2);
  uint32_t part = fixture.blocks.partOf(0, 0);
  auto save = [&](bool onlyChanged, bool isExport) {
    return outcomeOf(
        [&](auto done) { fixture.store->tables().save(part, folder, onlyChanged, isExport, done); });
  };
  Rows push = {{1, gradientOf(1, 0)}, {2, gradientOf(2, 0)}, {3, gradientOf(3, 0)}};
  EXPECT_EQ(fixture.update({push}), "");
  EXPECT_EQ(save(true, true), "3");
  EXPECT_EQ(save(true, true), "0");
  EXPECT_EQ(fixture.update({{{2, gradientOf(2, 0)}}}), "");
  EXPECT_EQ(save(false, false), "3") << "no export";
  EXPECT_EQ(save(true, true), "1");
  EXPECT_EQ(save(false, true), "3");
}

TEST(TableStore, DropsRowsThatAreSeenNoMore) {
  Fixture fixture(2);
  uint32_t part = fixture.blocks.partOf(0, 0);
  EXPECT_EQ(fixture.update({{{1, gradientOf(1, 0)}, {2, gradientOf(2, 0)}}}), "");
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(fixture.update({{{2, gradientOf(2, 0)}}}), "");
  std::vector<float> kept = fixture.gather({2});
  EXPECT_EQ(outcomeOf([&](auto done) { fixture.store->tables().evict(part, 4, done); }), "0");
  EXPECT_EQ(outcomeOf([&](auto done) { fixture.store->tables().evict(part, 3, done); }), "1");
  EXPECT_EQ(fixture.rows(), 1u);
  EXPECT_EQ(fixture.gather({2}), kept);
  EXPECT_EQ(fixture.gather({1}), std::vector<float>(4, 100));
}

TEST(ApplyPlans, FitTheirTables) {
  auto manifest = rowDescentManifest({.dim = 4});
  std::vector<uint8_t> plan = rowDescentPlan(5);
  Hash128 hash = hashBytes(plan);
  manifest->plans[0]->hash_low = hash.low, manifest->plans[0]->hash_high = hash.high;
  EXPECT_THAT([&] { ApplyPlans(*manifest, 0).set(0, plan); },
              testing::ThrowsMessage<Error>(HasSubstr(
                  "takes float32[256,5] for its argument \"w\", expected float32[256,4] of table \"user\"")));
}

TEST(Occurrences, AreAddedInTheirOrder) {
  std::vector<std::vector<int64_t>> ids = {{7, 2, -1}, {7, 7}};
  std::vector<std::vector<float>> gradients = {{1e8F, 1, 2, 3, 50, 60}, {3, 5, -1e8F, 7}};
  std::vector<std::span<const int64_t>> spans(ids.begin(), ids.end());
  IdsByServer split;
  IdSplitter().split(spans, 2, -1, "user", split);
  std::vector<const std::byte *> lookups;
  for (const auto &each : gradients)
    lookups.push_back(reinterpret_cast<const std::byte *>(each.data()));
  Occurrences occurrences(split, lookups, 8);
  std::vector<float> sums(4);
  occurrences.sum(plan::ElementType::f32, 0, 2, reinterpret_cast<std::byte *>(sums.data()));
  EXPECT_EQ(sums, (std::vector<float>{2, 3, (1e8F + 3) - 1e8F, 13})) << "id 2 is at server 0, 7 at server 1";
  occurrences.sum(plan::ElementType::f32, 1, 2, reinterpret_cast<std::byte *>(sums.data()));
  EXPECT_EQ(sums[1], 13);
}

} // namespace
} // namespace epl::runtime::servers::test
