//===- Instructions.h - Each instruction beside the host --------*- C++ -*-===//
//
// Random operands, those at the edges of their types among them, through a kernel of one instruction.
//
//===----------------------------------------------------------------------===//

#pragma once

#include "test/unit/cuda/Kernel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

namespace cuda_double {

/// Bits of 16-bit floating-point numbers.
struct HalfBits {
  uint16_t bits;
  operator float() const { return std::bit_cast<_Float16>(bits); }
};
struct Bfloat {
  uint16_t bits;
  operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }
};

/// The nearest bfloat16 of an exact number, the one of two whose last bit is 0 in the middle: found by trying
/// both.
inline Bfloat nearestBfloat(__float128 exact) {
  auto near = static_cast<float>(exact);
  if (std::isnan(near))
    return {0x7fff};
  if (exact - exact != 0) // infinite
    return {static_cast<uint16_t>(exact > 0 ? 0x7f80 : 0xff80)};
  auto low = static_cast<uint16_t>(std::bit_cast<uint32_t>(near) >> 16);
  Bfloat best{low};
  auto distance = [&](Bfloat of) {
    // Beyond the largest is as far as the next one would be.
    __float128 value = std::isinf(float(of)) ? std::copysign(0x1p128, float(of)) : float(of);
    __float128 apart = value - exact;
    return apart < 0 ? -apart : apart;
  };
  for (int step : {-1, 1}) {
    Bfloat other{static_cast<uint16_t>(low + step)};
    if (std::isnan(float(other)) || std::signbit(float(other)) != std::signbit(float(best)))
      continue;
    if (distance(other) < distance(best) || (distance(other) == distance(best) && other.bits % 2 == 0))
      best = other;
  }
  return best;
}

/// How PTX moves a type of C++: the type of its load, and the registers.
struct Moved {
  const char *type, *registers;
  size_t bytes;
};
template <typename T> constexpr Moved moved() {
  if constexpr (std::is_same_v<T, float>)
    return {"f32", "%f", 4};
  else if constexpr (std::is_same_v<T, double>)
    return {"f64", "%d", 8};
  else if constexpr (sizeof(T) == 2)
    return {"b16", "%h", 2};
  else if constexpr (sizeof(T) == 4)
    return {"b32", "%r", 4};
  else
    return {"b64", "%w", 8};
}

template <typename T> T randomOf(std::mt19937_64 &random) {
  uint64_t bits = random();
  if constexpr (std::is_integral_v<T>) {
    const T edges[] = {0,  1,  2,  T(-1), std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), 31,
                       32, 33, 63, 64};
    if (bits % 4 == 0)
      return edges[bits / 4 % std::size(edges)];
    return static_cast<T>(random() >> (bits % 64)); // numbers of any length
  } else if constexpr (std::is_floating_point_v<T>) {
    const T edges[] = {0,
                       T(-0.0),
                       1,
                       -1,
                       T(0.5),
                       T(2.5),
                       std::numeric_limits<T>::infinity(),
                       -std::numeric_limits<T>::infinity(),
                       std::numeric_limits<T>::quiet_NaN(),
                       std::numeric_limits<T>::denorm_min(),
                       std::numeric_limits<T>::max(),
                       std::numeric_limits<T>::min(),
                       T(1e10),
                       T(-3e9),
                       T(4.5e9)};
    if (bits % 4 == 0)
      return edges[bits / 4 % std::size(edges)];
    if (bits % 4 == 1) // any bits
      return std::bit_cast<T>(static_cast<std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>(random()));
    return static_cast<T>(std::ldexp(double(int64_t(random())), int(bits / 4 % 40) - 83));
  } else {
    return T{static_cast<uint16_t>(bits % 4 == 0 ? 0x3C00 >> (bits / 4 % 3) : random())};
  }
}

template <typename T> std::string show(T value) {
  if constexpr (std::is_arithmetic_v<T>)
    return std::to_string(value);
  else
    return std::to_string(float(value));
}

template <typename T> bool isSame(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a) || std::isnan(b))
      return std::isnan(a) && std::isnan(b);
  if constexpr (!std::is_arithmetic_v<T>)
    if (std::isnan(float(a)) || std::isnan(float(b)))
      return std::isnan(float(a)) && std::isnan(float(b));
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

/// Runs `instruction`, with `behind` behind its operands, on random operands, and compares it with the host.
template <typename Result, typename... Operands>
void check(const std::string &instruction, std::function<Result(Operands...)> host,
           const std::string &behind = "", std::function<bool(Result, Result)> isRight = isSame<Result>) {
  constexpr size_t kSize = 1000;
  std::mt19937_64 random(std::hash<std::string>()(instruction));
  TestDevice device;
  std::tuple<std::vector<Operands>...> operands;
  std::apply(
      [&](auto &...each) {
        auto fill = [&](auto &values) {
          for (size_t i = 0; i < kSize; ++i)
            values.push_back(randomOf<typename std::decay_t<decltype(values)>::value_type>(random));
        };
        (fill(each), ...);
      },
      operands);
  std::string body = "mov.u32 %r50, %r0;\n", call = instruction;
  unsigned next = 0;
  auto place = [&](size_t bytes) {
    std::string number = std::to_string(next++), at = "%w" + std::to_string(40 + next);
    body += "mul.wide.u32 " + at + ", %r50, " + std::to_string(bytes) + "; add.u64 " + at + ", " + at +
            ", %w" + number + ";\n";
    return at;
  };
  std::string target = place(sizeof(Result));
  call += std::string(" ") + moved<Result>().registers + "20";
  auto add = [&](Moved how) {
    std::string name = how.registers + std::to_string(20 + next), at = place(how.bytes);
    body += std::string("ld.global.") + how.type + " " + name + ", [" + at + "];\n";
    call += ", " + name;
  };
  (add(moved<Operands>()), ...);
  body += call + behind + ";\nst.global." + moved<Result>().type + " [" + target + "], " +
          moved<Result>().registers + "20;";
  Module module = parse(makeKernel(1 + sizeof...(Operands), body));
  uint64_t results = device.allocate<Result>(kSize);
  std::apply(
      [&](auto &...each) {
        device.run(module, {kSize / 40, 1, 1}, {40, 1, 1}, results, device.upload(each)...);
      },
      operands);
  EXPECT_TRUE(device.findings.empty());
  std::vector<Result> found = device.download<Result>(results, kSize);
  for (size_t i = 0; i < kSize; ++i) {
    std::string text = instruction + " of";
    Result wanted = std::apply(
        [&](auto &...each) {
          ((text += " " + show(each[i])), ...);
          return host(each[i]...);
        },
        operands);
    ASSERT_TRUE(isRight(found[i], wanted))
        << text << " is " << show(found[i]) << ", expected " << show(wanted);
  }
}

template <typename T> using Unary = std::function<T(T)>;
template <typename T> using Binary = std::function<T(T, T)>;
template <typename T> using Ternary = std::function<T(T, T, T)>;
} // namespace cuda_double
