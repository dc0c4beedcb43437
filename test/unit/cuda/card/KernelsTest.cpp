// The plugin's own kernels beside loops of the host, bit by bit.

#include "runtime/collective/inproc/Combine.h"
#include "test/unit/cuda/card/Card.h"

#include <random>

namespace epl::runtime::cuda::test {
namespace {

using plan::ElementType;
using plan::ReductionKind;

class Kernels : public CardTest {
protected:
  Kernels() {
    CUmodule loaded = nullptr;
    api.check(api.cuModuleLoadDataEx(&loaded, ownKernels().data(), 0, nullptr, nullptr), "own kernels");
    module = {api, loaded};
  }

  template <typename... Arguments>
  void launch(const std::string &name, unsigned rows, Arguments... arguments) {
    CUfunction function = nullptr;
    api.check(api.cuModuleGetFunction(&function, module, name.c_str()), name);
    void *all[] = {&arguments...};
    api.check(api.cuLaunchKernel(function, 3, rows, 1, 128, 1, 1, 0, a, all, nullptr), name);
    wait(a);
  }
  std::vector<std::byte> random(size_t size) {
    std::vector<std::byte> bytes(size);
    for (std::byte &byte : bytes)
      byte = std::byte(generator());
    return bytes;
  }
  void compare(ReductionKind kind, ElementType type, size_t count);

  Module module;
  std::mt19937 generator{1};
};

TEST_F(Kernels, CopyRunsOfAnySize) {
  std::vector<std::byte> bytes = random(10000);
  CUdeviceptr from = put(bytes), to = put(std::vector<std::byte>(10000));
  std::vector<CopyRun> runs;
  std::vector<std::byte> expected(10000);
  for (size_t begin = 0, i = 0; begin + 700 < bytes.size(); begin += 700, ++i) {
    size_t shift = i % 9, size = 600 - i * 41 % 600;
    runs.push_back({to + begin + shift, from + begin + i % 5, size});
    std::copy_n(bytes.begin() + ptrdiff_t(begin + i % 5), size, expected.begin() + ptrdiff_t(begin + shift));
  }
  launch("epl_copy", 2, put(runs), (unsigned long)runs.size());
  EXPECT_EQ(get<std::byte>(to, 10000), expected);
}

/// Of floats whose bits are any, NaN and denormals among them: a NaN has to be one, whichever it is.
void Kernels::compare(ReductionKind kind, ElementType type, size_t count) {
  size_t size = count * elementBytes(type);
  std::vector<std::vector<std::byte>> sources;
  std::vector<unsigned long> addresses;
  std::vector<const void *> hosts;
  for (int member = 0; member < 3; ++member) {
    sources.push_back(random(size));
    if (type == ElementType::i1)
      for (std::byte &byte : sources.back())
        byte &= std::byte(1);
  }
  for (const std::vector<std::byte> &source : sources) {
    addresses.push_back(put(source));
    hosts.push_back(source.data());
  }
  std::vector<std::byte> expected(size);
  combineFunction(kind, type)(hosts.data(), hosts.size(), expected.data(), 0, int64_t(count));
  CUdeviceptr to = put(std::vector<std::byte>(size));
  std::vector<SumRun> runs = {{to, 0, count}};
  launch(std::string("epl_") + EnumNameReductionKind(kind) + "_" + EnumNameElementType(type), 1, put(runs),
         (unsigned long)runs.size(), put(addresses), int(addresses.size()));
  std::vector<std::byte> found = get<std::byte>(to, size);
  for (size_t i = 0; i < count; ++i)
    EXPECT_TRUE(std::equal(&found[i * size / count], &found[i * size / count] + size / count,
                           &expected[i * size / count]))
        << EnumNameReductionKind(kind) << " of " << EnumNameElementType(type) << ", element " << i;
}

TEST_F(Kernels, CombineIntegersAsTheHostDoes) {
  for (ElementType type : {ElementType::i8, ElementType::i16, ElementType::i32, ElementType::i64})
    for (ReductionKind kind :
         {ReductionKind::sum, ReductionKind::prod, ReductionKind::max, ReductionKind::min})
      compare(kind, type, 777);
  compare(ReductionKind::all, ElementType::i1, 777);
  compare(ReductionKind::any, ElementType::i1, 777);
}

} // namespace
} // namespace epl::runtime::cuda::test
