//===- MachineTest.cpp - What follows from a machine ----------------------===//

#include "dialect/Machine.h"
#include "dialect/MachineFile.h"
#include "runtime/machine/Machine.h"

#include "mlir/IR/Builders.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::epl;
using testing::HasSubstr;

namespace {
class Machine : public testing::Test {
protected:
  Machine() { context.loadDialect<EplDialect>(); }

  MachineAttr getTable(StringRef kind) { return getMachineOfKind(&context, kind); }
  MachineAttr parse(StringRef text) { return llvm::cantFail(parseMachine(&context, text, "m.json")); }
  std::string getError(StringRef text) {
    llvm::Expected<MachineAttr> machine = parseMachine(&context, text, "m.json");
    return machine ? "" : llvm::toString(machine.takeError());
  }

  MLIRContext context;
};

/// The figures by which everything was sharded before there were machines.
TEST_F(Machine, OfACpuMakesTheChoicesOfBefore) {
  MachineAttr cpu = getTable("cpu");
  EXPECT_EQ(getMultiplyAddsPerByte(cpu), 8.0);
  EXPECT_EQ(getLargestBucketBytes(cpu), 1 << 20);
  EXPECT_EQ(getSmallBytes(cpu), 1 << 10);
  EXPECT_EQ(getBytesOfASum(cpu), 64);
  Builder builder(&context);
  for (Type type : {Type(builder.getF64Type()), Type(builder.getBF16Type()), Type(builder.getI8Type())})
    EXPECT_EQ(getMultiplyAddsPerSecond(cpu, type), cpu.getCompute().getF32());
}

TEST_F(Machine, OfEveryKindIsThere) {
  for (const ::epl::runtime::machine::Machine &table : ::epl::runtime::machine::machines()) {
    StringRef kind = table.kind;
    MachineAttr machine = getTable(kind);
    ASSERT_TRUE(machine) << kind.str();
    EXPECT_EQ(machine.getKind(), kind);
    EXPECT_GE(getBytesOfASum(machine), 1);
    EXPECT_LT(getSmallBytes(machine), getLargestBucketBytes(machine));
  }
  EXPECT_FALSE(getTable("toaster"));
}

TEST_F(Machine, CountsByTheWidthOfElements) {
  MachineAttr h100 = getTable("h100");
  Builder builder(&context);
  auto matrix = RankedTensorType::get({2, 2}, builder.getBF16Type());
  EXPECT_EQ(getMultiplyAddsPerSecond(h100, matrix), h100.getCompute().getF16());
  EXPECT_EQ(getMultiplyAddsPerSecond(h100, builder.getF64Type()), h100.getCompute().getF64());
}

TEST_F(Machine, OfAModuleIsItsOwnOrACpus) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  EXPECT_EQ(getMachine(*module), getTable("cpu"));
  module.get()->setAttr(EplDialect::kMachineAttr, getTable("a100"));
  EXPECT_EQ(getMachine(*module), getTable("a100"));
}

TEST_F(Machine, FromAFileChangesItsTable) {
  EXPECT_EQ(parse("{}"), getTable("cpu"));
  EXPECT_EQ(parse(R"({"kind": "b200"})"), getTable("b200"));
  MachineAttr machine = parse(R"({"kind": "h100", "within_process": {"latency_ns": 5},
                                  "memory": {"bytes": 7}, "compute": {"f16": 9}})");
  EXPECT_EQ(machine.getWithinProcess().getLatencyNs(), 5);
  EXPECT_EQ(machine.getWithinProcess().getBytesPerSecond(),
            getTable("h100").getWithinProcess().getBytesPerSecond());
  EXPECT_EQ(machine.getMemory().getBytes(), 7);
  EXPECT_EQ(machine.getCompute().getF16(), 9);
  EXPECT_EQ(machine.getBetweenNodes(), getTable("h100").getBetweenNodes());
}

TEST_F(Machine, FileErrorsNameThePlace) {
  EXPECT_THAT(getError("{"),
              HasSubstr("machine file \"m.json\" is no JSON: parse error at line 1, column 2: "));
  EXPECT_EQ(getError("3"), "machine file \"m.json\": found 3, expected an object");
  EXPECT_EQ(
      getError(R"({"speed": 1})"),
      "machine file \"m.json\": unknown name \"speed\", expected one of \"kind\", \"compute\", \"memory\", "
      "\"within_process\", \"between_processes\", \"between_nodes\"");
  EXPECT_EQ(
      getError(R"({"compute": {"f8": 1}})"),
      "machine file \"m.json\": unknown name \"compute.f8\", expected one of \"f64\", \"f32\", \"f16\"");
  EXPECT_EQ(getError(R"({"memory": 1})"), "machine file \"m.json\": \"memory\" is 1, expected an object");
  for (std::string value : {"0", "-1", "1.5", "\"fast\"", "null"})
    EXPECT_EQ(getError("{\"between_nodes\": {\"latency_ns\": " + value + "}}"),
              "machine file \"m.json\": \"between_nodes.latency_ns\" is " + value +
                  ", expected a whole number of at least 1");
  for (std::string kind : {"\"toaster\"", "1"})
    EXPECT_EQ(getError("{\"kind\": " + kind + "}"),
              "machine file \"m.json\": \"kind\" is " + kind +
                  ", expected one of \"cpu\", \"a100\", \"h100\", \"h200\", \"b200\"");
}

TEST_F(Machine, ThatIsNeitherKindNorFileIsAnError) {
  llvm::Expected<MachineAttr> machine = readMachine(&context, "/nowhere/m.json");
  ASSERT_FALSE(machine);
  EXPECT_THAT(
      llvm::toString(machine.takeError()),
      HasSubstr(
          "machine \"/nowhere/m.json\" is none of \"cpu\", \"a100\", \"h100\", \"h200\", \"b200\", and no "
          "file that can be read: "));
}
} // namespace
