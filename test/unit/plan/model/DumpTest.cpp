#include "runtime/plan/model/Dump.h"

#include "test/unit/plan/Plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace epl::runtime::test {
namespace {

using testing::HasSubstr;

/// The plan that VerifierTest.cpp and BuilderTest.cpp refer to by index.
TEST(Dump, ATrainingPlan) {
  EXPECT_EQ(dumpPlan(trainingPlan(2)), R"(plan version 22, cpu:2 = data 2
axis "data" = 2
communicator c0 over "data"
slot s0 "w1" state i8[128] sharding [{}]
slot s1 "w2" state i8[192] sharding [{}]
slot s2 "x" batch i8[128] sharding [{"data"}]
slot s3 "w1" result i8[128] sharding [{}] updates s0 of #13
slot s4 "w2" result i8[192] sharding [{}] updates s1 of #12
slot s5 "loss" result i8[4] sharding [{}] of #3, #4
buffer b0 "w1" 128 bytes of s0
buffer b1 "w2" 192 bytes of s1
buffer b2 "x" 64 bytes of s2
buffer b3 "loss" 4 bytes of s5
buffer b4 "h1" 256 bytes at 0
buffer b5 "h2" 256 bytes at 256
buffer b6 "scratch" 100 bytes at 512
buffer b7 "d2" 256 bytes at 256
buffer b8 "g2" 192 bytes at 512
buffer b9 "d1" 256 bytes at 256
buffer b10 "g1" 128 bytes at 0
buffer b11 "sum1" 128 bytes at 0
arena 704 bytes
kernel k0 "layer1" symbol "layer1" form "" inputs 2 outputs 1 sizes [128, 64, 256] in_place [-1] workspace 0 extent 1 flops 0
kernel k1 "layer2" symbol "layer2" form "" inputs 2 outputs 1 sizes [192, 256, 256] in_place [-1] workspace 100 extent 1 flops 0
kernel k2 "loss" symbol "loss" form "" inputs 1 outputs 2 sizes [256, 4, 256] in_place [-1, 0] workspace 0 extent 1 flops 0
kernel k3 "grad2" symbol "grad2" form "" inputs 2 outputs 1 sizes [256, 256, 192] in_place [-1] workspace 0 extent 1 flops 0
kernel k4 "back2" symbol "back2" form "" inputs 2 outputs 1 sizes [256, 192, 256] in_place [0] workspace 0 extent 1 flops 0
kernel k5 "grad1" symbol "grad1" form "" inputs 2 outputs 1 sizes [256, 64, 128] in_place [-1] workspace 0 extent 1 flops 0
kernel k6 "update2" symbol "update2" form "" inputs 2 outputs 1 sizes [192, 192, 192] in_place [0] workspace 0 extent 1 flops 0
kernel k7 "update1" symbol "update1" form "" inputs 2 outputs 1 sizes [128, 128, 128] in_place [0] workspace 0 extent 1 flops 0
lane 0 compute
  #0 "layer1" launch k0 (b0, b2) -> (b4) reads 0:s0, 1:s2 work "tg0.forward" at "step.py:0"
  #1 "layer2" launch k1 (b1, b4) -> (b5, b6) reads 0:s1, 1:#0 work "tg0.forward" at "step.py:1"
  #2 "loss" launch k2 (b5) -> (b3, b7) reads 0:#1 work "tg0.forward" at "step.py:2"
  #5 "grad2" launch k3 (b7, b4) -> (b8) reads 0:#2.1, 1:#0 work "tg0.forward" at "step.py:3"
  #8 "back2" launch k4 (b7, b1) -> (b9) reads 0:#2.1, 1:s1 work "tg0.forward" at "step.py:4"
  #9 "grad1" launch k5 (b9, b2) -> (b10) reads 0:#8, 1:s2 work "tg0.forward" at "step.py:5"
  #12 "update2" launch k6 (b1, b8) -> (b1) after #7 reads 0:s1, 1:#6, 1:#7 work "tg0.forward" at "step.py:6"
  #13 "update1" launch k7 (b0, b11) -> (b0) after #11 reads 0:s0, 1:#10, 1:#11 work "tg0.forward" at "step.py:7"
lane 1 communicate c0
  #3 "sum loss" reduce_part sum c0 b3 -> b3 4xi8 with #4 after #2 of c0 reads 0:#2 of c0 work "tg0.backward"
  #4 "sum loss" gather_parts c0 b3 4xi8 with #3 after #3 of c0 reads 0:#3 of c0 work "tg0.backward"
  #6 "sum g2" reduce_part sum c0 b8 -> b8 192xi8 with #7 after #5 of c0 reads 0:#5 of c0 work "tg0.backward"
  #7 "sum g2" gather_parts c0 b8 192xi8 with #6 after #6 of c0 reads 0:#6 of c0 work "tg0.backward"
  #10 "sum g1" reduce_part sum c0 b10 -> b11 128xi8 with #11 after #9 of c0 reads 0:#9 of c0 work "tg0.backward"
  #11 "sum g1" gather_parts c0 b11 128xi8 with #10 after #10 of c0 reads 0:#10 of c0 work "tg0.backward"
)");
}

TEST(Dump, EveryAction) {
  plan::PlanT plan;
  plan.lanes.push_back(std::make_unique<plan::LaneT>());
  auto add = [&](auto action) {
    plan.lanes[0]->commands.push_back(uint32_t(plan.commands.size()));
    plan.commands.push_back(std::make_unique<plan::CommandT>());
    plan.commands.back()->name = "x";
    plan.commands.back()->action.Set(std::move(action));
  };
  plan::ContractT contract;
  contract.type = plan::ElementType::f32;
  contract.a = 1, contract.b = 2, contract.c = 3;
  contract.m = 4, contract.n = 5, contract.k = 6, contract.lda = 7, contract.ldb = 8, contract.ldc = 9;
  contract.transpose_b = contract.accumulate = true;
  contract.batch = {plan::BatchDim(2, 10, 0, 30)};
  add(contract);
  plan::ReducePartT reduce;
  reduce.reduction = plan::ReductionKind::max;
  reduce.gather = 2;
  reduce.tensors.resize(2);
  reduce.tensors[0].type = plan::ElementType::bf16;
  reduce.tensors[0].source = 1, reduce.tensors[0].target = 2, reduce.tensors[0].count = 100;
  reduce.tensors[1].type = plan::ElementType::f32;
  reduce.tensors[1].source = reduce.tensors[1].target = 3, reduce.tensors[1].count = 1;
  add(reduce);
  plan::GatherBlocksT blocks;
  blocks.tensors.resize(2);
  blocks.tensors[0].type = plan::ElementType::f64;
  blocks.tensors[0].source = 3, blocks.tensors[0].target = 4;
  blocks.tensors[0].outer = 8, blocks.tensors[0].inner = 16;
  blocks.tensors[1].source = 5, blocks.tensors[1].target = 6;
  add(blocks);
  add(plan::CopyT());
  contract.type = plan::ElementType::f16, contract.widens = true;
  add(std::move(contract));
  plan::ReduceBlocksT scatter;
  plan::ReducedBlocksT &scattered = scatter.tensors.emplace_back();
  scattered.type = plan::ElementType::f32;
  scattered.source = 5, scattered.target = 6, scattered.shape = {8, 4};
  scattered.sharding.push_back(std::make_unique<plan::DimShardingT>());
  scattered.sharding.push_back(std::make_unique<plan::DimShardingT>());
  scattered.sharding[1]->axes = {"data", "model"};
  add(scatter);
  plan::ExchangeBlocksT exchange;
  exchange.type = plan::ElementType::i64;
  exchange.source = 7, exchange.target = 8, exchange.shape = {16};
  exchange.from.push_back(std::make_unique<plan::DimShardingT>());
  exchange.from[0]->axes = {"data"};
  add(exchange);
  plan::CopyT part;
  part.source = 1, part.target = 2, part.from = 64, part.to = 8, part.size = 16;
  add(part);
  plan.commands.push_back(std::make_unique<plan::CommandT>());
  plan.lanes[0]->commands.push_back(8);
  plan::ContractT product;
  product.type = plan::ElementType::f32;
  product.b = 1, product.c = 2, product.bias = 3, product.has_bias = true;
  product.activation = plan::Activation::relu;
  add(std::move(product));
  EXPECT_THAT(
      dumpPlan(plan),
      HasSubstr(
          "  #0 \"x\" contract f32 b1 x b2^T +> b3 m 4 n 5 k 6 lda 7 ldb 8 ldc 9 batch [2: 10 0 30]\n"
          "  #1 \"x\" reduce_part max c0 b1 -> b2 100xbf16, b3 -> b3 1xf32 with #2\n"
          "  #2 \"x\" gather_blocks c0 b3 -> b4 8x16xf64, b5 -> b6 0x0xi1\n"
          "  #3 \"x\" copy b0 -> b0, 0 bytes\n"
          "  #4 \"x\" contract f16 to f32 b1 x b2^T +> b3 m 4 n 5 k 6 lda 7 ldb 8 ldc 9 batch [2: 10 0 30]\n"
          "  #5 \"x\" reduce_blocks sum c0 b5 -> b6 8x4xf32 to [{}, {\"data\", \"model\"}]\n"
          "  #6 \"x\" exchange_blocks c0 b7 -> b8 16xi64 from [{\"data\"}] to []\n"
          "  #7 \"x\" copy b1 at 64 -> b2 at 8, 16 bytes\n"
          "  #8 \"\" nothing\n"
          "  #9 \"x\" contract f32 b0 x b1 + bias b3 -> b2 m 0 n 0 k 0 lda 0 ldb 0 ldc 0 relu\n"));
}

/// A dump must show what is wrong with a plan, not trip over it.
TEST(Dump, APlanThatIsNotValid) {
  plan::PlanT plan = trainingPlan(2);
  plan.slots[0]->role = plan::SlotRole(90);
  plan.lanes[0]->commands.push_back(1000);
  plan.commands[0]->action.AsLaunch()->kernel = 1000;
  plan.commands[1]->action.AsLaunch()->buffers.clear();
  plan.commands[2]->name = "a \"b\"\n";
  std::string text = dumpPlan(plan);
  EXPECT_THAT(text, HasSubstr("#0 \"layer1\" launch k1000 () -> (b0, b2, b4)"));
  EXPECT_THAT(text, HasSubstr("#1 \"layer2\" launch k1 () -> ()"));
  EXPECT_THAT(text, HasSubstr("#2 \"a \\\"b\\\"\\x0a\" launch"));
}

TEST(Dump, ProvenanceAndTarget) {
  plan::PlanT plan;
  plan.provenance = std::make_unique<plan::ProvenanceT>();
  plan.provenance->producer = "epl 0.1";
  plan.provenance->options = "devices=cpu:2";
  plan.provenance->source = "step.mlir";
  plan::ImageT elf, ptx;
  elf.target = "icelake-server";
  elf.features = {"avx512f", "fma"};
  ptx.kind = plan::ImageKind::ptx;
  ptx.target = "sm_80";
  ptx.isa = 80;
  ptx.bytes.resize(5);
  plan.images.push_back(std::make_unique<plan::ImageT>(elf));
  plan.images.push_back(std::make_unique<plan::ImageT>(ptx));
  std::string text = dumpPlan(plan);
  EXPECT_THAT(text, HasSubstr("made by \"epl 0.1\" with \"devices=cpu:2\" from \"step.mlir\"\n"));
  EXPECT_THAT(text, HasSubstr("image elf 0 bytes for \"icelake-server\" with \"avx512f\", \"fma\"\n"
                              "image ptx 8.0 5 bytes for \"sm_80\"\n"));
}

} // namespace
} // namespace epl::runtime::test
