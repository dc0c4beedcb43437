//===- FloatsTest.cpp - Instructions on floating-point numbers ----------===//

#include "test/unit/cuda/Instructions.h"

using namespace cuda_double;

template <typename T> static void checkFloats(const std::string &type) {
  check("add.rn." + type, Binary<T>([](T a, T b) { return a + b; }));
  check("sub." + type, Binary<T>([](T a, T b) { return a - b; }));
  check("mul.rn." + type, Binary<T>([](T a, T b) { return a * b; }));
  check("fma.rn." + type, Ternary<T>([](T a, T b, T c) { return std::fma(a, b, c); }));
  check("div.rn." + type, Binary<T>([](T a, T b) { return a / b; }));
  check("rcp.rn." + type, Unary<T>([](T a) { return 1 / a; }));
  check("sqrt.rn." + type, Unary<T>([](T a) { return std::sqrt(a); }));
  check("neg." + type, Unary<T>([](T a) { return -a; }));
  check("abs." + type, Unary<T>([](T a) { return std::fabs(a); }));
  check("copysign." + type, Binary<T>([](T a, T b) { return std::copysign(b, a); }));
  auto less = [](T a, T b) { return a < b || (a == b && std::signbit(a) && !std::signbit(b)); };
  check("min." + type, Binary<T>([=](T a, T b) {
          return std::isnan(a) ? b : std::isnan(b) || less(a, b) ? a : b;
        }));
  check("max." + type, Binary<T>([=](T a, T b) {
          return std::isnan(a) ? b : std::isnan(b) || less(b, a) ? a : b;
        }));
}

TEST(MachineArithmetic, FloatingPoint) {
  checkFloats<float>("f32");
  checkFloats<double>("f64");
  auto orNan = [](float a, float b, float c) { return std::isnan(a) || std::isnan(b) ? NAN : c; };
  check("min.NaN.f32", Binary<float>([=](float a, float b) {
          return orNan(a, b, a == b ? (std::signbit(a) ? a : b) : std::min(a, b));
        }));
  check("max.NaN.f32", Binary<float>([=](float a, float b) {
          return orNan(a, b, a == b ? (std::signbit(a) ? b : a) : std::max(a, b));
        }));
  check("add.sat.f32",
        Binary<float>([](float a, float b) { return a + b > 0 ? std::min(a + b, 1.0F) : 0.0F; }));
  check("fma.rn.relu.f16", Ternary<HalfBits>([](HalfBits a, HalfBits b, HalfBits c) {
          // Products and sums of half precision are exact in __float128.
          auto sum = static_cast<_Float16>(static_cast<__float128>(float(a)) * float(b) + float(c));
          return HalfBits{std::bit_cast<uint16_t>(sum <= 0 ? _Float16(0) : sum)};
        }));
}

TEST(MachineArithmetic, SubnormalsAreFlushedWhereItIsSaid) {
  auto flush = [](float a) { return std::fpclassify(a) == FP_SUBNORMAL ? std::copysign(0.0F, a) : a; };
  check("add.ftz.f32", Binary<float>([=](float a, float b) { return flush(flush(a) + flush(b)); }));
  check("mul.ftz.f32", Binary<float>([=](float a, float b) { return flush(flush(a) * flush(b)); }));
  check("fma.rn.ftz.f32", Ternary<float>([=](float a, float b, float c) {
          return flush(std::fma(flush(a), flush(b), flush(c)));
        }));
}

/// A rounded result of exact arithmetic: no farther than the neighbor, and on the side that the rounding
/// says.
static bool isRounded(float found, __float128 exact, Rounding rounding) {
  if (std::isnan(found) || std::isinf(found) || exact != exact)
    return true; // other tests have these
  if (__float128(found) == exact)
    return true;
  bool isBelow = __float128(found) < exact;
  bool wantsBelow = rounding == Rounding::down || (rounding == Rounding::zero && exact > 0);
  float beyond = std::nextafter(found, isBelow ? HUGE_VALF : -HUGE_VALF);
  return isBelow == wantsBelow && (isBelow ? __float128(beyond) > exact : __float128(beyond) < exact);
}

TEST(MachineArithmetic, DirectedRounding) {
  std::mt19937_64 random(7);
  std::vector<float> a, b;
  while (a.size() < 1000) {
    auto x = randomOf<float>(random), y = randomOf<float>(random);
    // Sums of numbers far apart are not exact in __float128.
    if (std::isfinite(x) && std::isfinite(y) && x != 0 && y != 0 &&
        std::abs(std::ilogb(x) - std::ilogb(y)) < 80) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  for (auto [name, rounding] :
       {std::pair("rz", Rounding::zero), std::pair("rm", Rounding::down), std::pair("rp", Rounding::up)})
    for (std::string operation : {"add", "sub", "mul"}) {
      TestDevice device;
      uint64_t result = device.allocate<float>(1000);
      Module module =
          parse(makeKernel(3, "mul.wide.u32 %w4, %r0, 4; add.u64 %w5, %w1, %w4; ld.global.f32 %f1, [%w5];\n"
                              "add.u64 %w5, %w2, %w4; ld.global.f32 %f2, [%w5]; " +
                                  operation + "." + name +
                                  ".f32 %f0, %f1, %f2; add.u64 %w5, %w0, %w4; st.global.f32 [%w5], %f0;"));
      device.run(module, {10, 1, 1}, {100, 1, 1}, result, device.upload(a), device.upload(b));
      std::vector<float> found = device.download<float>(result, 1000);
      for (size_t i = 0; i < 1000; ++i) {
        __float128 x = a[i], y = b[i];
        __float128 exact = operation == "add" ? x + y : operation == "sub" ? x - y : x * y;
        EXPECT_TRUE(isRounded(found[i], exact, rounding))
            << operation << " " << name << " of " << a[i] << " " << b[i];
      }
    }
}

/// A 16-bit type beside arithmetic that is exact for it.
template <typename T, typename Make> static void checkHalf(const std::string &type, Make make) {
  check("add.rn." + type, Binary<T>([=](T a, T b) { return make(__float128(float(a)) + float(b)); }));
  check("sub.rn." + type, Binary<T>([=](T a, T b) { return make(__float128(float(a)) - float(b)); }));
  check("mul.rn." + type, Binary<T>([=](T a, T b) { return make(__float128(float(a)) * float(b)); }));
  check("neg." + type, Unary<T>([=](T a) { return make(-__float128(float(a))); }));
  check("abs." + type, Unary<T>([=](T a) { return make(__float128(std::fabs(float(a)))); }));
}

TEST(MachineArithmetic, HalfPrecision) {
  auto half = [](__float128 exact) {
    return HalfBits{std::bit_cast<uint16_t>(static_cast<_Float16>(exact))};
  };
  checkHalf<HalfBits>("f16", half);
  check("fma.rn.f16", Ternary<HalfBits>([=](HalfBits a, HalfBits b, HalfBits c) {
          return half(__float128(float(a)) * float(b) + float(c));
        }));
}

TEST(MachineArithmetic, Bfloat16) {
  checkHalf<Bfloat>("bf16", nearestBfloat);
  check("fma.rn.bf16", Ternary<Bfloat>([](Bfloat a, Bfloat b, Bfloat c) {
          // Of far exponents the sum is no longer exact in __float128, but its nearest bfloat16 is the same.
          return nearestBfloat(__float128(float(a)) * float(b) + float(c));
        }));
}

TEST(MachineArithmetic, PackedTypes) {
  auto both = [](auto one) {
    return Binary<uint32_t>([=](uint32_t a, uint32_t b) {
      auto low = one(std::bit_cast<_Float16>(uint16_t(a)), std::bit_cast<_Float16>(uint16_t(b)));
      auto high = one(std::bit_cast<_Float16>(uint16_t(a >> 16)), std::bit_cast<_Float16>(uint16_t(b >> 16)));
      return uint32_t(std::bit_cast<uint16_t>(high)) << 16 | std::bit_cast<uint16_t>(low);
    });
  };
  std::function<bool(uint32_t, uint32_t)> isRight = [](uint32_t found, uint32_t wanted) {
    return isSame(HalfBits{uint16_t(found)}, HalfBits{uint16_t(wanted)}) &&
           isSame(HalfBits{uint16_t(found >> 16)}, HalfBits{uint16_t(wanted >> 16)});
  };
  check("add.f16x2", both([](_Float16 a, _Float16 b) { return _Float16(a + b); }), "", isRight);
  check("mul.f16x2", both([](_Float16 a, _Float16 b) { return _Float16(a * b); }), "", isRight);
  check("cvt.rn.f16x2.f32", std::function<uint32_t(float, float)>([](float high, float low) {
          return uint32_t(std::bit_cast<uint16_t>(_Float16(high))) << 16 |
                 std::bit_cast<uint16_t>(_Float16(low));
        }),
        "", isRight);
}
