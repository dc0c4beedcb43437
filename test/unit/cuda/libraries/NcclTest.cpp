//===- NcclTest.cpp - Calls of right callers ------------------------------===//

#include "test/cuda/libraries/nccl/Place.h"
#include "test/unit/cuda/libraries/NcclEverywhere.h"

#include <cmath>
#include <limits>

using namespace nccl_double;
using testing::ElementsAre;

namespace {

/// Different from its neighbors in all bytes that a type has.
template <typename T> T valueOf(int member, size_t index) {
  auto number = static_cast<uint64_t>(index * 0x9E3779B97F4A7C15u + size_t(member + 1) * 0xC2B2AE3D27D4EB4Fu);
  if constexpr (std::is_integral_v<T>)
    return T(number);
  else
    return T(int(number % 13) - 6); // sums are exact
}

template <typename T> std::vector<T> valuesOf(int member, size_t size) {
  std::vector<T> values(size);
  for (size_t i = 0; i < size; ++i)
    values[i] = valueOf<T>(member, i);
  return values;
}

/// Of integers that wrap.
template <typename T> T combine(Reduction reduction, T a, T b) {
  if (reduction == Reduction::max || reduction == Reduction::min)
    return (reduction == Reduction::max) == (a > b) ? a : b;
  if constexpr (std::is_integral_v<T>) {
    using Wrapping = std::make_unsigned_t<T>;
    uint64_t x = Wrapping(a), y = Wrapping(b);
    return T(reduction == Reduction::sum ? x + y : x * y);
  } else {
    return reduction == Reduction::sum ? a + b : a * b;
  }
}

template <typename T> T reduce(Reduction reduction, int members, size_t index) {
  T result = valueOf<T>(0, index);
  for (int member = 1; member < members; ++member)
    result = combine(reduction, result, valueOf<T>(member, index));
  return result;
}

template <typename T> constexpr DataType typeOf() {
  if constexpr (std::is_integral_v<T>) {
    constexpr bool isSigned = std::is_signed_v<T>;
    return sizeof(T) == 1   ? (isSigned ? DataType::i8 : DataType::u8)
           : sizeof(T) == 4 ? (isSigned ? DataType::i32 : DataType::u32)
                            : (isSigned ? DataType::i64 : DataType::u64);
  } else {
    return sizeof(T) == 2 ? DataType::f16 : sizeof(T) == 4 ? DataType::f32 : DataType::f64;
  }
}

constexpr size_t kSizes[] = {0, 1, 7, 1000};
constexpr Reduction kReductions[] = {Reduction::sum, Reduction::prod, Reduction::max, Reduction::min};

/// Addresses of each member, in the order of its calls.
template <typename T> using Addresses = std::array<std::vector<T *>, 4>;

template <typename T, typename Run> void allReduce(int count, Run run) {
  Addresses<T> to;
  run(
      [&](Member &member) {
        for (size_t size : kSizes)
          for (Reduction reduction : kReductions) {
            T *from = member.put(valuesOf<T>(member.number, size)), *result = member.allocate<T>(size);
            to[size_t(member.number)].push_back(result);
            EXPECT_EQ(ncclAllReduce(from, result, size, typeOf<T>(), reduction, member.comm, member.stream),
                      Status::success);
          }
      },
      [&](Member &member) {
        auto next = to[size_t(member.number)].begin();
        for (size_t size : kSizes)
          for (Reduction reduction : kReductions) {
            std::vector<T> found = member.get(*next++, size);
            for (size_t i = 0; i < size; ++i)
              ASSERT_EQ(found[i], reduce<T>(reduction, count, i)) << int(reduction) << " " << i;
          }
      });
}

} // namespace

INSTANTIATE_TEST_SUITE_P(Members, NcclTest,
                         testing::Combine(testing::Values(1, 2, 3), testing::ValuesIn(kWhere)));

class NcclRingTest : public NcclTest {};
INSTANTIATE_TEST_SUITE_P(Three, NcclRingTest,
                         testing::Combine(testing::Values(3), testing::ValuesIn(kWhere)));

TEST_P(NcclTest, ReducesForAll) {
  auto all = [&]<typename... T>(std::tuple<T...> *) {
    (allReduce<T>(count, [&](auto... steps) { run(steps...); }), ...);
  };
  all(static_cast<
      std::tuple<int8_t, uint8_t, int32_t, uint32_t, int64_t, uint64_t, _Float16, float, double> *>(nullptr));
}

TEST_P(NcclTest, ReducesForEachRoot) {
  std::array<std::vector<int32_t *>, 4> to;
  run(
      [&](Member &member) {
        for (int root = 0; root < count; ++root) {
          int32_t *from = member.put(valuesOf<int32_t>(member.number, 7));
          int32_t *result = member.number == root ? member.allocate<int32_t>(7) : nullptr;
          to[size_t(member.number)].push_back(result);
          EXPECT_EQ(
              ncclReduce(from, result, 7, DataType::i32, Reduction::sum, root, member.comm, member.stream),
              Status::success);
        }
      },
      [&](Member &member) {
        std::vector<int32_t> found = member.get(to[size_t(member.number)][size_t(member.number)], 7);
        for (size_t i = 0; i < 7; ++i)
          EXPECT_EQ(found[i], reduce<int32_t>(Reduction::sum, count, i));
      });
}

TEST_P(NcclTest, BroadcastsFromEachRoot) {
  std::array<std::vector<double *>, 4> to;
  run(
      [&](Member &member) {
        for (int root = 0; root < count; ++root) {
          // A member that is not the root has nothing to give.
          double *from = member.number == root ? member.put(valuesOf<double>(root, 5)) : nullptr;
          to[size_t(member.number)].push_back(member.allocate<double>(5));
          EXPECT_EQ(ncclBroadcast(from, to[size_t(member.number)].back(), 5, DataType::f64, root, member.comm,
                                  member.stream),
                    Status::success);
        }
      },
      [&](Member &member) {
        for (int root = 0; root < count; ++root)
          EXPECT_EQ(member.get(to[size_t(member.number)][size_t(root)], 5), valuesOf<double>(root, 5));
      });
}

TEST_P(NcclTest, Gathers) {
  std::array<std::vector<uint8_t *>, 4> to;
  run(
      [&](Member &member) {
        for (size_t size : kSizes) {
          uint8_t *from = member.put(valuesOf<uint8_t>(member.number, size));
          uint8_t *result = member.allocate<uint8_t>(size * size_t(count));
          to[size_t(member.number)].push_back(result);
          EXPECT_EQ(ncclAllGather(from, result, size, DataType::u8, member.comm, member.stream),
                    Status::success);
        }
      },
      [&](Member &member) {
        for (size_t i = 0; i < 4; ++i)
          for (int other = 0; other < count; ++other)
            EXPECT_EQ(member.get(to[size_t(member.number)][i] + size_t(other) * kSizes[i], kSizes[i]),
                      valuesOf<uint8_t>(other, kSizes[i]));
      });
}

TEST_P(NcclTest, ReducesAndScatters) {
  std::array<std::vector<int64_t *>, 4> to;
  run(
      [&](Member &member) {
        for (size_t size : kSizes) {
          int64_t *from = member.put(valuesOf<int64_t>(member.number, size * size_t(count)));
          to[size_t(member.number)].push_back(member.allocate<int64_t>(size));
          EXPECT_EQ(ncclReduceScatter(from, to[size_t(member.number)].back(), size, DataType::i64,
                                      Reduction::sum, member.comm, member.stream),
                    Status::success);
        }
      },
      [&](Member &member) {
        for (size_t i = 0; i < 4; ++i) {
          std::vector<int64_t> found = member.get(to[size_t(member.number)][i], kSizes[i]);
          for (size_t j = 0; j < kSizes[i]; ++j)
            ASSERT_EQ(found[j],
                      reduce<int64_t>(Reduction::sum, count, size_t(member.number) * kSizes[i] + j));
        }
      });
}

/// Results stand where operands did, as the library says for each kind.
TEST_P(NcclTest, WorksInPlace) {
  std::array<std::vector<int32_t *>, 4> all;
  auto members = size_t(count);
  run(
      [&](Member &member) {
        auto number = size_t(member.number);
        std::vector<int32_t> part = valuesOf<int32_t>(member.number, 6);
        int32_t *reduced = member.put(part), *rooted = member.put(part), *sent = member.put(part);
        int32_t *gathered = member.allocate<int32_t>(6 * members);
        member.write(gathered + 6 * number, part);
        int32_t *scattered = member.put(valuesOf<int32_t>(member.number, 6 * members));
        all[number] = {reduced, rooted, sent, gathered, scattered};
        auto [comm, stream] = std::pair(member.comm, member.stream);
        ncclAllReduce(reduced, reduced, 6, DataType::i32, Reduction::sum, comm, stream);
        ncclReduce(rooted, rooted, 6, DataType::i32, Reduction::sum, 0, comm, stream);
        ncclBroadcast(sent, sent, 6, DataType::i32, 0, comm, stream);
        ncclAllGather(gathered + 6 * number, gathered, 6, DataType::i32, comm, stream);
        ncclReduceScatter(scattered, scattered + 6 * number, 6, DataType::i32, Reduction::sum, comm, stream);
      },
      [&](Member &member) {
        auto number = size_t(member.number);
        std::vector<int32_t> sums, own;
        for (size_t i = 0; i < 6; ++i) {
          sums.push_back(reduce<int32_t>(Reduction::sum, count, i));
          own.push_back(reduce<int32_t>(Reduction::sum, count, 6 * number + i));
        }
        EXPECT_EQ(member.get(all[number][0], 6), sums);
        EXPECT_EQ(member.get(all[number][1], 6), number == 0 ? sums : valuesOf<int32_t>(int(number), 6));
        EXPECT_EQ(member.get(all[number][2], 6), valuesOf<int32_t>(0, 6));
        for (size_t other = 0; other < members; ++other)
          EXPECT_EQ(member.get(all[number][3] + 6 * other, 6), valuesOf<int32_t>(int(other), 6));
        EXPECT_EQ(member.get(all[number][4] + 6 * number, 6), own);
      });
}

/// Each sends to all, itself too, twice; those of a pair come in the order in which they were sent.
TEST_P(NcclTest, SendsAndReceives) {
  std::array<std::vector<float *>, 4> to;
  run(
      [&](Member &member) {
        for (size_t size : {size_t(3), size_t(0), size_t(4)})
          for (int other = 0; other < count; ++other) {
            float *from = member.put(valuesOf<float>(member.number * 4 + other, size));
            to[size_t(member.number)].push_back(member.allocate<float>(size));
            EXPECT_EQ(ncclSend(from, size, DataType::f32, other, member.comm, member.stream),
                      Status::success);
            EXPECT_EQ(ncclRecv(to[size_t(member.number)].back(), size, DataType::f32, other, member.comm,
                               member.stream),
                      Status::success);
          }
      },
      [&](Member &member) {
        auto next = to[size_t(member.number)].begin();
        for (size_t size : {size_t(3), size_t(0), size_t(4)})
          for (int other = 0; other < count; ++other)
            EXPECT_EQ(member.get(*next++, size), valuesOf<float>(other * 4 + member.number, size));
      });
}

/// Each element of a sum is on its way round a ring, and begins behind the member at which it ends.
TEST_P(NcclRingTest, SumsInOneOrder) {
  std::array<std::vector<void *>, 3> to;
  run(
      [&](Member &member) {
        auto [number, comm, stream] = std::tuple(size_t(member.number), member.comm, member.stream);
        float *values = member.put(std::vector<float>(3, std::array{1e8f, 1.f, -1e8f}[number]));
        auto *half = member.put(std::vector<_Float16>(3, _Float16(number == 0 ? 2048 : 1)));
        auto *brain = member.put(std::vector<uint16_t>(3, number == 0 ? 0x4380 : 0x3f80)); // 256, 1
        float *scattered = member.allocate<float>(1), *rooted = member.allocate<float>(3);
        to[number] = {scattered, rooted, values, half, brain};
        ncclReduceScatter(values, scattered, 1, DataType::f32, Reduction::sum, comm, stream);
        ncclReduce(values, rooted, 3, DataType::f32, Reduction::sum, 1, comm, stream);
        ncclAllReduce(values, values, 3, DataType::f32, Reduction::sum, comm, stream);
        ncclAllReduce(half, half, 3, DataType::f16, Reduction::sum, comm, stream);
        ncclAllReduce(brain, brain, 3, DataType::bf16, Reduction::sum, comm, stream);
      },
      [&](Member &member) {
        auto number = size_t(member.number);
        EXPECT_EQ(member.get(static_cast<float *>(to[number][0]), 1)[0], number == 1 ? 1 : 0);
        if (number == 1)
          EXPECT_THAT(member.get(static_cast<float *>(to[number][1]), 3), ElementsAre(1, 1, 1));
        EXPECT_THAT(member.get(static_cast<float *>(to[number][2]), 3), ElementsAre(0, 1, 0));
        std::vector<_Float16> half = member.get(static_cast<_Float16 *>(to[number][3]), 3);
        EXPECT_THAT(std::vector<float>(half.begin(), half.end()), ElementsAre(2050, 2048, 2048));
        EXPECT_THAT(member.get(static_cast<uint16_t *>(to[number][4]), 3),
                    ElementsAre(0x4381, 0x4380, 0x4380)); // 258, 256, 256
      });
}

TEST_P(NcclTest, TakesTheGreatestOfWhatIsANumber) {
  std::array<std::vector<float *>, 4> to;
  run(
      [&](Member &member) {
        auto number = size_t(member.number);
        float nan = std::numeric_limits<float>::quiet_NaN(), own = float(number) + 1;
        std::vector<float> values = {nan, number == 0 ? own : nan, number == 0 && count > 1 ? nan : own};
        for (Reduction reduction : {Reduction::max, Reduction::min}) {
          to[number].push_back(member.put(values));
          ncclAllReduce(to[number].back(), to[number].back(), 3, DataType::f32, reduction, member.comm,
                        member.stream);
        }
      },
      [&](Member &member) {
        for (size_t i = 0; i < 2; ++i) {
          std::vector<float> found = member.get(to[size_t(member.number)][i], 3);
          EXPECT_TRUE(std::isnan(found[0]));
          EXPECT_EQ(found[1], 1);
          EXPECT_EQ(found[2], i == 0 ? float(count) : std::min(2.f, float(count)));
        }
      });
}

/// A graph of a collective and messages, launched with other numbers each time.
TEST_P(NcclTest, RunsInGraphs) {
  struct Captured {
    int32_t *from, *sum, *sent;
    CUgraph graph;
    CUgraphExec executable;
  };
  std::array<Captured, 3> captured{};
  auto begin = [&](Member &member) {
    Captured &own = captured[size_t(member.number)];
    own = {member.allocate<int32_t>(5), member.allocate<int32_t>(5), member.allocate<int32_t>(5), {}, {}};
    EXPECT_EQ(cuStreamBeginCapture(member.stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  };
  auto call = [&](Member &member) {
    Captured &own = captured[size_t(member.number)];
    auto [comm, stream, next] = std::tuple(member.comm, member.stream, (member.number + 1) % count);
    ncclAllReduce(own.from, own.sum, 5, DataType::i32, Reduction::sum, comm, stream);
    ncclSend(own.sum, 5, DataType::i32, next, comm, stream);
    ncclRecv(own.sent, 5, DataType::i32, (member.number + count - 1) % count, comm, stream);
  };
  auto end = [&](Member &member) {
    Captured &own = captured[size_t(member.number)];
    EXPECT_EQ(cuStreamEndCapture(member.stream, &own.graph), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphInstantiate(&own.executable, own.graph, 0), CUDA_SUCCESS);
  };
  auto launch = [&](int time) {
    return [&captured, time](Member &member) {
      Captured &own = captured[size_t(member.number)];
      member.write(own.from, std::vector<int32_t>(5, 10 * time + member.number));
      EXPECT_EQ(cuGraphLaunch(own.executable, member.stream), CUDA_SUCCESS);
    };
  };
  auto look = [&](int time) {
    return [&captured, time, this](Member &member) {
      std::vector<int32_t> sums(5, 10 * time * count + count * (count - 1) / 2);
      EXPECT_EQ(member.get(captured[size_t(member.number)].sum, 5), sums);
      EXPECT_EQ(member.get(captured[size_t(member.number)].sent, 5), sums);
    };
  };
  auto destroy = [&](Member &member) {
    EXPECT_EQ(cuGraphExecDestroy(captured[size_t(member.number)].executable), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphDestroy(captured[size_t(member.number)].graph), CUDA_SUCCESS);
  };
  run(begin, call, end, launch(1), look(1), launch(2), look(2), launch(3), look(3), destroy);
}

/// Few files are there at a time, and after all none.
TEST_P(NcclTest, RemovesItsFiles) {
  std::array<int32_t *, 3> at{};
  run([&](Member &member) { at[size_t(member.number)] = member.put(std::vector<int32_t>(3, 0)); },
      [&](Member &member) {
        int32_t *own = at[size_t(member.number)];
        for (int i = 0; i < 50; ++i)
          ncclAllReduce(own, own, 3, DataType::i32, Reduction::sum, member.comm, member.stream);
      },
      [&](Member &member) {
        EXPECT_EQ(member.get(at[size_t(member.number)], 3).size(), 3U);
        EXPECT_LE(Place(id.bytes).list().size(), size_t(3 * count + 3));
      });
}
