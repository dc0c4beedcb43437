// A plan that breaks each rule of the verifier, and the message that it gets.

#include "runtime/plan/verify/Verifier.h"

#include "test/unit/plan/Plans.h"

#include "runtime/plan/model/Access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace epl::runtime::test {
namespace {

using plan::ImageKind;
using plan::PlanT;

/// c = a b on f32, m x k by k x n in two batches: a is s0, b is s1, c is the result.
PlanT contractPlan() {
  PlanMaker maker;
  uint32_t a = maker.argument("a", plan::SlotRole::batch, 2 * 3 * 4 * 4);
  uint32_t b = maker.argument("b", plan::SlotRole::batch, 4 * 5 * 4);
  uint32_t r = maker.slot("c", plan::SlotRole::result, 2 * 3 * 5 * 4);
  uint32_t c = maker.buffer("c", 2 * 3 * 5 * 4);
  plan::ContractT contract;
  contract.type = plan::ElementType::f32;
  contract.a = a, contract.b = b, contract.c = c;
  contract.m = 3, contract.n = 5, contract.k = 4;
  contract.lda = 4, contract.ldb = 5, contract.ldc = 5;
  contract.batch = {plan::BatchDim(2, 12, 0, 15)};
  maker.contract({.name = "matmul", .location = "", .work = ""}, std::move(contract));
  maker.setResult(r, c);
  return maker.finish();
}

/// The same for a GPU, with an epilogue, whose bias is s2.
PlanT epiloguePlan() {
  PlanMaker maker("cuda");
  uint32_t a = maker.argument("a", plan::SlotRole::batch, 3 * 4 * 4);
  uint32_t b = maker.argument("b", plan::SlotRole::batch, 4 * 5 * 4);
  uint32_t bias = maker.argument("bias", plan::SlotRole::batch, 5 * 4);
  uint32_t r = maker.slot("c", plan::SlotRole::result, 3 * 5 * 4);
  uint32_t c = maker.buffer("c", 3 * 5 * 4);
  plan::ContractT contract;
  contract.type = plan::ElementType::f32;
  contract.a = a, contract.b = b, contract.c = c, contract.bias = bias, contract.has_bias = true;
  contract.activation = plan::Activation::gelu;
  contract.m = 3, contract.n = 5, contract.k = 4;
  contract.lda = 4, contract.ldb = 5, contract.ldc = 5;
  maker.contract({.name = "matmul", .location = "", .work = ""}, std::move(contract));
  maker.setResult(r, c);
  return maker.finish();
}

plan::ContractT &contractOf(PlanT &plan) { return *plan.commands[0]->action.AsContract(); }
plan::FactorizationT &factorizationOf(PlanT &plan, size_t kernel) {
  return *plan.kernels[kernel]->factorization;
}
plan::LaunchT &launchOf(PlanT &plan, size_t command) { return *plan.commands[command]->action.AsLaunch(); }
plan::ReducePartT &reduceOf(PlanT &plan) { return *plan.commands[6]->action.AsReducePart(); }
plan::ReducedTensorT &reducedOf(PlanT &plan) { return reduceOf(plan).tensors[0]; }
plan::GatherPartsT &gatherOf(PlanT &plan) { return *plan.commands[7]->action.AsGatherParts(); }
plan::GatheredBlocksT &blocksOf(PlanT &plan) { return plan.commands[0]->action.AsGatherBlocks()->tensors[0]; }

/// The training plan on two ranks is dumped in DumpTest.cpp: indices below are those of it.
PlanT training() { return trainingPlan(2); }

plan::ImageT &addImage(PlanT &plan, plan::ImageKind kind) {
  plan.images.push_back(std::make_unique<plan::ImageT>());
  plan.images.back()->kind = kind;
  return *plan.images.back();
}

/// The same for GPUs: images as PTX and for sm_90.
PlanT onGpu() {
  PlanT plan = training();
  plan.device_kind = "cuda";
  addImage(plan, plan::ImageKind::ptx).isa = 80;
  addImage(plan, plan::ImageKind::cubin).target = "sm_90";
  for (auto &kernel : plan.kernels) {
    plan::GridT &grid = *kernel->grids.emplace_back(std::make_unique<plan::GridT>());
    grid.blocks = grid.slice = 1;
    grid.threads = 128;
    grid.group = 32;
  }
  return plan;
}

/// The second half of an all-reduce, over a communicator and in a lane of its own.
void gatherAmongOthers(PlanT &plan) {
  gatherOf(plan).communicator = 1;
  plan.communicators.push_back(std::make_unique<plan::CommunicatorT>(*plan.communicators[0]));
  std::erase(plan.lanes[plan.commands[7]->lane]->commands, 7);
  plan.commands[7]->lane = uint32_t(plan.lanes.size());
  plan.lanes.push_back(std::make_unique<plan::LaneT>());
  plan.lanes.back()->kind = plan::LaneKind::communicate;
  plan.lanes.back()->communicator = 1;
  plan.lanes.back()->commands = {7};
}

/// The slot, of 128 elements, in two shares of parts.
void setParts(plan::SlotT &slot, std::vector<int64_t> extents, uint32_t dim = 0) {
  slot.shape = {2, 64};
  slot.caller_shape = {128};
  slot.sharding.resize(2);
  for (auto &each : slot.sharding)
    each = std::make_unique<plan::DimShardingT>();
  slot.caller_parts.push_back(std::make_unique<plan::CallerPartsT>());
  slot.caller_parts[0]->dim = dim;
  slot.caller_parts[0]->extents = std::move(extents);
}

struct Case {
  const char *name;
  PlanT (*make)();
  std::function<void(PlanT &)> breakIt;
  std::string message;
};

std::ostream &operator<<(std::ostream &out, const Case &each) { return out << each.name; }

class VerifierRule : public testing::TestWithParam<Case> {};

TEST_P(VerifierRule, RejectsAPlanThatBreaksIt) {
  PlanT plan = GetParam().make();
  ASSERT_THAT(verifyPlan(plan), testing::IsEmpty());
  GetParam().breakIt(plan);
  EXPECT_THAT(verifyPlan(plan), testing::Contains(GetParam().message));
}

std::string nameOf(const testing::TestParamInfo<Case> &info) { return info.param.name; }

const Case tables[] = {
    {"Version", training, [](PlanT &p) { p.version = 11; }, "version is 11, expected 22"},
    {"Images", training, [](PlanT &p) { addImage(p, ImageKind::elf).bytes.resize((1 << 28) + 1); },
     "images have 268435457 bytes, expected at most 268435456"},
    {"ImageKind", training, [](PlanT &p) { addImage(p, ImageKind(7)); },
     "image 0 has kind 7, which does not exist"},
    {"ImageOfGpuForCpu", training, [](PlanT &p) { addImage(p, ImageKind::ptx).isa = 80; },
     "image 0 is of kind ptx, expected elf for devices of kind \"cpu\""},
    {"ImageOfCpuForGpu", onGpu, [](PlanT &p) { addImage(p, ImageKind::elf); },
     "image 2 is of kind elf, expected ptx or cubin for devices of kind \"cuda\""},
    {"ImageTwice", training, [](PlanT &p) { addImage(p, ImageKind::elf), addImage(p, ImageKind::elf); },
     "image 1 is another one of kind elf, expected one"},
    {"ImageOfArchitectureTwice", onGpu, [](PlanT &p) { addImage(p, ImageKind::cubin).target = "sm_90"; },
     "image 2 is another one of kind cubin for \"sm_90\", expected one"},
    {"ImageFeatures", onGpu, [](PlanT &p) { p.images[0]->features = {"avx2"}; },
     "image 0 names CPU features, which code for GPUs does not need"},
    {"ImageWithoutVersion", onGpu, [](PlanT &p) { p.images[0]->isa = 0; },
     "image 0 has instruction set 0, expected a version"},
    {"ImageWithVersion", onGpu, [](PlanT &p) { p.images[1]->isa = 80; },
     "image 1 has instruction set 80, expected 0, as it is no PTX"},
    {"DeviceKind", training, [](PlanT &p) { p.device_kind = ""; }, "device kind is empty"},
    {"Devices", training, [](PlanT &p) { p.devices = 3; },
     "devices is 3, expected the product of the axes, 2"},
    {"TooManyDevices", training, [](PlanT &p) { p.axes[0]->size = 1u << 31; },
     "axes make more than 1024 devices"},
    {"AxisWithoutName", training, [](PlanT &p) { p.axes[0]->name = ""; },
     "axis \"\" is named twice or not at all"},
    {"AxisNamedTwice", gatherPlan, [](PlanT &p) { p.axes[1]->name = "data"; },
     "axis \"data\" is named twice or not at all"},
    {"EmptyAxis", training, [](PlanT &p) { p.axes[0]->size = 0; }, "axis \"data\" has size 0"},
    {"TooManyCommunicators", training,
     [](PlanT &p) {
       while (p.communicators.size() < 65)
         p.communicators.push_back(std::make_unique<plan::CommunicatorT>(*p.communicators[0]));
     },
     "plan has 65 communicators, expected at most 64"},
    {"CommunicatorWithoutAxes", training, [](PlanT &p) { p.communicators[0]->axes.clear(); },
     "communicator c0 has no axis"},
    {"CommunicatorOverNoAxis", training, [](PlanT &p) { p.communicators[0]->axes = {"date"}; },
     "communicator c0 names axis \"date\", which is not in the mesh"},
    {"CommunicatorOverAnAxisTwice", training, [](PlanT &p) { p.communicators[0]->axes = {"data", "data"}; },
     "communicator c0 names axis \"data\" twice"},
    {"TooManyCommunicatedAxes", training,
     [](PlanT &p) {
       for (char name = 'a'; name < 'a' + 8; ++name) {
         p.axes.push_back(std::make_unique<plan::AxisT>(*p.axes[0]));
         p.axes.back()->name = name;
         p.communicators[0]->axes.emplace_back(1, name);
       }
       p.devices = 512;
     },
     "communicators use 9 axes, expected at most 8"},
    {"SlotRole", training, [](PlanT &p) { p.slots[0]->role = plan::SlotRole(7); },
     "slot s0 \"w1\" has role 7, which does not exist"},
    {"ArgumentBehindResult", training, [](PlanT &p) { p.slots[5]->role = plan::SlotRole::batch; },
     "slot s5 \"loss\" is an argument behind a result"},
    {"SlotType", training, [](PlanT &p) { p.slots[0]->type = plan::ElementType(-3); },
     "slot s0 \"w1\" has element type -3, which does not exist"},
    {"SlotShardingRank", training, [](PlanT &p) { p.slots[0]->sharding.clear(); },
     "slot s0 \"w1\" has 1 dimensions and a sharding for 0"},
    {"SlotOverNoAxis", training, [](PlanT &p) { p.slots[2]->sharding[0]->axes = {"model"}; },
     "slot s2 \"x\" names axis \"model\", which is not in the mesh"},
    {"SlotDoesNotDivide", training, [](PlanT &p) { p.slots[2]->shape[0] = 127; },
     "slot s2 \"x\" has size 127 in dimension 0, which 2 devices do not divide"},
    {"SlotNegativeSize", training, [](PlanT &p) { p.slots[2]->shape[0] = -2; },
     "slot s2 \"x\" has size -2 in dimension 0"},
    {"SlotTooLarge", training, [](PlanT &p) { p.slots[2]->shape[0] = int64_t(1) << 62; },
     "slot s2 \"x\" has more than 281474976710656 bytes"},
    {"CallerShape", training, [](PlanT &p) { p.slots[0]->caller_shape = {2, 63}; },
     "slot s0 \"w1\" has 128 bytes, and 126 in the shape that the caller sees"},
    {"CallerShapeNegativeSize", training, [](PlanT &p) { p.slots[0]->caller_shape = {-1, 128}; },
     "slot s0 \"w1\" has size -1 in the shape that the caller sees"},
    {"UpdatesAnotherCallerShape", training, [](PlanT &p) { p.slots[3]->caller_shape = {2, 64}; },
     "slot s3 \"w1\" updates slot s0 \"w1\" of another type, shape, sharding or owner"},
    {"CallerPartsWithoutShape", training,
     [](PlanT &p) {
       setParts(*p.slots[0], {64, 64});
       p.slots[0]->caller_shape.clear();
     },
     "slot s0 \"w1\" has parts, but no shape that the caller sees"},
    {"CallerPartsDimension", training, [](PlanT &p) { setParts(*p.slots[0], {64, 64}, 1); },
     "slot s0 \"w1\" has parts of dimension 1, expected one from 0 to 0"},
    {"CallerPartsSize", training, [](PlanT &p) { setParts(*p.slots[0], {65, 63}); },
     "slot s0 \"w1\" has a part of size 65 of dimension 0, expected a multiple of 2"},
    {"CallerPartsSum", training, [](PlanT &p) { setParts(*p.slots[0], {64, 62}); },
     "slot s0 \"w1\" has parts of size 126 of dimension 0, expected 2 x 64"},
    {"UpdatesOtherCallerParts", training,
     [](PlanT &p) {
       setParts(*p.slots[0], {30, 98});
       setParts(*p.slots[3], {98, 30});
     },
     "slot s3 \"w1\" updates slot s0 \"w1\" of another type, shape, sharding or owner"},
    {"ArgumentUpdates", training, [](PlanT &p) { p.slots[2]->updates = 0; },
     "slot s2 \"x\" updates a slot but is no result"},
    {"UpdatesNothing", training, [](PlanT &p) { p.slots[3]->updates = 99; },
     "slot s3 \"w1\" updates slot 99, which is no state"},
    {"UpdatesABatch", training, [](PlanT &p) { p.slots[3]->updates = 2; },
     "slot s3 \"w1\" updates slot 2, which is no state"},
    {"UpdatesTwice", training, [](PlanT &p) { p.slots[4]->updates = 0; },
     "slot s4 \"w2\" updates slot s0 \"w1\", as another result does"},
    {"UpdatesAnotherShape", training, [](PlanT &p) { p.slots[3]->shape[0] = 64; },
     "slot s3 \"w1\" updates slot s0 \"w1\" of another type, shape, sharding or owner"},
    {"UpdatesAnotherSharding", training, [](PlanT &p) { p.slots[3]->sharding[0]->axes = {"data"}; },
     "slot s3 \"w1\" updates slot s0 \"w1\" of another type, shape, sharding or owner"},
    {"BufferTooLarge", training, [](PlanT &p) { p.buffers[4]->size = uint64_t(1) << 60; },
     "buffer b4 \"h1\" has more than 281474976710656 bytes"},
    {"BufferOfNoSlot", training, [](PlanT &p) { p.buffers[0]->slot = 77; },
     "buffer b0 \"w1\" names slot 77 of 6"},
    {"BufferOfNegativeSlot", training, [](PlanT &p) { p.buffers[0]->slot = -2; },
     "buffer b0 \"w1\" names slot -2 of 6"},
    {"BufferOfAnUpdatingSlot", training, [](PlanT &p) { p.buffers[0]->slot = 3; },
     "buffer b0 \"w1\" names slot s3 \"w1\", which is storage of the slot that it updates"},
    {"TwoBuffersOfOneSlot", training, [](PlanT &p) { p.buffers[1]->slot = 0; },
     "buffer b1 \"w2\" names slot s0 \"w1\", as another buffer does"},
    {"BufferSizeIsNotItsSlots", training, [](PlanT &p) { p.buffers[2]->size = 128; },
     "buffer b2 \"x\" has 128 bytes, expected 64 as slot s2 \"x\" has on each rank"},
    {"ViewOfNoBuffer", viewsPlan, [](PlanT &p) { p.buffers[7]->view_of = 99; },
     "buffer b7 \"row\" is a view of buffer 99 of 25"},
    {"ViewOfItself", viewsPlan, [](PlanT &p) { p.buffers[7]->view_of = 7; },
     "buffer b7 \"row\" is a view of buffer b7 \"row\", which is one, too"},
    {"ViewOfASlot", viewsPlan, [](PlanT &p) { p.buffers[7]->slot = 1; },
     "buffer b7 \"row\" is a view, and names slot 1"},
    {"ViewBeyondItsBuffer", viewsPlan, [](PlanT &p) { p.buffers[7]->offset = 48; },
     "buffer b7 \"row\" is 16 bytes at 48 of buffer b1 \"x\", which has 48"},
    {"ViewBetweenParts", viewsPlan, [](PlanT &p) { p.buffers[7]->offset = 8; },
     "buffer b7 \"row\" begins at 8 of buffer b1 \"x\", expected a multiple of its 16 bytes"},
    {"ViewOfAnotherPart", viewsPlan, [](PlanT &p) { p.buffers[7]->offset = 16; },
     "command #2 \"use0\" reads bytes 16..31 of slot s1 \"x\" of rank 0 through buffer b7 \"row\", which are "
     "the caller's slot 1, no origin of its operand 0"},
    {"KernelWithoutSymbol", training, [](PlanT &p) { p.kernels[0]->symbol = ""; },
     "kernel k0 \"layer1\" has no symbol"},
    {"KernelNegativeExtent", training, [](PlanT &p) { p.kernels[0]->extent = -1; },
     "kernel k0 \"layer1\" has extent -1 and 0 flops, expected none negative"},
    {"KernelWithoutGrid", onGpu, [](PlanT &p) { p.kernels[0]->grids.clear(); },
     "kernel k0 \"layer1\" has no grid, expected one on a GPU"},
    {"KernelWithGrid", training,
     [](PlanT &p) { p.kernels[0]->grids.push_back(std::make_unique<plan::GridT>()); },
     "kernel k0 \"layer1\" has a grid, expected none but for code on a GPU"},
    {"KernelBlocks", onGpu, [](PlanT &p) { p.kernels[0]->grids[0]->blocks = 0; },
     "kernel k0 \"layer1\" has 0 blocks of 128 threads, expected 1 to 2147483647 of 1 to 1024"},
    {"KernelThreads", onGpu, [](PlanT &p) { p.kernels[0]->grids[0]->threads = 1025; },
     "kernel k0 \"layer1\" has 1 blocks of 1025 threads, expected 1 to 2147483647 of 1 to 1024"},
    {"KernelShared", onGpu, [](PlanT &p) { p.kernels[0]->grids[0]->shared = (1 << 20) + 1; },
     "kernel k0 \"layer1\" takes 1048577 bytes of shared memory, expected at most 1048576"},
    {"KernelSlice", onGpu, [](PlanT &p) { p.kernels[0]->grids[0]->slice = 0; },
     "kernel k0 \"layer1\" has slices of no indices"},
    {"KernelGroup", onGpu, [](PlanT &p) { p.kernels[0]->grids[0]->group = 48; },
     "kernel k0 \"layer1\" has blocks of 128 threads in groups of 48, expected whole groups"},
    {"KernelGridExtent", onGpu, [](PlanT &p) { p.kernels[0]->grids[0]->extent = -1; },
     "kernel k0 \"layer1\" has a grid of extent -1, expected none negative"},
    {"KernelOperandCount", training, [](PlanT &p) { p.kernels[0]->num_inputs = UINT32_MAX; },
     "kernel k0 \"layer1\" has 4294967296 operands and 3 sizes"},
    {"KernelInPlaceCount", training, [](PlanT &p) { p.kernels[0]->in_place = {-1, 0}; },
     "kernel k0 \"layer1\" has 1 outputs and in-place entries for 2"},
    {"KernelInPlaceOfNothing", training, [](PlanT &p) { p.kernels[0]->in_place = {2}; },
     "kernel k0 \"layer1\" writes output 0 over input 2 of 2"},
    {"KernelInPlaceSize", training, [](PlanT &p) { p.kernels[0]->in_place = {1}; },
     "kernel k0 \"layer1\" writes output 0 over input 1 of another size"},
    {"KernelInPlaceTwice", training,
     [](PlanT &p) { p.kernels[2]->in_place = {0, 0}, p.kernels[2]->operand_sizes[1] = 256; },
     "kernel k2 \"loss\" writes two outputs over input 0"},
    {"FactorizationOfNoKind", factorizationPlan,
     [](PlanT &p) { factorizationOf(p, 0).kind = plan::FactorizationKind(9); },
     "kernel k0 \"eigh\" factors by kind 9, which does not exist"},
    {"FactorizationOfIntegers", factorizationPlan,
     [](PlanT &p) { factorizationOf(p, 0).type = plan::ElementType::i32; },
     "kernel k0 \"eigh\" factors elements of type 3, expected f32 or f64"},
    {"FactorizationOfNoSquare", factorizationPlan, [](PlanT &p) { factorizationOf(p, 0).columns = 2; },
     "kernel k0 \"eigh\" factors 3 x 2, expected a square"},
    {"FactorizationOfOtherSizes", factorizationPlan, [](PlanT &p) { factorizationOf(p, 1).columns = 2; },
     "kernel k1 \"solve\" has operands or a workspace of other sizes than triangular_solve of 2 matrices of "
     "3 x 2 has"},
    {"FactorizationOfOtherOperands", factorizationPlan,
     [](PlanT &p) {
       factorizationOf(p, 1).kind = plan::FactorizationKind::cholesky, factorizationOf(p, 1).columns = 3;
     },
     "kernel k1 \"solve\" has operands or a workspace of other sizes than cholesky of 2 matrices of 3 x 3 "
     "has"},
    {"FactorizationOfMoreMatrices", factorizationPlan, [](PlanT &p) { p.kernels[0]->extent = 3; },
     "kernel k0 \"eigh\" has operands or a workspace of other sizes than eigh of 3 matrices of 3 x 3 has"},
    {"FactorizationInTooLittleMemory", factorizationPlan, [](PlanT &p) { --p.kernels[0]->workspace; },
     "kernel k0 \"eigh\" has operands or a workspace of other sizes than eigh of 2 matrices of 3 x 3 has"},
    {"FactorizationInPlace", factorizationPlan, [](PlanT &p) { p.kernels[0]->in_place = {0, -1}; },
     "kernel k0 \"eigh\" writes over an input, which no factorization does"},
    {"ConvolutionOnACpu", training,
     [](PlanT &p) { p.kernels[0]->convolution = std::make_unique<plan::ConvolutionT>(); },
     "kernel k0 \"layer1\" has a convolution, expected none but for code on a GPU"},
    {"ConvolutionOfNothing", onGpu,
     [](PlanT &p) { p.kernels[0]->convolution = std::make_unique<plan::ConvolutionT>(); },
     "kernel k0 \"layer1\": the convolution has 0 axes, expected 1 to 3"},
    {"LaneKind", training, [](PlanT &p) { p.lanes[0]->kind = plan::LaneKind(9); },
     "lane 0 has kind 9, which does not exist"},
    {"LaneOfNoCommunicator", training, [](PlanT &p) { p.lanes[1]->communicator = 4; },
     "lane 1 names communicator 4, expected one of the plan's"},
    {"ComputeLaneOfACommunicator", training, [](PlanT &p) { p.lanes[0]->communicator = 0; },
     "lane 0 names communicator 0, expected -1"},
    {"TooManyLanes", training,
     [](PlanT &p) {
       while (p.lanes.size() < 65)
         p.lanes.push_back(std::make_unique<plan::LaneT>());
     },
     "plan has 65 lanes, expected at most 64"},
    {"TooManyCommands", training,
     [](PlanT &p) {
       for (char name = 'a'; name < 'a' + 7; ++name) {
         p.axes.push_back(std::make_unique<plan::AxisT>(*p.axes[0]));
         p.axes.back()->name = name;
         p.communicators[0]->axes.emplace_back(1, name);
       }
       p.devices = 256;
       while (p.lanes.size() < 64)
         p.lanes.push_back(std::make_unique<plan::LaneT>());
       while (p.commands.size() < 16385)
         p.commands.push_back(std::make_unique<plan::CommandT>());
     },
     "plan has 16385 commands, expected at most 16384 with 64 lanes and communicators over 8 axes"},
    {"LaneListsNoCommand", training, [](PlanT &p) { p.lanes[0]->commands.push_back(14); },
     "lane 0 lists command 14 of 14"},
    {"CommandListedTwice", training, [](PlanT &p) { p.lanes[0]->commands.push_back(13); },
     "command #13 \"update1\" is listed 2 times in lanes, expected once"},
    {"CommandNotListed", training, [](PlanT &p) { p.lanes[0]->commands.pop_back(); },
     "command #13 \"update1\" is listed 0 times in lanes, expected once"},
    {"CommandInAnotherLane", training, [](PlanT &p) { p.commands[0]->lane = 1; },
     "command #0 \"layer1\" is listed in lane 0, expected lane 1"},
    {"LaneOrder", training, [](PlanT &p) { std::swap(p.lanes[0]->commands[0], p.lanes[0]->commands[1]); },
     "lane 0 runs command #0 \"layer1\" behind command 1: expected program order"},
};

const Case commands[] = {
    {"NoAction", training, [](PlanT &p) { p.commands[0]->action.Reset(); },
     "command #0 \"layer1\" has no action"},
    {"LaunchInACommunicatorsLane", training,
     [](PlanT &p) {
       p.commands[13]->lane = 1;
       p.lanes[0]->commands.pop_back();
       p.lanes[1]->commands.push_back(13);
     },
     "command #13 \"update1\" is no collective but in lane 1, which is a communicator's"},
    {"CollectiveInAComputeLane", training,
     [](PlanT &p) {
       p.commands[11]->lane = 0;
       p.lanes[1]->commands.pop_back();
       p.lanes[0]->commands = {0, 1, 2, 5, 8, 9, 11, 12, 13};
     },
     "command #11 \"sum g1\" is in lane 0, expected a lane of communicator c0"},
    {"NoSuchCommunicator", training, [](PlanT &p) { reduceOf(p).communicator = 5; },
     "command #6 \"sum g2\" names communicator 5 of 1"},
    {"NoSuchKernel", training, [](PlanT &p) { launchOf(p, 0).kernel = 50; },
     "command #0 \"layer1\" names kernel 50 of 8"},
    {"LaunchOperandCount", training, [](PlanT &p) { launchOf(p, 0).buffers.pop_back(); },
     "command #0 \"layer1\" has 2 buffers, expected 3 for kernel k0 \"layer1\""},
    {"LaunchWithoutWorkspace", training, [](PlanT &p) { launchOf(p, 1).buffers.pop_back(); },
     "command #1 \"layer2\" has 3 buffers, expected 4 for kernel k1 \"layer2\""},
    {"NoSuchBuffer", training, [](PlanT &p) { launchOf(p, 0).buffers[1] = 12; },
     "command #0 \"layer1\" names buffer 12 of 12"},
    {"LaunchOperandSize", training, [](PlanT &p) { p.buffers[4]->size = 255; },
     "command #0 \"layer1\" passes buffer b4 \"h1\" of 255 bytes as operand 2 of kernel k0 \"layer1\", "
     "expected 256"},
    {"LaunchWorkspaceSize", training, [](PlanT &p) { p.buffers[6]->size = 99; },
     "command #1 \"layer2\" passes buffer b6 \"scratch\" of 99 bytes as workspace of kernel k1 \"layer2\", "
     "expected at least 100"},
    {"WritesABatch", training, [](PlanT &p) { reducedOf(p).target = 2, reducedOf(p).count = 64; },
     "command #6 \"sum g2\" writes slot s2 \"x\", which no result updates"},
    {"ReduceCount", training, [](PlanT &p) { reducedOf(p).count = 193; },
     "command #6 \"sum g2\" needs 193 bytes of buffer b8 \"g2\", which has 192"},
    {"ReduceNegativeCount", training, [](PlanT &p) { reducedOf(p).count = -1; },
     "command #6 \"sum g2\" has a count of -1"},
    {"ReduceHugeCount", training,
     [](PlanT &p) { reducedOf(p).type = plan::ElementType::f64, reducedOf(p).count = INT64_MAX; },
     "command #6 \"sum g2\" needs too many bytes of buffer b8 \"g2\", which has 192"},
    {"ReduceType", training, [](PlanT &p) { reducedOf(p).type = plan::ElementType(40); },
     "command #6 \"sum g2\" has element type 40, which does not exist"},
    {"ReductionKind", training, [](PlanT &p) { reduceOf(p).reduction = plan::ReductionKind(40); },
     "command #6 \"sum g2\" has reduction 40, which does not exist"},
    {"ReductionOfNumbers", training, [](PlanT &p) { reduceOf(p).reduction = plan::ReductionKind::any; },
     "command #6 \"sum g2\" combines i8 by any"},
    {"ReductionOfBooleans", training, [](PlanT &p) { reducedOf(p).type = plan::ElementType::i1; },
     "command #6 \"sum g2\" combines i1 by sum"},
    {"ReduceNothing", training, [](PlanT &p) { reduceOf(p).tensors.clear(); },
     "command #6 \"sum g2\" has no tensors, expected at least one"},
    {"GatherPartsOfNothing", training, [](PlanT &p) { gatherOf(p).tensors.clear(); },
     "command #7 \"sum g2\" has no tensors, expected at least one"},
    {"ReduceNamesNoCommand", training, [](PlanT &p) { reduceOf(p).gather = 99; },
     "command #6 \"sum g2\" names command 99 as its second half, expected a later command that names it as "
     "its "
     "first half"},
    {"ReduceNamesAnotherHalf", training, [](PlanT &p) { reduceOf(p).gather = 11; },
     "command #6 \"sum g2\" names command 11 as its second half, expected a later command that names it as "
     "its "
     "first half"},
    {"GatherNamesAnotherHalf", training, [](PlanT &p) { gatherOf(p).reduce = 3; },
     "command #7 \"sum g2\" names command 3 as its first half, expected an earlier command that names it as "
     "its "
     "second half"},
    {"HalvesOfOtherTensors", training, [](PlanT &p) { gatherOf(p).tensors[0].count = 191; },
     "command #7 \"sum g2\" has other tensors than command #6 \"sum g2\", the first half of its all-reduce"},
    {"HalvesOfOtherGuards", training, [](PlanT &p) { p.commands[7]->guards = {{3, true}}; },
     "command #7 \"sum g2\" has other guards than command #6 \"sum g2\", the first half of its all-reduce"},
    {"HalvesOfOtherMembers", training, gatherAmongOthers,
     "command #7 \"sum g2\" has other members than command #6 \"sum g2\", the first half of its all-reduce"},
    {"GatherPartsCount", training, [](PlanT &p) { gatherOf(p).tensors[0].count = 300; },
     "command #7 \"sum g2\" needs 300 bytes of buffer b8 \"g2\", which has 192"},
    {"GatherBlocksSource", gatherPlan, [](PlanT &p) { blocksOf(p).inner = 17; },
     "command #0 \"gather model\" needs 68 bytes of buffer b0 \"w\", which has 64"},
    {"GatherBlocksTarget", gatherPlan, [](PlanT &p) { p.buffers[3]->size = 191; },
     "command #0 \"gather model\" needs 192 bytes of buffer b3 \"half\", which has 191"},
    {"CopyFrom", copyPlan, [](PlanT &p) { p.commands[0]->action.AsCopy()->from = 1; },
     "command #0 \"copy a\" copies 64 bytes at 1 of buffer b1 \"b\", which has 64"},
    {"CopyTo", copyPlan, [](PlanT &p) { p.commands[0]->action.AsCopy()->to = UINT64_MAX; },
     "command #0 \"copy a\" copies 64 bytes at 18446744073709551615 of buffer b8 \"a\", which has 64"},
    {"CopySize", copyPlan, [](PlanT &p) { p.commands[0]->action.AsCopy()->size = 65; },
     "command #0 \"copy a\" copies 65 bytes at 0 of buffer b1 \"b\", which has 64"},
    {"ContractType", contractPlan, [](PlanT &p) { contractOf(p).type = plan::ElementType::i32; },
     "command #0 \"matmul\" contracts elements of type 3, expected f32, f64, bf16 or f16"},
    {"ContractWidens", contractPlan, [](PlanT &p) { contractOf(p).widens = true; },
     "command #0 \"matmul\" widens elements of type 7, expected bf16 or f16"},
    {"ContractWidensBeyondItsBuffer", contractPlan,
     [](PlanT &p) {
       contractOf(p).type = plan::ElementType::bf16, contractOf(p).widens = true;
       contractOf(p).ldc = 6;
     },
     "command #0 \"matmul\" reaches element 31 of c in buffer b2 \"c\", which has 30"},
    {"ContractNegativeSize", contractPlan, [](PlanT &p) { contractOf(p).m = -3; },
     "command #0 \"matmul\" contracts -3 x 4 by 4 x 5"},
    {"ContractLeadingDimension", contractPlan, [](PlanT &p) { contractOf(p).lda = 3; },
     "command #0 \"matmul\" has leading dimension 3 of a, expected at least 4"},
    {"ContractTransposedLeadingDimension", contractPlan,
     [](PlanT &p) { contractOf(p).transpose_b = true, contractOf(p).ldb = 3; },
     "command #0 \"matmul\" has leading dimension 3 of b, expected at least 4"},
    {"ContractReachesTooFar", contractPlan, [](PlanT &p) { contractOf(p).m = 4; },
     "command #0 \"matmul\" reaches element 27 of a in buffer b0 \"a\", which has 24"},
    {"ContractStrideReachesTooFar", contractPlan,
     [](PlanT &p) { contractOf(p).batch = {plan::BatchDim(2, 13, 0, 15)}; },
     "command #0 \"matmul\" reaches element 24 of a in buffer b0 \"a\", which has 24"},
    {"ContractOverflows", contractPlan,
     [](PlanT &p) { contractOf(p).batch = {plan::BatchDim(INT64_MAX, INT64_MAX, 0, 15)}; },
     "command #0 \"matmul\" reaches element beyond 2^63 of a in buffer b0 \"a\", which has 24"},
    {"ContractNegativeStride", contractPlan,
     [](PlanT &p) { contractOf(p).batch = {plan::BatchDim(2, -12, 0, 15)}; },
     "command #0 \"matmul\" has a loop of 2 steps of -12 in a, expected none negative"},
    {"ContractIsScattered", contractPlan,
     [](PlanT &p) {
       contractOf(p).batch.clear();
       contractOf(p).m = 70000, contractOf(p).lda = 5;
       p.slots[0]->shape[0] = int64_t(p.buffers[0]->size = 70000 * 5 * 4);
       p.slots[2]->shape[0] = int64_t(p.buffers[2]->size = 70000 * 5 * 4);
     },
     "command #0 \"matmul\" scatters a over more than 65536 ranges"},
    {"ContractsAreScattered", contractPlan,
     [](PlanT &p) {
       contractOf(p).batch.clear();
       contractOf(p).m = 60000, contractOf(p).lda = 5;
       p.slots[0]->shape[0] = int64_t(p.buffers[0]->size = 60000 * 5 * 4);
       p.slots[2]->shape[0] = int64_t(p.buffers[2]->size = 60000 * 5 * 4);
       while (p.commands.size() < 300) {
         p.lanes[0]->commands.push_back(uint32_t(p.commands.size()));
         p.commands.push_back(std::make_unique<plan::CommandT>(*p.commands[0]));
       }
     },
     "command #279 \"matmul\" brings the ranges of all commands above 16777216"},
    {"ContractWritesTwice", contractPlan,
     [](PlanT &p) { contractOf(p).batch = {plan::BatchDim(2, 12, 0, 14)}; },
     "command #0 \"matmul\" writes elements of c more than once"},
    {"EpilogueOnCpu", epiloguePlan, [](PlanT &p) { p.device_kind = "cpu"; },
     "command #0 \"matmul\" has an epilogue on a device of kind \"cpu\", expected \"cuda\""},
    {"EpilogueOfASum", epiloguePlan, [](PlanT &p) { contractOf(p).accumulate = true; },
     "command #0 \"matmul\" has an epilogue, expected one only of a product of f32, bf16 or f16 that does "
     "not "
     "accumulate or widen"},
    {"EpilogueIsUnknown", epiloguePlan, [](PlanT &p) { contractOf(p).activation = plan::Activation(7); },
     "command #0 \"matmul\" applies activation 7 to a product, expected one up to 2"},
    {"BiasIsNoBuffer", epiloguePlan, [](PlanT &p) { contractOf(p).bias = 99; },
     "command #0 \"matmul\" names buffer 99 of 4"},
    {"BiasIsTooShort", epiloguePlan,
     [](PlanT &p) { p.slots[2]->shape[0] = int64_t(p.buffers[2]->size = 16); },
     "command #0 \"matmul\" reaches element 4 of bias in buffer b2 \"bias\", which has 4"},
    {"GuardIsNoBuffer", branchPlan, [](PlanT &p) { p.commands[3]->guards[0] = {99, true}; },
     "command #3 \"then\" names buffer 99 of 9"},
    {"GuardIsEmpty", branchPlan,
     [](PlanT &p) { p.buffers[2]->size = 0, p.commands[0]->guards = {{2, true}}; },
     "command #0 \"outer predicate\" is guarded by buffer b2 \"p\" of 0 bytes, expected at least 1"},
};

/// Commands of the plan: 3 to 12 run if p, 9 to 11 if not q, 13 if not p.
const Case branches[] = {
    {"ReadsWhatMayBeSkipped", branchPlan,
     [](PlanT &p) { p.commands[4]->guards.clear(), p.commands[5]->guards.clear(); },
     "command #4 \"sum then\" reads what command #3 \"then\" writes only if buffer b2 \"p\" is true, "
     "expected "
     "the same guard, or a kernel that selects"},
    {"ReadsWhatTheOtherBranchWrites", branchPlan,
     [](PlanT &p) {
       for (uint32_t half : {10, 11})
         p.commands[half]->guards[1] = {p.commands[half]->guards[1].buffer(), true};
     },
     "command #10 \"sum inner\" reads what command #9 \"inner else\" writes only if buffer b3 \"q\" is "
     "false, "
     "expected the same guard, or a kernel that selects"},
    {"PredicateMayBeSkipped", branchPlan,
     [](PlanT &p) { p.commands[9]->guards.erase(p.commands[9]->guards.begin()); },
     "command #9 \"inner else\" reads what command #8 \"sum q\" writes only if buffer b2 \"p\" is true, "
     "expected "
     "the same guard, or a kernel that selects"},
    {"ResultMayBeSkipped", branchPlan, [](PlanT &p) { p.commands[14]->guards = {{2, true}}; },
     "result s2 \"w\" is written by command #14 \"select\", which may be skipped"},
};

const Case layout[] = {
    {"ArenaSize", training, [](PlanT &p) { p.arena_size += 1; },
     "arena has 705 bytes, expected a multiple of 64"},
    {"BufferAlignment", training, [](PlanT &p) { p.buffers[4]->offset = 8; },
     "buffer b4 \"h1\" is at offset 8, expected a multiple of 64"},
    {"BufferBeyondTheArena", training, [](PlanT &p) { p.buffers[4]->offset = 512; },
     "buffer b4 \"h1\" is 256 bytes at offset 512, beyond the arena of 704"},
    {"BufferFarBeyondTheArena", training, [](PlanT &p) { p.buffers[4]->offset = UINT64_MAX - 63; },
     "buffer b4 \"h1\" is 256 bytes at offset 18446744073709551552, beyond the arena of 704"},
    {"ArenaFillsTheAddresses", training, [](PlanT &p) { p.arena_size = UINT64_MAX - 63; },
     "arena and slots of a rank have 2^64 bytes or more"},
    {"WaitsForALaterCommand", training,
     [](PlanT &p) { p.commands[3]->waits.push_back({3, plan::WaitScope::self, 0}); },
     "command #3 \"sum loss\" waits for command 3, expected an earlier one"},
    {"WaitScope", training, [](PlanT &p) { p.commands[3]->waits[0] = {2, plan::WaitScope(5), 0}; },
     "command #3 \"sum loss\" waits with scope 5, which does not exist"},
    {"OriginIsNoEarlierCommand", training, [](PlanT &p) { p.commands[3]->origins[0] = {0, 3, 0, -1, 0}; },
     "command #3 \"sum loss\" has command 3 as an origin, expected -1 or more and less than 3"},
    {"OriginsDoNotAscend", training,
     [](PlanT &p) { std::swap(p.commands[12]->origins[0], p.commands[12]->origins[1]); },
     "command #12 \"update2\" has origins that do not ascend at the one of index 1"},
    {"ResultOriginIsNoCommand", training, [](PlanT &p) { p.slots[3]->origins = {{0, 14, 0, -1, 0}}; },
     "slot s3 \"w1\" has command 14 as an origin, expected -1 or more and less than 14"},
    {"WaitCommunicator", training,
     [](PlanT &p) { p.commands[3]->waits[0] = {2, plan::WaitScope::members, 3}; },
     "command #3 \"sum loss\" waits for communicator 3 of 1"},
};

const Case memory[] = {
    {"RaceBetweenRanks", training, [](PlanT &p) { p.commands[6]->waits[0] = {5, plan::WaitScope::self, 0}; },
     "command #5 \"grad2\" writes and command #6 \"sum g2\" of another rank reads bytes 608..703 of the "
     "arena of rank 0 of buffer b8 \"g2\" without order"},
    {"RaceOnOneRank", training, [](PlanT &p) { p.commands[12]->waits.clear(); },
     "command #6 \"sum g2\" writes and command #12 \"update2\" reads bytes 512..607 of the arena of rank 0 "
     "of buffer b8 \"g2\" without order"},
    {"RaceOverSharedBytes", training, [](PlanT &p) { p.buffers[8]->offset = 256; },
     "buffers b8 \"g2\" and b9 \"d1\" overlap in bytes 256..351 of the arena of rank 0, which command #6 "
     "\"sum g2\" writes and command #8 \"back2\" writes without order"},
    {"OverwrittenBeforeItIsRead", training, [](PlanT &p) { p.buffers[5]->offset = 0; },
     "command #5 \"grad2\" reads buffer b4 \"h1\" in bytes 0..255 of the arena of rank 0, which command #1 "
     "\"layer2\" has overwritten through buffer b5 \"h2\""},
    {"ReadBeforeItIsWritten", training, [](PlanT &p) { launchOf(p, 0).buffers[2] = 5; },
     "command #1 \"layer2\" reads buffer b4 \"h1\" before anything writes bytes 0..255 of the arena of rank "
     "0"},
    {"OperandsMeet", training, [](PlanT &p) { p.buffers[7]->offset = 0; },
     "command #5 \"grad2\" reads buffer b4 \"h1\" in bytes 0..255 of the arena of rank 0, which command #2 "
     "\"loss\" has overwritten through buffer b7 \"d2\""},
    {"InAndOutMayNotBeOne", training, [](PlanT &p) { p.kernels[6]->in_place = {-1}; },
     "command #12 \"update2\" reads buffer b1 \"w2\" and writes buffer b1 \"w2\", which overlap in bytes "
     "0..191 of slot s1 \"w2\" of rank 0"},
    {"WorkspaceMeetsAnOutput", training, [](PlanT &p) { p.buffers[6]->offset = 256; },
     "command #1 \"layer2\" writes buffer b5 \"h2\" and writes buffer b6 \"scratch\", which overlap in bytes "
     "256..355 of the arena of rank 0"},
    {"ContractWritesItsOperand", contractPlan,
     [](PlanT &p) {
       p.slots[0]->shape[0] = 120, p.buffers[0]->size = 120;
       p.slots[0]->role = plan::SlotRole::state, p.slots[2]->updates = 0;
       contractOf(p).c = 0;
       p.buffers.erase(p.buffers.begin() + 2);
     },
     "command #0 \"matmul\" reads buffer b0 \"a\" and writes buffer b0 \"a\", which overlap in bytes 0..95 "
     "of slot s0 \"a\" of rank 0"},
    {"ManyOperandsMeet", training,
     [](PlanT &p) {
       p.kernels[7]->num_inputs = 70000;
       p.kernels[7]->operand_sizes.assign(70001, 128);
       launchOf(p, 13).buffers.assign(70001, 0);
     },
     "command #13 \"update1\" reads buffer b0 \"w1\" and writes buffer b0 \"w1\", which overlap in bytes "
     "0..127 of slot s0 \"w1\" of rank 0"},
    {"ReadsAnotherValue", training,
     [](PlanT &p) { launchOf(p, 13).buffers[1] = 10, p.buffers[11]->offset = 128; },
     "command #13 \"update1\" reads bytes 0..63 of the arena of rank 0 through buffer b10 \"g1\", which are "
     "output 0 of command #9 \"grad1\", no origin of its operand 1"},
    {"OrderedByAThirdRank", thirdRankPlan,
     [](PlanT &p) { p.commands[3]->waits.erase(p.commands[3]->waits.begin()); },
     "command #0 \"w\" writes and command #3 \"total\" of another rank reads bytes 32..127 of the arena of "
     "rank 0 of buffer b1 \"s\" without order"},
    {"ReadsAnotherOutput", training, [](PlanT &p) { p.commands[5]->origins[0] = {0, 2, 0, -1, 0}; },
     "command #5 \"grad2\" reads bytes 256..511 of the arena of rank 0 through buffer b7 \"d2\", which are "
     "output 1 of command #2 \"loss\", no origin of its operand 0"},
    {"ReadsAnotherArgument", training, [](PlanT &p) { p.commands[0]->origins[1] = {1, -1, 1, -1, 0}; },
     "command #0 \"layer1\" reads bytes 0..63 of slot s2 \"x\" of rank 0 through buffer b2 \"x\", which are "
     "the caller's slot 2, no origin of its operand 1"},
    {"CombinesOtherMembers", meshPlan, [](PlanT &p) { p.commands[1]->origins[0] = {0, 0, 0, 0, 0}; },
     "command #1 \"sum model\" reads bytes 0..63 of the arena of rank 0 through buffer b2 \"t0\", which are "
     "output 0 of command #0 \"a\", no origin of its operand 0 over communicator c1"},
    {"ReadsNothingOfAnOrigin", training,
     [](PlanT &p) { p.commands[12]->origins.insert(p.commands[12]->origins.begin() + 1, {1, -1, 0, -1, 0}); },
     "command #12 \"update2\" reads nothing of the caller's slot 0, an origin of its operand 1"},
    {"ResultOfAnotherCommand", training, [](PlanT &p) { p.slots[3]->origins = {{0, 12, 0, -1, 0}}; },
     "result s3 \"w1\" holds bytes 0..127 of slot s0 \"w1\" of rank 0, which are output 0 of command #13 "
     "\"update1\", no origin of it"},
    {"ResultWithoutAnOrigin", training,
     [](PlanT &p) { p.slots[3]->origins = {{0, 12, 0, -1, 0}, {0, 13, 0, -1, 0}}; },
     "result s3 \"w1\" holds nothing of output 0 of command #12 \"update2\", an origin of it"},
    {"GuardOfAnotherValue", branchPlan,
     [](PlanT &p) { p.commands[13]->origins[1] = {firstGuard, 0, 0, -1, 0}; },
     "command #13 \"else\" reads bytes 0..0 of the arena of rank 1 through buffer b2 \"p\", which are output "
     "0 of "
     "command #1 \"sum p\", no origin of its guard 0"},
    {"ResultNotWritten", training, [](PlanT &p) { p.buffers[3]->slot = -1, p.buffers[3]->offset = 640; },
     "nothing writes result s5 \"loss\""},
    {"ResultNotWrittenInFull", contractPlan,
     [](PlanT &p) { contractOf(p).batch = {plan::BatchDim(1, 0, 0, 0)}; },
     "nothing writes bytes 60..119 of slot s2 \"c\" of rank 0 of result s2 \"c\""},
};

INSTANTIATE_TEST_SUITE_P(Tables, VerifierRule, testing::ValuesIn(tables), nameOf);
INSTANTIATE_TEST_SUITE_P(Commands, VerifierRule, testing::ValuesIn(commands), nameOf);
INSTANTIATE_TEST_SUITE_P(Layout, VerifierRule, testing::ValuesIn(layout), nameOf);
INSTANTIATE_TEST_SUITE_P(Branches, VerifierRule, testing::ValuesIn(branches), nameOf);
INSTANTIATE_TEST_SUITE_P(Memory, VerifierRule, testing::ValuesIn(memory), nameOf);

} // namespace
} // namespace epl::runtime::test
