// Whole jobs in this process: servers and workers, over streams within it, beside plain loops.

#include "runtime/Error.h"
#include "test/unit/servers/Descent.h"
#include "test/unit/servers/drive/Cluster.h"
#include "test/unit/session/Tensors.h"

#include <gmock/gmock.h>

#include <future>

namespace epl::runtime::servers::test {
namespace {

using manifest::Mode;
using runtime::test::elements;
using testing::HasSubstr;
using testing::ThrowsMessage;

struct Cluster : JobCluster {
  explicit Cluster(const Descent &descent)
      : JobCluster(
            *descentManifest(descent), [descent](uint32_t plan) { return planOf(descent, plan); },
            [descent](uint32_t, int32_t state) {
              return state < 0 ? floats(std::vector<float>(size_t(descent.size), 100))
                               : runtime::test::integers({0});
            }),
        descent(descent) {}

  static std::vector<uint8_t> planOf(const Descent &descent, uint32_t plan) {
    int64_t size = plan == 0 ? descent.blockSize : descent.size % descent.blockSize;
    return descentPlan(size, descent.mode == Mode::dc_asgd, descent.rate);
  }

  const Descent descent;
};

/// What a worker makes of the parameter: exact in f32, and its averages too.
std::vector<float> gradientOf(const std::vector<float> &w, uint32_t worker, uint64_t step) {
  std::vector<float> gradient(w.size());
  for (size_t i = 0; i < w.size(); ++i)
    gradient[i] = float(8 * ((i + worker + step) % 4)) + (w[i] > 0 ? 8.0F : -8.0F);
  return gradient;
}

/// What a worker pushes beside the gradient, in the place of 1/2: exact in f32, and its averages too.
float rateOf(uint32_t worker, uint64_t step) { return float((worker + step) % 4) / 4; }

/// What a worker pushes in a step.
std::vector<std::vector<HostTensor>> pushesOf(const Descent &descent, const std::vector<float> &w,
                                              uint32_t worker, uint64_t step) {
  std::vector<HostTensor> pushes = {floats(gradientOf(w, worker, step))};
  if (descent.rate)
    pushes.push_back(floats({rateOf(worker, step)}));
  return {pushes};
}

/// The parameter after so many steps of all workers.
std::vector<float> expectedAfter(const Descent &descent, uint64_t steps) {
  std::vector<float> w(size_t(descent.size), 100);
  for (uint64_t step = 0; step < steps; ++step) {
    std::vector<float> sum(w.size());
    float rate = 0;
    for (uint32_t worker = 0; worker < descent.workers; ++worker) {
      rate += descent.rate ? rateOf(worker, step) : 0.5F;
      std::vector<float> gradient = gradientOf(w, worker, step);
      for (size_t i = 0; i < w.size(); ++i)
        sum[i] += gradient[i];
    }
    for (size_t i = 0; i < w.size(); ++i)
      w[i] -= sum[i] * (1.0F / float(descent.workers)) * (rate / float(descent.workers));
  }
  return w;
}

/// Trains as a worker; the last value that it has pulled.
std::vector<float> train(Cluster &cluster, uint32_t number, uint64_t steps) {
  std::unique_ptr<Worker> worker = cluster.worker(number);
  uint64_t first = worker->begin();
  for (uint64_t step = first; step < first + steps; ++step) {
    std::vector<float> w = elements<float>(worker->pull(step).front());
    worker->push(step, pushesOf(cluster.descent, w, number, step));
  }
  std::vector<float> last = elements<float>(worker->pull(first + steps).front());
  if (number == 0) {
    EXPECT_EQ(elements<int64_t>(worker->fetch(first + steps, {{0, 0}}).front()),
              std::vector<int64_t>{int64_t(steps)});
  }
  worker->finish(first + steps);
  return last;
}

TEST(Job, OfSyncIsThatOfOneWorkerOnTheJoinedBatch) {
  for (uint32_t servers : {1, 2, 3})
    for (uint32_t workers : {1, 2, 4})
      for (int64_t blockSize : {3, 7}) {
        Descent descent{7, blockSize, servers, workers, Mode::sync};
        Cluster cluster(descent);
        std::vector<std::future<std::vector<float>>> runs;
        for (uint32_t worker = 0; worker < workers; ++worker)
          runs.push_back(std::async(std::launch::async, train, std::ref(cluster), worker, 20));
        for (auto &run : runs)
          EXPECT_EQ(run.get(), expectedAfter(descent, 20)) << servers << ' ' << workers << ' ' << blockSize;
        cluster.wait();
      }
}

TEST(Job, PushesValuesBesideGradients) {
  for (Mode mode : {Mode::sync, Mode::half_async})
    for (uint32_t workers : {1, 2, 4}) {
      if (mode != Mode::sync && workers > 1)
        continue; // whose order is not known
      Descent descent{40, 17, 2, workers, mode, /*rate=*/true};
      Cluster cluster(descent);
      std::vector<std::future<std::vector<float>>> runs;
      for (uint32_t worker = 0; worker < workers; ++worker)
        runs.push_back(std::async(std::launch::async, train, std::ref(cluster), worker, 8));
      for (auto &run : runs)
        EXPECT_EQ(run.get(), expectedAfter(descent, 8)) << int(mode) << ' ' << workers;
      cluster.wait();
    }
}

TEST(Job, OfLargeBlocksGoesInPieces) {
  Descent descent{(1 << 20) + 5, 1 << 20, 2, 2, Mode::sync};
  Cluster cluster(descent);
  auto other = std::async(std::launch::async, train, std::ref(cluster), 1, 3);
  EXPECT_EQ(train(cluster, 0, 3), expectedAfter(descent, 3));
  EXPECT_EQ(other.get(), expectedAfter(descent, 3));
  cluster.wait();
}

TEST(Job, OfOneWorkerIsTheSameInAllModesThatWaitForIt) {
  Descent descent{7, 3, 2, 1, Mode::half_async};
  Cluster cluster(descent);
  EXPECT_EQ(train(cluster, 0, 20), expectedAfter(descent, 20));
  cluster.wait();
}

TEST(Job, EndsWithTheErrorOfAWorker) {
  Cluster cluster({7, 3, 2, 2, Mode::sync});
  auto other = std::async(std::launch::async, train, std::ref(cluster), 1, 1000000);
  std::unique_ptr<Worker> worker = cluster.worker(0);
  uint64_t first = worker->begin();
  worker->pull(first);
  worker->fail("the batch is empty");
  EXPECT_THAT([&] { other.get(); }, ThrowsMessage<Error>(HasSubstr("the batch is empty")));
  EXPECT_THAT([&] { cluster.wait(); }, ThrowsMessage<Error>(HasSubstr("the batch is empty")));
}

TEST(Job, IsNotAwaitedByAWorkerThatKnowsThatThereIsNone) {
  Cluster cluster({7, 3, 2, 2, Mode::sync});
  std::unique_ptr<Worker> worker = cluster.worker(1);
  EXPECT_THAT([&] { worker->begin([] { throw Error("server 1 has been silent for 3 s"); }); },
              ThrowsMessage<Error>(HasSubstr("server 1 has been silent")));
}

TEST(Job, TellsAWorkerThatComesTooLate) {
  Cluster cluster({7, 3, 2, 2, Mode::sync});
  std::unique_ptr<Worker> worker = cluster.worker(0);
  worker->begin();
  worker->fail("the batch is empty");
  EXPECT_THAT([&] { cluster.wait(); }, ThrowsMessage<Error>(HasSubstr("the batch is empty")));
  EXPECT_THAT([&] { train(cluster, 1, 1); }, ThrowsMessage<Error>(HasSubstr("the batch is empty")));
}

} // namespace
} // namespace epl::runtime::servers::test
