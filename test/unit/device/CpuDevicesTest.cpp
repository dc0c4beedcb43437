#include "runtime/device/cpu/CpuDevices.h"

#include "runtime/Error.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>

namespace epl::runtime {
namespace {

TEST(CpuDevices, CopyWholeAllocations) {
  CpuDevices devices;
  EXPECT_TRUE(devices.usesHostMemory());
  auto first = devices.allocate(0, 3, Memory::Fill::zeros),
       second = devices.allocate(1, 3, Memory::Fill::none);
  EXPECT_EQ(first->size(), 3u);
  EXPECT_EQ(first->address()[2], std::byte(0));
  std::array<std::byte, 3> values = {std::byte(1), std::byte(2), std::byte(3)}, found = {};
  devices.copyIn(values.data(), *first);
  devices.copy(*first, *second);
  devices.copyOut(*second, found.data());
  EXPECT_EQ(found, values);
}

TEST(CpuDevices, CopyNothing) {
  CpuDevices devices;
  auto none = devices.allocate(0, 0, Memory::Fill::zeros);
  devices.copyIn(nullptr, *none);
  devices.copyOut(*none, nullptr);
  devices.copy(*none, *devices.allocate(0, 0, Memory::Fill::zeros));
  EXPECT_EQ(none->size(), 0u);
}

TEST(CpuDevices, SayHowMuchMemoryThereIsNot) {
  CpuDevices devices;
  try {
    devices.allocate(3, size_t(1) << 62, Memory::Fill::none);
    FAIL() << "expected an error";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "device 3 has no 4611686018427387904 bytes of memory");
  }
}

TEST(CpuDevices, NameTheFeatureThatTheyLack) {
  plan::PlanT plan;
  plan.images.push_back(std::make_unique<plan::ImageT>());
  plan.images[0]->features = {"avx9000"};
  EXPECT_THAT([&] { CpuDevices().load(plan); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("\"avx9000\"")));
}

/// A copy of buffer 1 to buffer 2 where the byte of buffer 0 is 0, on one rank.
plan::PlanT guardedCopy() {
  plan::PlanT plan;
  plan.devices = 1;
  plan::CopyT copy;
  copy.source = 1, copy.target = 2, copy.size = 1;
  plan.commands.push_back(std::make_unique<plan::CommandT>());
  plan.commands[0]->action.Set(copy);
  plan.commands[0]->guards = {{0, false}};
  return plan;
}

TEST(CpuDevices, SkipWhatAGuardForbids) {
  plan::PlanT plan = guardedCopy();
  std::unique_ptr<Code> code = CpuDevices().load(plan);
  std::unique_ptr<Command> command = code->bind(plan, 0);
  std::array<uint8_t, 3> bytes = {1, 7, 8};
  Topology topology(plan);
  const uint32_t here[] = {0};
  AddressTable addresses(here, 1, 3);
  for (uint32_t buffer = 0; buffer < 3; ++buffer)
    addresses.set(0, buffer, &bytes[buffer]);
  EXPECT_EQ(command->start({topology, addresses, 0, nullptr}), CommandState::skipped);
  EXPECT_EQ(bytes[2], 8);
  bytes[0] = 0;
  EXPECT_EQ(command->start({topology, addresses, 0, nullptr}), CommandState::done);
  EXPECT_EQ(bytes[2], 7);
}

} // namespace
} // namespace epl::runtime
