//===- ParserTest.cpp - PTX text as a module ------------------------------===//

#include "test/unit/cuda/Kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace cuda_double;
using testing::HasSubstr;

static std::string errorOf(const std::string &ptx) {
  try {
    parse(ptx);
  } catch (const PtxError &error) {
    return error.what();
  }
  return "";
}

/// Of a kernel with these statements, on lines from 10 on.
static std::string errorIn(const std::string &body) { return errorOf(makeKernel(1, "\n" + body)); }

TEST(PtxParser, ReadsAModule) {
  Module module = parse(R"(// a comment
.version 8.3
.target sm_90, texmode_independent
.address_size 64
/* another
   one */
.file 1 "model.py"
.global .align 4 .b32 table[3] = {1, -2, 0x10};
.const .f32 half = 0f3F000000;
.visible .entry scale(.param .u32 n, .param .u64 .ptr .global .align 16 data, .param .align 8 .b8 pair[16])
.maxntid 128, 2, 1
{
  .reg .pred %p<2>;
  .reg .b32 %r<3>;
  .local .align 8 .b8 stack[24];
  .shared .align 16 .b8 tile[100];
  .shared .b32 more[2];
$begin:
  .loc 1 7 3
  ld.param.u32 %r1, [n];
  setp.eq.s32 %p1, %r1, 0;
  @!%p1 bra.uni $end;
  bra $begin;
$end:
  ret;
}
)");
  EXPECT_EQ(module.version, "8.3");
  EXPECT_EQ(module.target, "sm_90");
  int32_t table[3];
  std::memcpy(table, reinterpret_cast<void *>(module.variables.at("table").address), sizeof table);
  EXPECT_THAT(table, testing::ElementsAre(1, -2, 16));
  EXPECT_TRUE(module.variables.at("half").isConstant);
  const Entry &entry = module.entries.at("scale");
  ASSERT_EQ(entry.parameters.size(), 3U);
  EXPECT_EQ(entry.parameters[1].offset, 8U);
  EXPECT_EQ(entry.parameters[1].align, 8U); // that of the pointer, not of what it points to
  EXPECT_EQ(entry.parameterBytes, 32U);
  EXPECT_EQ(entry.maxThreads[0] * entry.maxThreads[1] * entry.maxThreads[2], 256U);
  EXPECT_EQ(entry.localBytes, 24U);
  EXPECT_EQ(entry.sharedBytes, 108U);
  ASSERT_EQ(entry.code.size(), 6U); // with the exit behind all
  EXPECT_TRUE(entry.code[2].guardNegated);
  EXPECT_EQ(entry.code[2].operands[0].value, 4U);
  EXPECT_EQ(entry.code[3].operands[0].value, 0U);
  EXPECT_EQ(entry.code[2].line, 22U);
}

TEST(PtxParser, HasSharedVariablesOfTheModuleWhereTheyAreNamed) {
  Module module = parse(R"(
.shared .align 16 .b8 unused[64];
.shared .align 16 .b8 tile[40];
.extern .shared .align 16 .b8 dynamic[];
.entry k() {
  .reg .b32 %r<2>;
  mov.u32 %r0, tile;
  mov.u32 %r1, dynamic;
}
.entry other() { ret; }
)");
  const Entry &entry = module.entries.at("k");
  EXPECT_EQ(entry.code[0].operands[1].value, 0U);
  EXPECT_EQ(entry.code[1].operands[1].value, 48U);
  EXPECT_EQ(entry.sharedBytes, 48U);
  EXPECT_EQ(module.entries.at("other").sharedBytes, 0U);
}

TEST(PtxParser, ReadsOperands) {
  Module module = parse(makeKernel(1, R"(
    ld.global.v2.f32 {%f0, %f1}, [%w0+-8];
    mov.b64 {%r1, %r2}, %w0;
    setp.lt.and.f32 %p1|%p2, %f0, 0fBF800000, !%p3;
    mov.f64 %d0, 0d3FF0000000000000;
    shfl.sync.bfly.b32 %r3|%p1, %r1, 16, 31, -1;
  )"));
  const std::vector<Instruction> &code = module.entries.at("k").code;
  const Instruction &load = code[6];
  EXPECT_EQ(load.vector, 2U);
  EXPECT_EQ(load.operands[1].value, uint64_t(-8));
  EXPECT_EQ(code[7].operands[0].items.size(), 2U);
  EXPECT_EQ(code[8].operands[2].value, 0xBF800000U);
  EXPECT_TRUE(code[8].operands[3].negated);
  EXPECT_GE(code[8].operands[0].second, 0);
  EXPECT_EQ(code[9].operands[1].value, 0x3FF0000000000000U);
  EXPECT_EQ(static_cast<uint32_t>(code[10].operands[4].value), ~0U);
}

TEST(PtxParser, NamesWhatItDoesNotKnow) {
  EXPECT_THAT(errorIn("wgmma.fence.sync.aligned;"),
              HasSubstr("line 10 of the PTX: the instruction \"wgmma.fence.sync.aligned\""));
  EXPECT_THAT(errorIn("add.rn.quick.f32 %f0, %f1, %f2;"),
              HasSubstr("\"quick\" of \"add.rn.quick.f32\" is not known"));
  EXPECT_THAT(errorIn("neg.sat.f32 %f0, %f1;"), HasSubstr("\"sat\" of \"neg.sat.f32\" is not known"));
  EXPECT_THAT(errorIn("add.f32 %f0, %f1, %f99;"), HasSubstr("no register is called \"%f99\""));
  EXPECT_THAT(errorIn("bra nowhere;"), HasSubstr("no label is called \"nowhere\""));
  EXPECT_THAT(errorIn("add.f32 %f0, %f1;"), HasSubstr("has 2 operands, expected 3"));
  EXPECT_THAT(errorIn("add.rn %f0, %f1, %f2;"), HasSubstr("names no type"));
  EXPECT_THAT(errorIn("ld.global.v4.f32 {%f0, %f1}, [%w0];"), HasSubstr("has 2 elements, expected 4"));
  EXPECT_THAT(errorIn("ld.global.f32 %f0, [missing];"), HasSubstr("expected a number, found \"missing\""));
  EXPECT_THAT(errorIn(".callprototype x;"),
              HasSubstr("the directive \".callprototype\" is not known in a kernel"));
  EXPECT_THAT(errorIn("call.uni f, ();"), HasSubstr("the instruction \"call.uni\" is not known"));
  EXPECT_THAT(errorOf(".func f() { ret; }"), HasSubstr("functions are not known"));
  EXPECT_THAT(errorOf(".extern .func (.param .b32 r) cosf (.param .b32 x);"),
              HasSubstr("functions are not known"));
  EXPECT_THAT(errorOf(".tex .u64 t;"), HasSubstr("the directive \".tex\" is not known"));
  EXPECT_THAT(errorOf(".entry k() .explicitcluster { ret; }"), HasSubstr("\".explicitcluster\" of a kernel"));
  EXPECT_THAT(errorOf(".global .b8 t[2] = {1, 2, 3};"), HasSubstr("more values than \"t\" has elements"));
  EXPECT_THAT(errorOf(".entry k() { ret;"), HasSubstr("the text ends early"));
  EXPECT_THAT(errorOf(".entry k() { ret"), HasSubstr("the text ends early"));
  EXPECT_THAT(errorOf(".file 1 \"open"), HasSubstr("a string that does not end"));
}

TEST(PtxParser, SurvivesTextThatIsCutAnywhere) {
  std::string whole =
      makeKernel(2, "ld.global.v2.f32 {%f0, %f1}, [%w0+8];\n@%p1 bra $end; /* x */\n$end:\nbar.sync 0;",
                 ".global .b32 t[2] = {1, 2};\n.shared .b8 s[];");
  for (size_t size = 0; size < whole.size(); ++size)
    errorOf(whole.substr(0, size));
  EXPECT_EQ(errorOf(whole), "");
}
