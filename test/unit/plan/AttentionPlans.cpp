#include "test/unit/plan/AttentionPlans.h"

#include "test/unit/plan/Plans.h"

namespace epl::runtime::test {
namespace {

constexpr int64_t kKeyBytes = kB * kK * kH * kD * 2;

plan::ContractT product(int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc) {
  plan::ContractT made;
  made.type = plan::ElementType::bf16;
  made.m = m, made.n = n, made.k = k, made.lda = lda, made.ldb = ldb, made.ldc = ldc;
  return made;
}

CommandInfo named(const char *name) { return {.name = name, .location = "", .work = ""}; }

class AttentionMaker : public PlanMaker {
public:
  /// So many heads of q share one of k and v.
  explicit AttentionMaker(int64_t group = 1) : PlanMaker("cuda"), group(group) {
    q = argument("q", plan::SlotRole::batch, queryBytes());
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
    plan::ContractT made = product(kQ, kK, kD, queryStep(), kH * kD, kK);
    made.a = x, made.b = y, made.c = to, made.widens = widens, made.transpose_b = true;
    made.batch = {plan::BatchDim(kB, kQ * queryStep(), kK * kH * kD, kH * group * kQ * kK),
                  plan::BatchDim(kH, group * kD, kD, group * kQ * kK)};
    if (group > 1)
      made.batch.emplace_back(group, kD, 0, kQ * kK);
    contract(named(name), std::move(made));
  }

  int64_t queryStep() const { return kH * group * kD; } ///< to the next position of q and o
  int64_t queryBytes() const { return kB * kQ * queryStep() * 2; }

  int64_t group;
  uint32_t q, k, v;
  uint32_t p = 0, o = 0, exponentials = 0, sums = 0;
  uint32_t rows = 0; // of the attention, with a gradient

  void attend(bool hasGradient) {
    const int64_t pairs = kB * kH * group * kQ * kK;
    uint32_t scores = buffer("scores", pairs * 4);
    p = buffer("p", pairs * 2);
    std::vector<uint32_t> made{p};
    if (hasGradient) {
      exponentials = buffer("e", pairs * 4), sums = buffer("s", pairs / kK * 4);
      rows = buffer("rows", pairs / kK * 4);
      made = {exponentials, sums, p};
    }
    o = buffer("o", queryBytes());
    multiplyToPairs("scores", q, k, scores, true);
    launchOne("softmax", {scores}, made);
    plan::ContractT last = product(kQ, kD, kK, kK, kH * kD, queryStep());
    last.a = p, last.b = v, last.c = o;
    // The other loop first: which matrices it leads through is what counts.
    last.batch = {plan::BatchDim(kH, group * kQ * kK, kD, group * kD),
                  plan::BatchDim(kB, kH * group * kQ * kK, kK * kH * kD, kQ * queryStep())};
    if (group > 1)
      last.batch.emplace_back(group, kQ * kK, 0, kD);
    last.attention = std::make_unique<plan::AttentionT>();
    last.attention->softmax = nextCommand() - 1, last.attention->scores = nextCommand() - 2;
    last.attention->scale = 0.25F, last.attention->causal = true;
    last.attention->stats = rows;
    contract(named("o"), std::move(last));
  }

  /// dv = p^T dO, which is a sum over each group, too.
  void multiplyToValues(uint32_t dO, uint32_t dv) {
    if (group > 1)
      return launchOne("dv", {p, dO}, {dv});
    plan::ContractT made = product(kK, kD, kQ, kK, kH * kD, kH * kD);
    made.a = p, made.b = dO, made.c = dv, made.transpose_a = true;
    made.batch = {plan::BatchDim(kB, kH * kQ * kK, kQ * kH * kD, kK * kH * kD),
                  plan::BatchDim(kH, kQ * kK, kD, kD)};
    contract(named("dv"), std::move(made));
  }

  void attendBack(uint32_t dO, uint32_t dq, uint32_t dk, uint32_t dv) {
    multiplyToValues(dO, dv);
    uint32_t dp = buffer("dp", kB * kH * group * kQ * kK * 2),
             ds = buffer("ds", kB * kH * group * kQ * kK * 4);
    multiplyToPairs("dp", dO, v, dp, false);
    launchOne("ds", {exponentials, sums, dp}, {ds});
    launchOne("dq", {ds, k}, {dq});
    launchOne("dk", {ds, q}, {dk});
    auto ofQueries = [&](uint32_t each) {
      return plan::AttentionOperand(each, kQ * queryStep(), kD, queryStep());
    };
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
  uint32_t result = maker.slot("o", plan::SlotRole::result, maker.queryBytes());
  uint32_t kept = keepsQueries ? maker.slot("kept", plan::SlotRole::result, maker.queryBytes()) : 0;
  maker.attend(false);
  maker.setResult(result, maker.o);
  if (keepsQueries)
    maker.setResult(kept, maker.q);
  return maker.finish();
}

plan::PlanT gradientPlan(int64_t group) {
  AttentionMaker maker(group);
  uint32_t dO = maker.argument("dO", plan::SlotRole::batch, maker.queryBytes());
  uint32_t first = maker.slot("dq", plan::SlotRole::result, maker.queryBytes());
  maker.slot("dk", plan::SlotRole::result, kKeyBytes);
  maker.slot("dv", plan::SlotRole::result, kKeyBytes);
  maker.attend(true);
  uint32_t dq = maker.buffer("dq", maker.queryBytes()), dk = maker.buffer("dk", kKeyBytes),
           dv = maker.buffer("dv", kKeyBytes);
  maker.attendBack(dO, dq, dk, dv);
  maker.setResult(first, dq), maker.setResult(first + 1, dk), maker.setResult(first + 2, dv);
  return maker.finish();
}

} // namespace epl::runtime::test
