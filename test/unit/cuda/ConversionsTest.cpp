//===- ConversionsTest.cpp - Conversions and comparisons ----------------===//

#include "test/unit/cuda/Instructions.h"

using namespace cuda_double;

/// The nearest integer of a type, of NaN 0.
template <typename To, typename From> static To clampTo(From value) {
  if (std::isnan(value))
    return sizeof(To) == 8 ? To(uint64_t(1) << 63) : To(0);
  constexpr long double low = std::numeric_limits<To>::min(), high = std::numeric_limits<To>::max();
  return value <= low    ? std::numeric_limits<To>::min()
         : value >= high ? std::numeric_limits<To>::max()
                         : To(value);
}

template <typename From> static void checkToIntegers(const std::string &from) {
  check("cvt.rzi.s32." + from,
        std::function<int32_t(From)>([](From a) { return clampTo<int32_t>(std::trunc(a)); }));
  check("cvt.rni.s32." + from,
        std::function<int32_t(From)>([](From a) { return clampTo<int32_t>(std::nearbyint(a)); }));
  check("cvt.rmi.s64." + from,
        std::function<int64_t(From)>([](From a) { return clampTo<int64_t>(std::floor(a)); }));
  check("cvt.rpi.u32." + from,
        std::function<uint32_t(From)>([](From a) { return clampTo<uint32_t>(std::ceil(a)); }));
  check("cvt.rzi.u64." + from,
        std::function<uint64_t(From)>([](From a) { return clampTo<uint64_t>(std::trunc(a)); }));
}

TEST(MachineArithmetic, Conversions) {
  checkToIntegers<float>("f32");
  checkToIntegers<double>("f64");
  check("cvt.rmi.f32.f32", Unary<float>([](float a) { return std::floor(a); }));
  check("cvt.rni.f64.f64", Unary<double>([](double a) { return std::nearbyint(a); }));
  check("cvt.sat.f32.f32", Unary<float>([](float a) { return a > 0 ? std::min(a, 1.0F) : 0.0F; }));
  check("cvt.rn.f32.f64", std::function<float(double)>([](double a) { return float(a); }));
  check("cvt.f64.f32", std::function<double(float)>([](float a) { return double(a); }));
  check("cvt.rn.f16.f32", std::function<HalfBits(float)>(
                              [](float a) { return HalfBits{std::bit_cast<uint16_t>(_Float16(a))}; }));
  check("cvt.f32.f16", std::function<float(HalfBits)>([](HalfBits a) { return float(a); }));
  check("cvt.rn.bf16.f32", std::function<Bfloat(float)>([](float a) { return nearestBfloat(a); }));
  check("cvt.f32.bf16", std::function<float(Bfloat)>([](Bfloat a) { return float(a); }));
  check("cvt.rn.f32.s32", std::function<float(int32_t)>([](int32_t a) { return float(a); }));
  check("cvt.rn.f32.u64", std::function<float(uint64_t)>([](uint64_t a) { return float(a); }));
  check("cvt.rn.f64.s64", std::function<double(int64_t)>([](int64_t a) { return double(a); }));
  check("cvt.rn.f32.s64", std::function<float(int64_t)>([](int64_t a) { return float(a); }));
  check("cvt.rn.f16.s32", std::function<HalfBits(int32_t)>(
                              [](int32_t a) { return HalfBits{std::bit_cast<uint16_t>(_Float16(a))}; }));
  check("cvt.s64.s32", std::function<int64_t(int32_t)>([](int32_t a) { return int64_t(a); }));
  check("cvt.u64.u32", std::function<uint64_t(uint32_t)>([](uint32_t a) { return uint64_t(a); }));
  check("cvt.s32.s8", std::function<int32_t(uint32_t)>([](uint32_t a) { return int32_t(int8_t(a)); }));
  check("cvt.s8.s32", std::function<int16_t(int32_t)>([](int32_t a) { return int16_t(int8_t(a)); }));
  check("cvt.u8.s32", std::function<int16_t(int32_t)>([](int32_t a) { return int16_t(uint8_t(a)); }));
  check("cvt.rzi.s8.f32",
        std::function<int16_t(float)>([](float a) { return clampTo<int8_t>(std::trunc(a)); }));
  check("cvt.u32.u64", std::function<uint32_t(uint64_t)>([](uint64_t a) { return uint32_t(a); }));
  check("cvt.sat.s16.s32",
        std::function<int16_t(int32_t)>([](int32_t a) { return int16_t(std::clamp(a, -32768, 32767)); }));
}

TEST(MachineArithmetic, Comparisons) {
  auto checkAll = [](const std::string &type, auto zero) {
    using T = decltype(zero);
    const std::pair<const char *, std::function<bool(T, T)>> comparisons[] = {
        {"eq", [](T a, T b) { return a == b; }},
        {"lt", [](T a, T b) { return a < b; }},
        {"le", [](T a, T b) { return a <= b; }},
        {"gt", [](T a, T b) { return a > b; }},
        {"ge", [](T a, T b) { return a >= b; }}};
    for (auto &[name, host] : comparisons) {
      std::string set = "{ .reg .pred %q; setp." + std::string(name) + "." + type + " %q, " +
                        moved<T>().registers + "21, " + moved<T>().registers +
                        "22; selp.u32 %r20, 1, 0, %q; }\nmov.u32";
      // The operands are loaded before the instruction, which gets the result for its first one.
      TestDevice device;
      std::mt19937_64 random(3);
      std::vector<T> a, b;
      for (int i = 0; i < 640; ++i) {
        a.push_back(randomOf<T>(random));
        b.push_back(i % 5 == 0 ? a.back() : randomOf<T>(random));
      }
      uint64_t result = device.allocate<uint32_t>(640);
      std::string size = std::to_string(sizeof(T)),
                  load = std::string("ld.global.") + moved<T>().type + " " + moved<T>().registers;
      Module module = parse(makeKernel(
          3, "mul.wide.u32 %w4, %r0, " + size + "; add.u64 %w5, %w1, %w4; " + load + "21, [%w5];\n" +
                 "add.u64 %w5, %w2, %w4; " + load + "22, [%w5];\n" + set + " %r19, %r20;\n" +
                 "mul.wide.u32 %w4, %r0, 4; add.u64 %w5, %w0, %w4; st.global.u32 [%w5], %r20;"));
      device.run(module, {10, 1, 1}, {64, 1, 1}, result, device.upload(a), device.upload(b));
      std::vector<uint32_t> found = device.download<uint32_t>(result, 640);
      for (size_t i = 0; i < 640; ++i)
        EXPECT_EQ(found[i] != 0, host(a[i], b[i])) << name << " " << type << " of " << a[i] << " " << b[i];
    }
  };
  checkAll("u16", uint16_t());
  checkAll("s16", int16_t());
  checkAll("u32", uint32_t());
  checkAll("s32", int32_t());
  checkAll("u64", uint64_t());
  checkAll("s64", int64_t());
  checkAll("f32", float());
  checkAll("f64", double());
}

/// setp of each comparison on NaN and numbers, with its complement and what it is combined with.
TEST(MachineArithmetic, PredicatesOfNan) {
  auto holds = [](const std::string &comparison, const char *a, const char *b) {
    TestDevice device;
    uint64_t result = device.allocate<uint32_t>(2);
    Module module = parse(
        makeKernel(1, std::string("mov.f32 %f1, ") + a + "; mov.f32 %f2, " + b + "; setp." + comparison +
                          " %p1|%p2, %f1, %f2; selp.u32 %r5, 1, 0, %p1; selp.u32 %r6, 1, 0, %p2;\n"
                          "st.global.v2.u32 [%w0], {%r5, %r6};"));
    device.run(module, {1, 1, 1}, {1, 1, 1}, result);
    std::vector<uint32_t> found = device.download<uint32_t>(result, 2);
    EXPECT_NE(found[0], found[1]);
    return found[0] != 0;
  };
  const char *nan = "0f7FC00000", *one = "0f3F800000", *small = "0f00000001", *zero = "0f00000000";
  for (std::string ordered : {"eq", "ne", "lt", "le", "gt", "ge", "num"})
    EXPECT_FALSE(holds(ordered + ".f32", nan, one)) << ordered;
  for (std::string unordered : {"equ", "neu", "ltu", "leu", "gtu", "geu", "nan"})
    EXPECT_TRUE(holds(unordered + ".f32", one, nan)) << unordered;
  EXPECT_TRUE(holds("num.f32", one, one));
  EXPECT_FALSE(holds("ltu.f32", one, one));
  EXPECT_TRUE(holds("gt.f32", small, zero));
  EXPECT_FALSE(holds("gt.ftz.f32", small, zero));
}

TEST(MachineArithmetic, Properties) {
  auto holds = [](const std::string &property, float value) {
    TestDevice device;
    uint64_t result = device.allocate<uint32_t>(1);
    Module module = parse(
        makeKernel(1, "mov.b32 %f1, " + std::to_string(std::bit_cast<uint32_t>(value)) + "; testp." +
                          property + ".f32 %p1, %f1; selp.u32 %r5, 1, 0, %p1; st.global.u32 [%w0], %r5;"));
    device.run(module, {1, 1, 1}, {1, 1, 1}, result);
    return device.download<uint32_t>(result, 1)[0] != 0;
  };
  EXPECT_TRUE(holds("finite", 1) && !holds("finite", HUGE_VALF) && !holds("finite", NAN));
  EXPECT_TRUE(holds("infinite", -HUGE_VALF) && !holds("infinite", 1) && !holds("infinite", NAN));
  EXPECT_TRUE(holds("number", HUGE_VALF) && !holds("number", NAN) && holds("notanumber", NAN));
  EXPECT_TRUE(holds("normal", 1) && !holds("normal", 1e-40F) && !holds("normal", 0));
  EXPECT_TRUE(holds("subnormal", 1e-40F) && !holds("subnormal", 0) && !holds("subnormal", 1));
}

TEST(MachineArithmetic, Approximations) {
  std::function<bool(float, float)> isNear = [](float found, float wanted) {
    return isSame(found, wanted) || std::fabs(found - wanted) <= 4e-7F * std::fabs(wanted) + 1e-37F;
  };
  check("ex2.approx.f32", Unary<float>([](float a) { return std::exp2(a); }), "", isNear);
  check("lg2.approx.f32", Unary<float>([](float a) { return std::log2(a); }), "", isNear);
  check("rsqrt.approx.f32", Unary<float>([](float a) { return 1 / std::sqrt(a); }), "", isNear);
  check("sin.approx.f32", Unary<float>([](float a) { return std::sin(a); }), "", isNear);
  check("cos.approx.f32", Unary<float>([](float a) { return std::cos(a); }), "", isNear);
  check("tanh.approx.f32", Unary<float>([](float a) { return std::tanh(a); }), "", isNear);
  check("div.full.f32", Binary<float>([](float a, float b) { return a / b; }), "", isNear);
}
