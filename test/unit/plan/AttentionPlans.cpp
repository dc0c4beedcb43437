#include "test/unit/plan/AttentionPlans.h"

#include "test/unit/plan/Plans.h"

namespace epl::runtime::test {
namespace {

constexpr int64_t kPairs = kB * kH * kQ * kK, kQueryBytes = kB * kQ * kH * kD * 2,
                  kKeyBytes = kB * kK * kH * kD * 2;

plan::ContractT product(int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc) {
  plan::ContractT made;
  made.type = plan::ElementType::bf16;
  made.m = m, made.n = n, made.k = k, made.lda = lda, made.ldb = ldb, made.ldc = ldc;
  return made;
}

CommandInfo named(const char *name) { return {.name = name, .location = "", .work = ""}; }

class AttentionMaker : public PlanMaker {
public:
  AttentionMaker() : PlanMaker("cuda") {
    q = argument("q", plan::SlotRole::batch, kQueryBytes);
    k = argument("k", plan::SlotRole::batch, kKeyBytes);
    v = argument("v", plan::SlotRole::batch, kKeyBytes);
  }

  /// Launches a kernel of a GPU of its own.
  void launchOne(const std::string &name, const std::vector<uint32_t> &inputs,
                 const std::vector<uint32_t> &outputs) {
    plan::KernelT kernel;
    kernel.name = kernel.symbol = name;
    kernel.num_inputs = uint32_t(inputs.size()), kernel.num_outputs = uint32_t(outputs.size());
    std::vector<uint32_t> buffers = inputs;
    buffers.insert(buffers.end(), outputs.begin(), outputs.end());
    for (uint32_t buffer : buffers)
      kernel.operand_sizes.push_back(sizeOf(buffer));
    kernel.extent = 1;
    kernel.in_place.assign(outputs.size(), -1);
    auto &grid = *kernel.grids.emplace_back(std::make_unique<plan::GridT>());
    grid.blocks = grid.slice = 1, grid.threads = 128, grid.group = 32;
    uint32_t index = addKernel(std::move(kernel));
    launch({.name = name, .location = "", .work = ""}, index, buffers);
  }

  /// q k^T into matrices of pairs, or, of gradients, the same of those of o and of v.
  void multiplyToPairs(const char *name, uint32_t x, uint32_t y, uint32_t to, bool widens) {
    plan::ContractT made = product(kQ, kK, kD, kH * kD, kH * kD, kK);
    made.a = x, made.b = y, made.c = to, made.widens = widens, made.transpose_b = true;
    made.batch = {plan::BatchDim(kB, kQ * kH * kD, kK * kH * kD, kH * kQ * kK),
                  plan::BatchDim(kH, kD, kD, kQ * kK)};
    contract(named(name), std::move(made));
  }

  uint32_t q, k, v;
  uint32_t p = 0, o = 0, exponentials = 0, sums = 0;
  uint32_t rows = 0; // of the attention, with a gradient

  void attend(bool hasGradient) {
    uint32_t scores = buffer("scores", kPairs * 4);
    p = buffer("p", kPairs * 2);
    std::vector<uint32_t> made{p};
    if (hasGradient) {
      exponentials = buffer("e", kPairs * 4), sums = buffer("s", kPairs / kK * 4);
      rows = buffer("rows", kPairs / kK * 4);
      made = {exponentials, sums, p};
    }
    o = buffer("o", kQueryBytes);
    multiplyToPairs("scores", q, k, scores, true);
    launchOne("softmax", {scores}, made);
    plan::ContractT last = product(kQ, kD, kK, kK, kH * kD, kH * kD);
    last.a = p, last.b = v, last.c = o;
    // The other loop first: which matrices it leads through is what counts.
    last.batch = {plan::BatchDim(kH, kQ * kK, kD, kD),
                  plan::BatchDim(kB, kH * kQ * kK, kK * kH * kD, kQ * kH * kD)};
    last.attention = std::make_unique<plan::AttentionT>();
    last.attention->softmax = nextCommand() - 1, last.attention->scores = nextCommand() - 2;
    last.attention->scale = 0.25F, last.attention->causal = true;
    last.attention->stats = rows;
    contract(named("o"), std::move(last));
  }

  void attendBack(uint32_t dO, uint32_t dq, uint32_t dk, uint32_t dv) {
    plan::ContractT ofValues = product(kK, kD, kQ, kK, kH * kD, kH * kD);
    ofValues.a = p, ofValues.b = dO, ofValues.c = dv, ofValues.transpose_a = true;
    ofValues.batch = {plan::BatchDim(kB, kH * kQ * kK, kQ * kH * kD, kK * kH * kD),
                      plan::BatchDim(kH, kQ * kK, kD, kD)};
    contract(named("dv"), std::move(ofValues));
    uint32_t dp = buffer("dp", kPairs * 2), ds = buffer("ds", kPairs * 4);
    multiplyToPairs("dp", dO, v, dp, false);
    launchOne("ds", {exponentials, sums, dp}, {ds});
    launchOne("dq", {ds, k}, {dq});
    launchOne("dk", {ds, q}, {dk});
    auto ofQueries = [](uint32_t each) { return plan::AttentionOperand(each, kQ * kH * kD, kD, kH * kD); };
    auto ofKeys = [](uint32_t each) { return plan::AttentionOperand(each, kK * kH * kD, kD, kH * kD); };
    plan::AttentionGradientT gradient;
    gradient.attention = 2;
    gradient.inputs = {ofQueries(q), ofKeys(k), ofKeys(v), ofQueries(o), ofQueries(dO)};
    gradient.outputs = {ofQueries(dq), ofKeys(dk), ofKeys(dv)};
    gradient.stats = rows;
    attentionGradient(named("gradient"), std::move(gradient), 5);
  }
};

} // namespace

plan::PlanT attentionPlan(bool keepsQueries) {
  AttentionMaker maker;
  uint32_t result = maker.slot("o", plan::SlotRole::result, kQueryBytes);
  uint32_t kept = keepsQueries ? maker.slot("kept", plan::SlotRole::result, kQueryBytes) : 0;
  maker.attend(false);
  maker.setResult(result, maker.o);
  if (keepsQueries)
    maker.setResult(kept, maker.q);
  return maker.finish();
}

plan::PlanT gradientPlan() {
  AttentionMaker maker;
  uint32_t dO = maker.argument("dO", plan::SlotRole::batch, kQueryBytes);
  uint32_t first = maker.slot("dq", plan::SlotRole::result, kQueryBytes);
  maker.slot("dk", plan::SlotRole::result, kKeyBytes);
  maker.slot("dv", plan::SlotRole::result, kKeyBytes);
  maker.attend(true);
  uint32_t dq = maker.buffer("dq", kQueryBytes), dk = maker.buffer("dk", kKeyBytes),
           dv = maker.buffer("dv", kKeyBytes);
  maker.attendBack(dO, dq, dk, dv);
  maker.setResult(first, dq), maker.setResult(first + 1, dk), maker.setResult(first + 2, dv);
  return maker.finish();
}

} // namespace epl::runtime::test
