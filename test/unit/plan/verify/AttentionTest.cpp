// What a library may run as attention, and what the verifier finds wrong with it.

#include "runtime/plan/model/Attention.h"

#include "runtime/plan/model/Access.h"
#include "runtime/plan/model/Dump.h"
#include "runtime/plan/verify/Verifier.h"
#include "test/unit/plan/Plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace epl::runtime {
namespace {

using plan::PlanT;
using test::PlanMaker;
using testing::Contains;
using testing::HasSubstr;

// Samples, heads, queries, keys, and elements of each head.
constexpr int64_t kB = 2, kH = 3, kQ = 4, kK = 5, kD = 8;

plan::ContractT product(int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc) {
  plan::ContractT made;
  made.type = plan::ElementType::bf16;
  made.m = m, made.n = n, made.k = k, made.lda = lda, made.ldb = ldb, made.ldc = ldc;
  return made;
}

/// The kernel of a softmax of the scores.
uint32_t addSoftmax(PlanMaker &maker) {
  plan::KernelT kernel;
  kernel.name = kernel.symbol = "softmax";
  kernel.num_inputs = kernel.num_outputs = 1;
  kernel.operand_sizes = {kB * kH * kQ * kK * 4, kB * kH * kQ * kK * 2};
  kernel.extent = 1;
  kernel.in_place = {-1};
  auto &grid = *kernel.grids.emplace_back(std::make_unique<plan::GridT>());
  grid.blocks = grid.slice = 1, grid.threads = 128, grid.group = 32;
  return maker.addKernel(std::move(kernel));
}

/// #0: scores of s0 and s1; #1: their softmax; #2: its product with s2. Positions are outside of heads. With
/// `keepsQueries` s0 is a result, too.
PlanT attentionPlan(bool keepsQueries = false) {
  PlanMaker maker("cuda");
  int64_t queries = kB * kQ * kH * kD * 2, keys = kB * kK * kH * kD * 2;
  uint32_t q = maker.argument("q", plan::SlotRole::batch, queries);
  uint32_t k = maker.argument("k", plan::SlotRole::batch, keys);
  uint32_t v = maker.argument("v", plan::SlotRole::batch, keys);
  uint32_t result = maker.slot("o", plan::SlotRole::result, queries);
  uint32_t kept = keepsQueries ? maker.slot("kept", plan::SlotRole::result, queries) : 0;
  uint32_t kernel = addSoftmax(maker);
  uint32_t scores = maker.buffer("scores", kB * kH * kQ * kK * 4),
           p = maker.buffer("p", kB * kH * kQ * kK * 2);
  uint32_t o = maker.buffer("o", uint64_t(queries));
  plan::ContractT first = product(kQ, kK, kD, kH * kD, kH * kD, kK);
  first.a = q, first.b = k, first.c = scores, first.widens = first.transpose_b = true;
  first.batch = {plan::BatchDim(kB, kQ * kH * kD, kK * kH * kD, kH * kQ * kK),
                 plan::BatchDim(kH, kD, kD, kQ * kK)};
  maker.contract({.name = "scores", .location = "", .work = ""}, first);
  maker.launch({.name = "softmax", .location = "", .work = ""}, kernel, {scores, p});
  plan::ContractT second = product(kQ, kD, kK, kK, kH * kD, kH * kD);
  second.a = p, second.b = v, second.c = o;
  // The other loop first: which matrices it leads through is what counts.
  second.batch = {plan::BatchDim(kH, kQ * kK, kD, kD),
                  plan::BatchDim(kB, kH * kQ * kK, kK * kH * kD, kQ * kH * kD)};
  second.attention = std::make_unique<plan::AttentionT>();
  second.attention->softmax = 1;
  second.attention->scale = 0.25F, second.attention->causal = true;
  maker.contract({.name = "o", .location = "", .work = ""}, std::move(second));
  maker.setResult(result, o);
  if (keepsQueries)
    maker.setResult(kept, q);
  return maker.finish();
}

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
    {"NarrowScores", [](PlanT &p) { scoresOf(p).widens = false; },
     "is of other products than q k^T in f32 and p v, of bf16 or f16"},
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
       p.lanes[0]->commands.push_back(uint32_t(p.commands.size()));
       p.commands.push_back(std::move(command));
     },
     "command #3 \"look\" reads buffer b5 \"p\", which only the attention of command #2 \"o\" may"},
};

INSTANTIATE_TEST_SUITE_P(All, AttentionFaults, testing::ValuesIn(kCases),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace epl::runtime
