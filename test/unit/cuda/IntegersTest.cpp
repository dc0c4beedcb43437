//===- IntegersTest.cpp - Instructions on integers and bits -------------===//

#include "test/unit/cuda/Instructions.h"

using namespace cuda_double;

/// What all integer types have.
template <typename T> static void checkIntegers(const std::string &type) {
  constexpr bool isSigned = std::is_signed_v<T>;
  using U = std::make_unsigned_t<T>;
  using Wide = std::conditional_t<isSigned, __int128, unsigned __int128>;
  const std::string bits = "b" + std::to_string(8 * sizeof(T));
  check("add." + type, Binary<T>([](T a, T b) { return T(U(a) + U(b)); }));
  check("sub." + type, Binary<T>([](T a, T b) { return T(U(a) - U(b)); }));
  check("mul.lo." + type, Binary<T>([](T a, T b) { return T(Wide(a) * Wide(b)); }));
  check("mul.hi." + type, Binary<T>([](T a, T b) { return T(Wide(a) * Wide(b) >> (8 * sizeof(T))); }));
  check("mad.lo." + type, Ternary<T>([](T a, T b, T c) { return T(Wide(a) * Wide(b) + Wide(c)); }));
  check("mad.hi." + type,
        Ternary<T>([](T a, T b, T c) { return T(U(Wide(a) * Wide(b) >> (8 * sizeof(T))) + U(c)); }));
  check("div." + type, Binary<T>([](T a, T b) {
          return b == 0 ? T(-1) : isSigned && b == T(-1) ? T(U(0) - U(a)) : T(a / b);
        }));
  check("rem." + type, Binary<T>([](T a, T b) {
          return b == 0 ? a : isSigned && b == T(-1) ? T(0) : T(a % b);
        }));
  check("min." + type, Binary<T>([](T a, T b) { return std::min(a, b); }));
  check("max." + type, Binary<T>([](T a, T b) { return std::max(a, b); }));
  check("shr." + type, std::function<T(T, uint32_t)>([](T a, uint32_t by) {
          return by >= 8 * sizeof(T) ? T(a < 0 ? -1 : 0) : T(a >> by);
        }));
  check("shl." + bits, std::function<T(T, uint32_t)>(
                           [](T a, uint32_t by) { return by >= 8 * sizeof(T) ? T(0) : T(U(a) << by); }));
  check("and." + bits, Binary<T>([](T a, T b) { return T(a & b); }));
  check("or." + bits, Binary<T>([](T a, T b) { return T(a | b); }));
  check("xor." + bits, Binary<T>([](T a, T b) { return T(a ^ b); }));
  check("not." + bits, Unary<T>([](T a) { return T(~a); }));
  if constexpr (isSigned) {
    check("neg." + type, Unary<T>([](T a) { return T(U(0) - U(a)); }));
    check("abs." + type, Unary<T>([](T a) { return a < 0 ? T(U(0) - U(a)) : a; }));
  }
}

TEST(MachineArithmetic, Integers) {
  checkIntegers<uint16_t>("u16");
  checkIntegers<int16_t>("s16");
  checkIntegers<uint32_t>("u32");
  checkIntegers<int32_t>("s32");
  checkIntegers<uint64_t>("u64");
  checkIntegers<int64_t>("s64");
}

TEST(MachineArithmetic, WideProducts) {
  check("mul.wide.s16", std::function<int32_t(int16_t, int16_t)>([](int16_t a, int16_t b) { return a * b; }));
  check("mul.wide.u16",
        std::function<uint32_t(uint16_t, uint16_t)>([](uint16_t a, uint16_t b) { return uint32_t(a) * b; }));
  check("mul.wide.s32",
        std::function<int64_t(int32_t, int32_t)>([](int32_t a, int32_t b) { return int64_t(a) * b; }));
  check("mul.wide.u32",
        std::function<uint64_t(uint32_t, uint32_t)>([](uint32_t a, uint32_t b) { return uint64_t(a) * b; }));
  check("mad.wide.u32", std::function<uint64_t(uint32_t, uint32_t, uint64_t)>(
                            [](uint32_t a, uint32_t b, uint64_t c) { return uint64_t(a) * b + c; }));
  check("mad.wide.s32",
        std::function<int64_t(int32_t, int32_t, int64_t)>(
            [](int32_t a, int32_t b, int64_t c) { return int64_t(uint64_t(int64_t(a) * b) + uint64_t(c)); }));
}

TEST(MachineArithmetic, SaturatedSums) {
  auto clamp = [](int64_t value) { return int32_t(std::clamp<int64_t>(value, INT32_MIN, INT32_MAX)); };
  check("add.sat.s32", Binary<int32_t>([=](int32_t a, int32_t b) { return clamp(int64_t(a) + b); }));
  check("sub.sat.s32", Binary<int32_t>([=](int32_t a, int32_t b) { return clamp(int64_t(a) - b); }));
}

template <typename T> static void checkBits(const std::string &bits) {
  using Count = std::function<uint32_t(T)>;
  check("clz." + bits, Count([](T a) { return uint32_t(std::countl_zero(a)); }));
  check("popc." + bits, Count([](T a) { return uint32_t(std::popcount(a)); }));
  check("brev." + bits, Unary<T>([](T a) {
          T result = 0;
          for (int i = 0; i < std::numeric_limits<T>::digits; ++i)
            result = T(result << 1 | (a >> i & 1));
          return result;
        }));
}

TEST(MachineArithmetic, Bits) {
  checkBits<uint32_t>("b32");
  checkBits<uint64_t>("b64");
  check("prmt.b32", Ternary<uint32_t>([](uint32_t a, uint32_t b, uint32_t select) {
          uint8_t bytes[8];
          std::memcpy(bytes, &a, 4);
          std::memcpy(bytes + 4, &b, 4);
          uint32_t result = 0;
          for (int i = 3; i >= 0; --i) {
            uint32_t one = select >> (4 * i) & 15;
            auto byte = uint8_t(one & 8 ? int8_t(bytes[one & 7]) >> 7 : bytes[one]);
            result = result << 8 | byte;
          }
          return result;
        }));
  check("lop3.b32", Ternary<uint32_t>([](uint32_t a, uint32_t b, uint32_t c) { return (a & b) ^ c; }),
        ", 0x6a");
  check("lop3.b32", Ternary<uint32_t>([](uint32_t a, uint32_t b, uint32_t c) { return (a | ~b) & c; }),
        ", 0xa2");
  check("shf.l.wrap.b32", Ternary<uint32_t>([](uint32_t a, uint32_t b, uint32_t n) {
          n %= 32;
          return n ? b << n | a >> (32 - n) : b;
        }));
  check("shf.r.wrap.b32", Ternary<uint32_t>([](uint32_t a, uint32_t b, uint32_t n) {
          n %= 32;
          return n ? a >> n | b << (32 - n) : a;
        }));
  check("shf.l.clamp.b32", Ternary<uint32_t>([](uint32_t a, uint32_t b, uint32_t n) {
          return n >= 32 ? a : n ? b << n | a >> (32 - n) : b;
        }));
  check("shf.r.clamp.b32", Ternary<uint32_t>([](uint32_t a, uint32_t b, uint32_t n) {
          return n >= 32 ? b : n ? a >> n | b << (32 - n) : a;
        }));
}

/// Pseudocode of the ISA's description, 9.7.1.
template <typename T> static T fieldOf(T a, uint32_t position, uint32_t length) {
  constexpr int kLast = 8 * sizeof(T) - 1;
  int pos = position & 255, len = length & 255;
  uint64_t bits = std::make_unsigned_t<T>(a);
  bool sign = std::is_signed_v<T> && len != 0 && (bits >> std::min(pos + len - 1, kLast) & 1);
  uint64_t d = 0;
  for (int i = 0; i <= kLast; ++i)
    d |= uint64_t(i < len && pos + i <= kLast ? bits >> (pos + i) & 1 : sign) << i;
  return T(d);
}

TEST(MachineArithmetic, Fields) {
  check("bfe.u32", std::function<uint32_t(uint32_t, uint32_t, uint32_t)>(fieldOf<uint32_t>));
  check("bfe.s32", std::function<int32_t(int32_t, uint32_t, uint32_t)>(fieldOf<int32_t>));
  check("bfe.u64", std::function<uint64_t(uint64_t, uint32_t, uint32_t)>(fieldOf<uint64_t>));
  check("bfe.s64", std::function<int64_t(int64_t, uint32_t, uint32_t)>(fieldOf<int64_t>));
  check("bfi.b32", std::function<uint32_t(uint32_t, uint32_t, uint32_t, uint32_t)>(
                       [](uint32_t a, uint32_t b, uint32_t position, uint32_t length) {
                         uint32_t pos = position & 255, len = length & 255, f = b;
                         for (uint32_t i = 0; i < len && pos + i <= 31; ++i)
                           f = (f & ~(1U << (pos + i))) | (a >> i & 1) << (pos + i);
                         return f;
                       }));
}

TEST(MachineArithmetic, Carries) {
  // The upper word of a sum and of a product of 64 and 128 bits, as LLVM takes them apart.
  TestDevice device;
  std::mt19937_64 random(5);
  std::vector<uint64_t> a, b;
  for (int i = 0; i < 640; ++i) {
    a.push_back(randomOf<uint64_t>(random));
    b.push_back(randomOf<uint64_t>(random));
  }
  uint64_t result = device.allocate<uint64_t>(3 * 640);
  Module module = parse(makeKernel(3, R"(
    mul.wide.u32 %w10, %r0, 8; add.u64 %w11, %w1, %w10; add.u64 %w12, %w2, %w10;
    ld.global.v2.u32 {%r3, %r4}, [%w11]; ld.global.v2.u32 {%r5, %r6}, [%w12];
    add.cc.u32 %r7, %r3, %r5; addc.u32 %r8, %r4, %r6;
    sub.cc.u32 %r9, %r3, %r5; subc.u32 %r10, %r4, %r6;
    mul.lo.u32 %r11, %r3, %r5; mul.hi.u32 %r12, %r3, %r5;
    mad.lo.cc.u32 %r12, %r3, %r6, %r12; madc.hi.u32 %r13, %r3, %r6, 0;
    mad.lo.cc.u32 %r12, %r4, %r5, %r12; madc.hi.cc.u32 %r13, %r4, %r5, %r13; addc.u32 %r14, 0, 0;
    mad.lo.cc.u32 %r13, %r4, %r6, %r13; madc.hi.u32 %r14, %r4, %r6, %r14;
    mad.lo.u64 %w13, %w10, 3, %w0;
    st.global.v2.u32 [%w13], {%r7, %r8}; st.global.v2.u32 [%w13+8], {%r9, %r10}; st.global.v2.u32 [%w13+16], {%r13, %r14};)"));
  device.run(module, {10, 1, 1}, {64, 1, 1}, result, device.upload(a), device.upload(b));
  std::vector<uint64_t> found = device.download<uint64_t>(result, 3 * 640);
  for (size_t i = 0; i < 640; ++i) {
    EXPECT_EQ(found[3 * i], a[i] + b[i]);
    EXPECT_EQ(found[3 * i + 1], a[i] - b[i]);
    EXPECT_EQ(found[3 * i + 2], uint64_t((unsigned __int128)a[i] * b[i] >> 64));
  }
}

TEST(MachineArithmetic, AtomicOperations) {
  auto last = [](const std::string &operation, uint32_t begin, const std::string &operands) {
    TestDevice device;
    uint64_t number = device.upload(std::vector<uint32_t>{begin});
    Module module = parse(makeKernel(1, "mov.f32 %f1, 0f3F800000;\natom.global." + operation +
                                            " %r5, [%w0], " + operands + ";"));
    device.run(module, {3, 1, 1}, {4, 1, 1}, number);
    EXPECT_TRUE(device.findings.empty());
    return device.download<uint32_t>(number, 1)[0];
  };
  EXPECT_EQ(last("add.u32", 5, "2"), 29U);
  EXPECT_EQ(last("min.s32", 5, "-3"), uint32_t(-3));
  EXPECT_EQ(last("max.u32", 5, "%r0"), 11U);
  EXPECT_EQ(last("and.b32", 15, "6"), 6U);
  EXPECT_EQ(last("or.b32", 1, "%r0"), 15U);
  EXPECT_EQ(last("xor.b32", 1, "3"), 1U);
  EXPECT_EQ(last("exch.b32", 1, "9"), 9U);
  EXPECT_EQ(last("cas.b32", 5, "5, 8"), 8U);
  EXPECT_EQ(last("cas.b32", 5, "6, 8"), 5U);
  EXPECT_EQ(last("inc.u32", 0, "4"), 12 % 5U);
  EXPECT_EQ(last("dec.u32", 3, "4"), 1U);
  EXPECT_EQ(last("add.f32", 0, "%f1"), std::bit_cast<uint32_t>(12.0F));
}

TEST(MachineArithmetic, WhatItDoesNotKnowIsAFault) {
  auto failure = [](const std::string &instruction) {
    TestDevice device;
    Module module = parse(makeKernel(0, instruction));
    try {
      device.run(module, {1, 1, 1}, {1, 1, 1});
    } catch (const Fault &fault) {
      return std::string(fault.what());
    }
    return std::string();
  };
  EXPECT_NE(failure("sin.f64 %d0, %d1;").find("sin.f64: is not known with this type"), std::string::npos);
  EXPECT_NE(failure("ex2.b32 %r5, %r6;").find("ex2.b32"), std::string::npos);
  EXPECT_NE(failure("mul.u32 %r5, %r6, %r7;").find("says no part of the product"), std::string::npos);
  EXPECT_NE(failure("setp.num.u32 %p1, %r5, %r6;").find("is not known with this type"), std::string::npos);
  EXPECT_NE(failure("cvt.rn.f16x2.f32 %r5, %f1;").find("two operands"), std::string::npos);
}
