// Whole jobs with a table in this process, over streams within it, beside plain loops.

#include "runtime/Error.h"
#include "test/unit/servers/RowDescent.h"
#include "test/unit/servers/drive/Cluster.h"
#include "test/unit/session/Tensors.h"

#include <filesystem>
#include <future>
#include <gmock/gmock.h>

namespace epl::runtime::servers::test {
namespace {

using manifest::Mode;
using runtime::test::elements;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Ids = std::vector<int64_t>;
using Rows = std::map<int64_t, std::vector<float>>;

struct TableCluster : JobCluster {
  explicit TableCluster(const RowDescent &descent)
      : JobCluster(
            *rowDescentManifest(descent), [dim = descent.dim](uint32_t) { return rowDescentPlan(dim); },
            [](uint32_t, int32_t) -> HostTensor { throw Error("there are no parameters"); }),
        descent(descent) {}

  const RowDescent descent;
};

/// The ids that a worker looks up in a step: some of all workers, some of its own, some twice, and padding.
Ids idsOf(uint32_t worker, uint64_t step) {
  return {4, 1, -1, int64_t(10 + worker), 4, int64_t(step % 3), (int64_t(1) << 50) + int64_t(worker % 2)};
}

/// What a worker pushes for an occurrence: exact in f32, and its averages too.
std::vector<float> gradientOf(const float *row, int64_t dim, uint32_t worker, size_t occurrence) {
  std::vector<float> gradient;
  for (int64_t i = 0; i < dim; ++i)
    gradient.push_back(float(8 * ((size_t(i) + occurrence + worker) % 4)) + (row[i] > 0 ? 8.0F : -8.0F));
  return gradient;
}

/// The gradients of a lookup whose rows have come.
HostTensor gradientsOf(const std::vector<float> &rows, int64_t dim, uint32_t worker) {
  std::vector<float> result;
  for (size_t i = 0; i < rows.size() / size_t(dim); ++i)
    std::ranges::copy(gradientOf(rows.data() + i * size_t(dim), dim, worker, i), std::back_inserter(result));
  return runtime::test::tensor(plan::ElementType::f32, {int64_t(rows.size()) / dim, dim}, result);
}

/// What a lookup of the rows gives.
std::vector<float> lookUp(const Rows &rows, const Ids &ids, int64_t dim) {
  std::vector<float> result;
  for (int64_t id : ids) {
    auto found = rows.find(id);
    std::vector<float> row(size_t(dim), id < 0 ? 0.0F : 100.0F);
    std::ranges::copy(found == rows.end() ? row : found->second, std::back_inserter(result));
  }
  return result;
}

/// All rows after so many steps of all workers.
Rows expectedAfter(const RowDescent &descent, uint64_t steps) {
  Rows rows;
  for (uint64_t step = 0; step < steps; ++step) {
    Rows sums;
    for (uint32_t worker = 0; worker < descent.workers; ++worker) {
      Ids ids = idsOf(worker, step);
      std::vector<float> values = lookUp(rows, ids, descent.dim);
      for (size_t i = 0; i < ids.size(); ++i) {
        std::vector<float> &sum = sums[ids[i]];
        sum.resize(size_t(descent.dim));
        auto gradient = gradientOf(values.data() + i * sum.size(), descent.dim, worker, i);
        for (size_t element = 0; element < sum.size(); ++element)
          sum[element] += gradient[element];
      }
    }
    sums.erase(-1);
    for (const auto &[id, sum] : sums) {
      auto &row = rows.try_emplace(id, sum.size(), 100.0F).first->second;
      for (size_t element = 0; element < sum.size(); ++element)
        row[element] -= sum[element] * (1.0F / float(descent.workers)) / 2;
    }
  }
  return rows;
}

void train(TableCluster &cluster, uint32_t number, uint64_t steps) {
  const int64_t dim = cluster.descent.dim;
  std::unique_ptr<Worker> worker = cluster.worker(number);
  uint64_t first = worker->begin();
  for (uint64_t step = first; step < first + steps; ++step) {
    // Two lookups of one table; their gradients are one push.
    Ids ids = idsOf(number, step), front(ids.begin(), ids.begin() + 3), back(ids.begin() + 3, ids.end());
    std::vector<HostTensor> rows =
        worker->pullRows(step, std::vector<Lookup>{{0, front, true, -1}, {0, back, true, -1}});
    ASSERT_EQ(rows.size(), 2u);
    std::vector<float> values = elements<float>(rows[0]);
    std::ranges::copy(elements<float>(rows[1]), std::back_inserter(values));
    if (cluster.descent.mode == Mode::sync)
      ASSERT_EQ(values, lookUp(expectedAfter(cluster.descent, step), ids, dim)) << "step " << step;
    HostTensor gradients = gradientsOf(values, dim, number);
    HostTensor behind{
        {plan::ElementType::f32, {4, dim}}, gradients.data + 3 * size_t(dim) * 4, gradients.owner};
    worker->pushRows(step, std::vector<RowGradients>{{0, {front, back}, {gradients, behind}, -1}});
  }
  Ids all = {4, 1, 0, 2, 10, 11, 12, 13, int64_t(1) << 50, 77};
  std::vector<HostTensor> rows = worker->pullRows(first + steps, std::vector<Lookup>{{0, all, false}});
  if (cluster.descent.mode == Mode::sync)
    EXPECT_EQ(elements<float>(rows[0]), lookUp(expectedAfter(cluster.descent, steps), all, dim));
  worker->finish(first + steps);
}

TEST(TableJob, OfSyncIsThatOfOneWorkerOnTheJoinedBatch) {
  for (uint32_t servers : {1, 2, 3})
    for (uint32_t workers : {1, 2, 4}) {
      TableCluster cluster({.dim = 4, .servers = servers, .workers = workers});
      std::vector<std::future<void>> runs;
      for (uint32_t worker = 0; worker < workers; ++worker)
        runs.push_back(std::async(std::launch::async, train, std::ref(cluster), worker, 12));
      for (auto &run : runs)
        run.get();
      cluster.wait();
    }
}

TEST(TableJob, OfOneWorkerIsTheSameWhereItIsWaitedFor) {
  TableCluster cluster({.dim = 3, .servers = 2, .workers = 1, .mode = Mode::half_async});
  std::unique_ptr<Worker> worker = cluster.worker(0);
  uint64_t step = worker->begin();
  Ids ids = {4, 4, 9};
  for (int i = 0; i < 5; ++i, ++step) {
    std::vector<HostTensor> rows = worker->pullRows(step, std::vector<Lookup>{{0, ids}});
    EXPECT_EQ(elements<float>(rows[0])[0], float(100 - 2 * i));
    std::vector<float> ones(9, 2);
    worker->pushRows(step, std::vector<RowGradients>{
                               {0, {ids}, {runtime::test::tensor(plan::ElementType::f32, {3, 3}, ones)}}});
  }
  worker->pushRows(step++, {}); // no row of the table
  std::vector<HostTensor> rows = worker->pullRows(step, std::vector<Lookup>{{0, ids}});
  EXPECT_EQ(elements<float>(rows[0]), (std::vector<float>{90, 90, 90, 90, 90, 90, 95, 95, 95}));
  worker->finish(step);
  cluster.wait();
}

TEST(TableJob, AnInterruptedWaitForRowsHarmsNone) {
  TableCluster cluster({.dim = 2, .servers = 2, .workers = 2});
  bool interrupts = false;
  auto interrupt = [&] {
    if (std::exchange(interrupts, false))
      throw std::runtime_error("interrupted");
  };
  std::unique_ptr<Worker> worker = cluster.worker(0, cluster.transport, interrupt);
  std::unique_ptr<Worker> other = cluster.worker(1);
  uint64_t step = worker->begin();
  EXPECT_EQ(other->begin(), step);
  Ids ids = {3, 4, 4, 8}, few = {4, 5};
  auto push = [&ids](Worker &own, uint64_t step) {
    own.pullRows(step, std::vector<Lookup>{{0, ids}});
    std::vector<float> twos(ids.size() * 2, 2);
    own.pushRows(step, std::vector<RowGradients>{
                           {0, {ids}, {runtime::test::tensor(plan::ElementType::f32, {4, 2}, twos)}}});
  };
  push(*worker, step++); // the other one has not come to the next step
  interrupts = true;
  EXPECT_THAT([&] { worker->pullRows(step, std::vector<Lookup>{{0, ids}}); },
              ThrowsMessage<std::runtime_error>("interrupted"));
  auto pushed = std::async(std::launch::async, push, std::ref(*other), step - 1);
  std::vector<HostTensor> rows = worker->pullRows(step, std::vector<Lookup>{{0, few}});
  EXPECT_EQ(elements<float>(rows[0]), (std::vector<float>{98, 98, 100, 100}));
  pushed.get();
}

/// Rows of 44 bytes, so that frames begin and end within rows.
TEST(TableJob, HasBatchesOfManyFrames) {
  constexpr int64_t kDim = 11, kIds = 70000;
  constexpr size_t kBatch = 80000;
  TableCluster cluster({.dim = kDim, .servers = 2, .workers = 1, .mode = Mode::half_async});
  std::unique_ptr<Worker> worker = cluster.worker(0);
  uint64_t step = worker->begin();
  Ids ids(kBatch);
  std::vector<float> gradients, expected;
  std::vector<int64_t> count(kIds); // of each id in the batch
  for (size_t i = 0; i < kBatch; ++i) {
    ids[i] = int64_t(i) * 7919 % kIds;
    ++count[size_t(ids[i])];
    for (int64_t j = 0; j < kDim; ++j)
      gradients.push_back(float((ids[i] + j) % 8));
  }
  HostTensor pushed = runtime::test::tensor(plan::ElementType::f32, {int64_t(kBatch), kDim}, gradients);
  HostTensor first;
  for (int round = 0; round < 3; ++round, ++step) {
    expected.clear();
    for (int64_t id : ids)
      for (int64_t j = 0; j < kDim; ++j)
        expected.push_back(100 - float(round * count[size_t(id)] * ((id + j) % 8)) / 2);
    std::vector<HostTensor> rows = worker->pullRows(step, std::vector<Lookup>{{0, ids}});
    ASSERT_EQ(elements<float>(rows[0]), expected) << "round " << round;
    first = round == 0 ? rows[0] : first;
    worker->pushRows(step, std::vector<RowGradients>{{0, {ids}, {pushed}}});
  }
  EXPECT_EQ(elements<float>(first), std::vector<float>(expected.size(), 100)) << "they stay as they came";
  worker->finish(step);
  cluster.wait();
}

TEST(TableJob, OfWorkersThatNobodyWaitsForComesToItsEnd) {
  TableCluster cluster({.dim = 2, .servers = 2, .workers = 3, .mode = Mode::async});
  std::vector<std::future<void>> runs;
  for (uint32_t worker = 0; worker < 3; ++worker)
    runs.push_back(std::async(std::launch::async, train, std::ref(cluster), worker, 30));
  for (auto &run : runs)
    run.get();
  cluster.wait();
}

TEST(TableJob, OfManyRowsGoesInPieces) {
  TableCluster cluster({.dim = 2, .servers = 2, .workers = 1});
  std::unique_ptr<Worker> worker = cluster.worker(0);
  uint64_t step = worker->begin();
  Ids ids(700'000);
  for (size_t i = 0; i < ids.size(); ++i)
    ids[i] = int64_t(ids.size() - i) * 7;
  std::vector<float> gradient(2 * ids.size());
  for (size_t i = 0; i < gradient.size(); ++i)
    gradient[i] = float(2 * (i % 1000));
  std::vector<HostTensor> rows = worker->pullRows(step, std::vector<Lookup>{{0, ids}});
  EXPECT_EQ(elements<float>(rows[0]), std::vector<float>(gradient.size(), 100));
  worker->pushRows(
      step,
      std::vector<RowGradients>{
          {0, {ids}, {runtime::test::tensor(plan::ElementType::f32, {int64_t(ids.size()), 2}, gradient)}}});
  rows = worker->pullRows(++step, std::vector<Lookup>{{0, ids}});
  std::vector<float> expected(gradient.size());
  for (size_t i = 0; i < gradient.size(); ++i)
    expected[i] = 100 - float(i % 1000);
  EXPECT_EQ(elements<float>(rows[0]), expected);
  worker->finish(step);
  cluster.wait();
}

TEST(TableJob, IsSavedByItsServersAndLoadedByOthers) {
  std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "saved_by_three";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder / "changed");
  Ids ids = {1, 2, 3, 4, 5, 6, 7};
  std::vector<float> saved;
  for (uint32_t servers : {3, 2}) {
    TableCluster cluster({.dim = 2, .servers = servers});
    std::unique_ptr<Worker> worker = cluster.worker(0);
    uint64_t step = worker->begin();
    if (servers == 3) {
      HostTensor gradients = gradientsOf(std::vector<float>(2 * ids.size(), 100), 2, 0);
      worker->pushRows(step++, std::vector<RowGradients>{{0, {ids}, {gradients}}});
      EXPECT_EQ(worker->runTask(step, 0, {frames::TableTask::save, folder}), 7u);
      saved = elements<float>(worker->pullRows(step, std::vector<Lookup>{{0, ids}})[0]);
      EXPECT_EQ(worker->runTask(step, 0, {frames::TableTask::evict, {}, 0}), 7u);
    } else {
      EXPECT_EQ(worker->runTask(step, 0, {frames::TableTask::load, folder}), 7u);
    }
    std::vector<float> found = elements<float>(worker->pullRows(step, std::vector<Lookup>{{0, ids}})[0]);
    EXPECT_EQ(found, servers == 3 ? std::vector<float>(14, 100) : saved);
    EXPECT_THAT([&] { worker->runTask(step, 0, {frames::TableTask::load, folder / "none"}); },
                ThrowsMessage<Error>(AllOf(HasSubstr("server "), HasSubstr("has no rows of table"))));
    EXPECT_EQ(worker->runTask(step, 0, {frames::TableTask::export_changed, folder / "changed"}), 7u)
        << "the job goes on";
    worker->pushRows(step, {});
    worker->finish(step + 1);
    cluster.wait();
  }
}

TEST(TableJob, RefusesWhatIsNoLookup) {
  TableCluster cluster({.dim = 2});
  std::unique_ptr<Worker> worker = cluster.worker(0);
  uint64_t step = worker->begin();
  Ids ids = {4, -7};
  auto pull = [&](const std::vector<Lookup> &lookups) { return worker->pullRows(step, lookups); };
  EXPECT_THAT([&] { pull({{0, ids}}); },
              ThrowsMessage<Error>("table \"user\": id -7 at position 1 of lookup 0 is below 0"));
  EXPECT_THAT([&] { pull({{3, ids}}); }, ThrowsMessage<Error>("there is no table 3, expected one below 1"));
  EXPECT_THAT([&] { pull({{0, ids, true, -7}, {0, ids, true, -1}}); },
              ThrowsMessage<Error>(HasSubstr("table \"user\" in one step have different paddings")));
  std::vector<RowGradients> twice = {{0, {}, {}}, {0, {}, {}}};
  EXPECT_THAT([&] { worker->pushRows(step, twice); },
              ThrowsMessage<Error>("gradients of table \"user\" are pushed twice in one step"));
  worker->pushRows(step, {});
  worker->finish(step + 1);
  cluster.wait();
}

} // namespace
} // namespace epl::runtime::servers::test
