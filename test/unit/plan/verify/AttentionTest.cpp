// What a library may run as attention, and what the verifier finds wrong with it.

#include "runtime/plan/model/Attention.h"

#include "runtime/plan/model/Access.h"
#include "runtime/plan/model/Dump.h"
#include "runtime/plan/verify/Verifier.h"
#include "test/unit/plan/AttentionPlans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace epl::runtime {
namespace {

using plan::PlanT;
using testing::Contains;
using testing::HasSubstr;

using test::attentionPlan, test::kB, test::kD, test::kH, test::kK, test::kQ;

plan::ContractT &endOf(PlanT &plan) { return *plan.commands[2]->action.AsContract(); }
plan::ContractT &scoresOf(PlanT &plan) { return *plan.commands[0]->action.AsContract(); }

TEST(Attention, IsOfTensorsOfALibrary) {
  PlanT plan = attentionPlan();
  EXPECT_EQ(verifyPlan(plan), std::vector<std::string>());
  EXPECT_EQ(textOf(shapeOf(plan, endOf(plan))),
            "q bf16[2x3x4x8] by 96x8x24x1, k bf16[2x3x5x8] by 120x8x24x1, v bf16[2x3x5x8] by 120x8x24x1, "
            "o bf16[2x3x4x8] by 96x8x24x1, scale 0.250000 causal");
  EXPECT_THAT(dumpPlan(plan), HasSubstr("attention with #0 and #1 scale 0.25 causal"));
  EXPECT_EQ(plan.commands[0]->attention, 2);
  EXPECT_EQ(plan.commands[1]->attention, 2);
}

TEST(Attention, NamesItsCommandsBehindCopiesOfResults) {
  PlanT plan = attentionPlan(true);
  ASSERT_EQ(plan.commands.size(), 4U);
  EXPECT_EQ(plan.commands[0]->name, "copy kept");
  const plan::AttentionT &attention = *plan.commands[3]->action.AsContract()->attention;
  EXPECT_EQ(plan.commands[attention.scores]->name, "scores");
  EXPECT_EQ(plan.commands[attention.softmax]->name, "softmax");
  EXPECT_EQ(verifyPlan(plan), std::vector<std::string>());
}

TEST(Attention, OfOneMatrixHasOneSampleAndHead) {
  PlanT plan = attentionPlan();
  endOf(plan).batch.clear(), scoresOf(plan).batch.clear();
  EXPECT_EQ(shapeOf(plan, endOf(plan)).v.extents, (std::array<int64_t, 4>{1, 1, kK, kD}));
  EXPECT_EQ(shapeOf(plan, endOf(plan)).v.strides[2], kH * kD);
}

/// One head of k and v for all of q.
TEST(Attention, OfOneHeadOfKeysHasThatOfDenseSteps) {
  PlanT plan = attentionPlan();
  scoresOf(plan).batch[1] = plan::BatchDim(kH, kD, 0, kQ * kK);
  endOf(plan).batch[0] = plan::BatchDim(kH, kQ * kK, 0, kD);
  EXPECT_EQ(verifyPlan(plan), std::vector<std::string>());
  EXPECT_EQ(textOf(shapeOf(plan, endOf(plan))),
            "q bf16[2x3x4x8] by 96x8x24x1, k bf16[2x1x5x8] by 120x120x24x1, v bf16[2x1x5x8] by 120x120x24x1, "
            "o bf16[2x3x4x8] by 96x8x24x1, scale 0.250000 causal");
}

TEST(Attention, ReadsQueriesAndKeysToo) {
  PlanT plan = attentionPlan();
  std::vector<Access> accesses = accessesOf(plan, Mesh(plan), *plan.commands[2]);
  ASSERT_EQ(accesses.size(), 5U);
  EXPECT_EQ(accesses[2].buffer, scoresOf(plan).a);
  EXPECT_EQ(accesses[3].buffer, scoresOf(plan).b);
  EXPECT_FALSE(accesses[2].write || accesses[3].write);
  EXPECT_EQ(accesses[3].ranges, (std::vector<ByteRange>{{0, uint64_t(kB * kK * kH * kD * 2)}}));
}

struct Case {
  const char *name;
  std::function<void(PlanT &)> change;
  std::string fault;
};

class AttentionFaults : public testing::TestWithParam<Case> {};

TEST_P(AttentionFaults, AreNamed) {
  PlanT plan = attentionPlan();
  GetParam().change(plan);
  EXPECT_THAT(verifyPlan(plan), Contains(HasSubstr(GetParam().fault)));
}

const Case kCases[] = {
    {"NoScores", [](PlanT &p) { endOf(p).attention->scores = 7; },
     "command #2 \"o\" names command 7 as its scores, expected a contraction before it"},
    {"ALaterSoftmax", [](PlanT &p) { endOf(p).attention->softmax = 2; },
     "the attention of command #2 \"o\" names commands 0 and 2 as its scores and their softmax, expected "
     "earlier "
     "ones"},
    {"NoSoftmax",
     [](PlanT &p) {
       endOf(p).attention->scores = 1, endOf(p).attention->softmax = 1;
       p.commands[1]->action.Set(plan::ContractT(scoresOf(p)));
     },
     "the attention of command #2 \"o\" names commands 1 and 1 as its scores"},
    {"OnACpu", [](PlanT &p) { p.device_kind = "cpu", p.kernels[0]->grids.clear(); },
     "the attention of command #2 \"o\" is on a device of kind \"cpu\", expected \"cuda\""},
    {"InfiniteScale", [](PlanT &p) { endOf(p).attention->scale = INFINITY; },
     "the attention of command #2 \"o\" has a scale that is not finite"},
    {"OtherScores", [](PlanT &p) { scoresOf(p).has_bias = true, scoresOf(p).widens = false; },
     "is of other products than q k^T and p v, of bf16 or f16"},
    {"OtherSoftmax", [](PlanT &p) { std::swap(endOf(p).a, endOf(p).b); }, "command #2 \"o\""},
    {"HeadsOfOthers", [](PlanT &p) { endOf(p).batch[0] = plan::BatchDim(kH, kQ * kK, 0, kD); },
     "has products whose extents or strides do not fit together"},
    {"OneName", [](PlanT &p) { p.commands[1]->attention = -1; },
     "the attention of command #2 \"o\" names command 1, which does not name it in turn"},
    {"NameOfAnother", [](PlanT &p) { p.commands[2]->attention = 0; },
     "command #2 \"o\" names command 0 as the end of its attention, expected one that names it in turn"},
    {"NameOfNothing", [](PlanT &p) { p.commands[0]->attention = 9; },
     "command #0 \"scores\" names command 9 as the end of its attention"},
    {"AView",
     [](PlanT &p) {
       auto view = std::make_unique<plan::BufferT>();
       view->size = 8, view->view_of = int32_t(endOf(p).a);
       p.buffers.push_back(std::move(view));
     },
     "the attention of command #2 \"o\" has scores that a view is of"},
    {"AnotherReader",
     [](PlanT &p) {
       plan::CopyT copy;
       copy.source = endOf(p).a, copy.target = endOf(p).c, copy.size = 8;
       auto command = std::make_unique<plan::CommandT>();
       command->name = "look";
       command->action.Set(copy);
       command->origins.emplace_back(0, 1, 0, -1, 0);
       p.lanes[0]->commands.push_back(uint32_t(p.commands.size()));
       p.commands.push_back(std::move(command));
     },
     "command #3 \"look\" reads as operand 0 what command #1 \"softmax\" makes, which only the attention of "
     "command #2 \"o\" may"},
};

INSTANTIATE_TEST_SUITE_P(All, AttentionFaults, testing::ValuesIn(kCases),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace epl::runtime
