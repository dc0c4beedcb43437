// What a library may run as the gradient of attention, and what the verifier finds wrong with it.

#include "runtime/plan/model/AttentionGradient.h"

#include "runtime/plan/format/Reader.h"
#include "runtime/plan/format/Writer.h"
#include "runtime/plan/model/Cost.h"
#include "runtime/plan/model/Dump.h"
#include "runtime/plan/verify/Verifier.h"
#include "test/unit/plan/AttentionPlans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace epl::runtime {
namespace {

using plan::PlanT;
using test::gradientPlan;
using testing::Contains;
using testing::HasSubstr;

constexpr size_t kEnd = 2, kGradient = 8;

plan::ContractT &endOf(PlanT &plan) { return *plan.commands[kEnd]->action.AsContract(); }
plan::AttentionGradientT &gradientOf(PlanT &plan) {
  return *plan.commands[kGradient]->action.AsAttentionGradient();
}

TEST(AttentionGradient, IsOfTheTensorsOfAttention) {
  PlanT plan = gradientPlan();
  EXPECT_EQ(verifyPlan(plan), std::vector<std::string>());
  EXPECT_EQ(textOf(shapeOf(plan, gradientOf(plan))),
            "q bf16[2x3x4x8] by 96x8x24x1, k bf16[2x3x5x8] by 120x8x24x1, v bf16[2x3x5x8] by 120x8x24x1, "
            "o bf16[2x3x4x8] by 96x8x24x1, scale 0.250000 causal, dO bf16[2x3x4x8] by 96x8x24x1, "
            "dq bf16[2x3x4x8] by 96x8x24x1, dk bf16[2x3x5x8] by 120x8x24x1, dv bf16[2x3x5x8] by 120x8x24x1");
  EXPECT_EQ(endOf(plan).attention->gradient, int32_t(kGradient));
  for (size_t part = 3; part < kGradient; ++part)
    EXPECT_EQ(plan.commands[part]->attention, int32_t(kGradient));
}

/// Fewer heads of k and v than of q: of both the gradients have their own.
TEST(AttentionGradient, IsOfGroupsOfHeads) {
  PlanT plan = gradientPlan(2);
  EXPECT_EQ(verifyPlan(plan), std::vector<std::string>());
  EXPECT_EQ(textOf(shapeOf(plan, gradientOf(plan))),
            "q bf16[2x6x4x8] by 192x8x48x1, k bf16[2x3x5x8] by 120x8x24x1, v bf16[2x3x5x8] by 120x8x24x1, "
            "o bf16[2x6x4x8] by 192x8x48x1, scale 0.250000 causal, dO bf16[2x6x4x8] by 192x8x48x1, "
            "dq bf16[2x6x4x8] by 192x8x48x1, dk bf16[2x3x5x8] by 120x8x24x1, dv bf16[2x3x5x8] by 120x8x24x1");
  EXPECT_EQ(costOf(plan, Mesh(plan), *plan.commands[kGradient]).flops,
            2 * 5 * test::kB * 2 * test::kH * test::kQ * test::kK * test::kD);
}

/// What a library has no heads for.
TEST(AttentionGradient, IsOfGroupsSideBySide) {
  constexpr int64_t kGroup = 2, kPairs = test::kQ * test::kK, kHeads = test::kH, kWidth = test::kD;
  using plan::BatchDim;
  const std::function<void(plan::ContractT &, plan::ContractT &)> changes[] = {
      // Of q: the heads of a group lie apart from one another, those of the next group between them.
      [](plan::ContractT &scores, plan::ContractT &) {
        scores.batch[1] = BatchDim(kHeads, kWidth, kWidth, kGroup * kPairs);
        scores.batch[2] = BatchDim(kGroup, kHeads * kWidth, 0, kPairs);
      },
      // Of o.
      [](plan::ContractT &, plan::ContractT &end) {
        end.batch[0] = BatchDim(kHeads, kGroup * kPairs, kWidth, kWidth);
        end.batch[2] = BatchDim(kGroup, kPairs, 0, kHeads * kWidth);
      },
      // Of v there are as many as of q, or of k.
      [](plan::ContractT &, plan::ContractT &end) {
        end.batch[0] = BatchDim(kHeads, kGroup * kPairs, 4, kGroup * kWidth);
        end.batch[2] = BatchDim(kGroup, kPairs, 1, kWidth);
      },
      [](plan::ContractT &scores, plan::ContractT &) {
        scores.batch[1] = BatchDim(kHeads, kGroup * kWidth, 4, kGroup * kPairs);
        scores.batch[2] = BatchDim(kGroup, kWidth, 1, kPairs);
      },
      // Two loops over heads of a group.
      [](plan::ContractT &scores, plan::ContractT &end) {
        scores.batch[1] = BatchDim(kHeads, kGroup * kWidth, 0, kGroup * kPairs);
        end.batch[0] = BatchDim(kHeads, kGroup * kPairs, 0, kGroup * kWidth);
      }};
  for (const auto &change : changes) {
    PlanT plan = gradientPlan(2);
    change(*plan.commands[0]->action.AsContract(), endOf(plan));
    EXPECT_THAT(verifyPlan(plan),
                Contains(HasSubstr("the attention of command #2 \"o\" has products whose extents "
                                   "or strides do not fit together")));
  }
}

TEST(AttentionGradient, IsShown) {
  std::string text = dumpPlan(gradientPlan());
  EXPECT_THAT(text, HasSubstr("attention with #0 and #1 scale 0.25 causal gradient #8 rows b"));
  EXPECT_THAT(text, HasSubstr("#8 \"gradient\" gradient of #2 (b0 by 96 8 24, b1 by 120 8 24, "));
  EXPECT_THAT(text, HasSubstr("#7 \"dk\" launch k3 (b14, b0) -> (b5) reads 0:#5, 1:s0 for #8"));
}

TEST(AttentionGradient, IsInTheFile) {
  PlanT plan = gradientPlan();
  EXPECT_EQ(dumpPlan(parsePlanUnverified(serializePlan(plan), "p.eplan")), dumpPlan(plan));
}

/// It leaves the gradients where they are, or replaces them.
TEST(AttentionGradient, ReadsAndWritesGradients) {
  PlanT plan = gradientPlan();
  std::vector<Access> accesses = accessesOf(plan, Mesh(plan), *plan.commands[kGradient]);
  ASSERT_EQ(accesses.size(), 12U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(accesses[i].buffer, gradientOf(plan).outputs[i].buffer());
    EXPECT_EQ(accesses[9 + i].buffer, accesses[i].buffer);
    EXPECT_TRUE(!accesses[i].write && accesses[9 + i].write);
    EXPECT_EQ(accesses[9 + i].operand, i);
  }
  EXPECT_EQ(accesses[8].buffer, endOf(plan).attention->stats);
  std::vector<Access> ofAttention = accessesOf(plan, Mesh(plan), *plan.commands[kEnd]);
  EXPECT_EQ(ofAttention.back().buffer, endOf(plan).attention->stats);
  EXPECT_TRUE(ofAttention.back().write);
  EXPECT_EQ(ofAttention.back().operand, 1U);
}

TEST(AttentionGradient, IsFiveProducts) {
  PlanT plan = gradientPlan();
  Cost cost = costOf(plan, Mesh(plan), *plan.commands[kGradient]);
  EXPECT_EQ(cost.flops, 2 * 5 * test::kB * test::kH * test::kQ * test::kK * test::kD);
}

struct Case {
  const char *name;
  std::function<void(PlanT &)> change;
  std::string fault;
};

class AttentionGradientFaults : public testing::TestWithParam<Case> {};

TEST_P(AttentionGradientFaults, AreNamed) {
  PlanT plan = gradientPlan();
  GetParam().change(plan);
  EXPECT_THAT(verifyPlan(plan), Contains(HasSubstr(GetParam().fault)));
}

/// A copy of what a buffer holds, behind all else; it is of command `command`.
void look(PlanT &plan, uint32_t buffer, int32_t command, uint32_t output) {
  plan::CopyT copy;
  copy.source = buffer, copy.target = gradientOf(plan).outputs[0].buffer(), copy.size = 8;
  auto made = std::make_unique<plan::CommandT>();
  made->name = "look";
  made->action.Set(copy);
  made->origins.emplace_back(0, command, output, -1, 0);
  plan.lanes[0]->commands.push_back(uint32_t(plan.commands.size()));
  plan.commands.push_back(std::move(made));
}

plan::AttentionOperand moved(const plan::AttentionOperand &operand, uint32_t buffer) {
  return {buffer, operand.sample(), operand.head(), operand.position()};
}

const Case kCases[] = {
    {"NoAttention", [](PlanT &p) { gradientOf(p).attention = 1; },
     "command #8 \"gradient\" names command 1 as its attention, expected a contraction with one before it"},
    {"TooFewTensors", [](PlanT &p) { gradientOf(p).inputs.pop_back(); },
     "command #8 \"gradient\" has 4 inputs and 3 outputs, expected 5 and 3"},
    {"BeyondABuffer", [](PlanT &p) { gradientOf(p).outputs[1] = plan::AttentionOperand(5, 120, 8, 48); },
     "reaches element 335 of the gradient of k in buffer b5 \"dk\", which has 240"},
    {"ElementsTwice", [](PlanT &p) { gradientOf(p).outputs[1] = plan::AttentionOperand(5, 8, 8, 24); },
     "has elements of the gradient of k more than once"},
    {"OneName", [](PlanT &p) { endOf(p).attention->gradient = 7; },
     "the attention of command #2 \"o\" names command 7 as its gradient, expected one that names it in turn"},
    {"NoGradient", [](PlanT &p) { endOf(p).attention->gradient = -1; },
     "the gradient of attention, command #8 \"gradient\", names command 2 as its attention, expected one "
     "before it "
     "that names it in turn"},
    {"OtherRows", [](PlanT &p) { gradientOf(p).stats = 7; },
     "the gradient of attention, command #8 \"gradient\", reads the rows of buffer 7, expected those of"},
    {"RowsOfAResult",
     [](PlanT &p) {
       endOf(p).attention->stats = gradientOf(p).outputs[0].buffer();
       gradientOf(p).stats = endOf(p).attention->stats;
     },
     "the attention of command #2 \"o\" keeps its rows in buffer 4, expected one of the arena"},
    {"OtherSteps", [](PlanT &p) { gradientOf(p).inputs[1] = plan::AttentionOperand(1, 120, 40, 8); },
     "is of q bf16[2x3x4x8] by 96x8x24x1, k bf16[2x3x5x8] by 120x40x8x1"},
    {"AnotherBuffer", [](PlanT &p) { gradientOf(p).inputs[1] = moved(gradientOf(p).inputs[1], 2); },
     "which are the caller's slot 2, no origin of its operand 4"},
    {"AnotherValue",
     [](PlanT &p) {
       for (plan::Origin &origin : p.commands[kGradient]->origins)
         if (origin.operand() == 6)
           origin = plan::Origin(6, -1, 0, -1, 0);
     },
     "reads another value of o than its attention"},
    {"OtherStepsOfAGroup",
     [](PlanT &p) {
       p = gradientPlan(2);
       gradientOf(p).inputs[1] = plan::AttentionOperand(1, 120, 40, 8);
     },
     "is of q bf16[2x6x4x8] by 192x8x48x1, k bf16[2x3x5x8] by 120x40x8x1"},
    {"MadeByNoPart", [](PlanT &p) { p.commands[6]->attention = -1; },
     "has a gradient in buffer 4 that a command has made whose work it does not do"},
    {"PartOfAnotherLane",
     [](PlanT &p) {
       p.commands[5]->attention = int32_t(kGradient);
       p.commands[5]->owner = std::make_unique<plan::Owner>(0, 0);
     },
     "command #5 \"ds\""},
    {"PartIsAttention", [](PlanT &p) { p.commands[kEnd]->attention = int32_t(kGradient); },
     "command #2 \"o\" names command 8 as the end of its attention, expected one that names it in turn, or a "
     "gradient behind it"},
    {"ReaderOfThePart", [](PlanT &p) { look(p, 10, 5, 0); },
     "command #9 \"look\" reads as operand 0 what command #5 \"ds\" makes, which only the attention of "
     "command "
     "#8 \"gradient\" may"},
    {"ReaderOfTheSoftmax", [](PlanT &p) { look(p, 7, 1, 0); },
     "command #9 \"look\" reads as operand 0 what command #1 \"softmax\" makes, which only the attention of "
     "command #2 \"o\" may"},
    {"ReaderOfRows", [](PlanT &p) { look(p, endOf(p).attention->stats, 2, 1); },
     "command #9 \"look\" reads as operand 0 what command #2 \"o\" makes, which only the attention of "
     "command #8 "
     "\"gradient\" may"},
    {"APartsResult", [](PlanT &p) { p.slots[4]->origins = {plan::Origin(0, 6, 0, -1, 0)}; },
     "result s4 \"dq\" is what command #6 \"dq\" makes, which only the attention of command #8 \"gradient\" "
     "may "
     "read"},
};

INSTANTIATE_TEST_SUITE_P(All, AttentionGradientFaults, testing::ValuesIn(kCases),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace epl::runtime
