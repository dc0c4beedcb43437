// The content hash of plans: XXH3, 128 bits. It finds accidents, not attacks: nothing behind it is trusted.

#ifndef EPL_RUNTIME_PLAN_FORMAT_HASH_H
#define EPL_RUNTIME_PLAN_FORMAT_HASH_H

#include <cstdint>
#include <span>
#include <string>

namespace epl::runtime {

struct Hash128 {
  uint64_t low;
  uint64_t high;

  bool operator==(const Hash128 &) const = default;

  /// 32 hexadecimal digits, the high half first.
  std::string text() const;
};

Hash128 hashBytes(std::span<const uint8_t> bytes);

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_FORMAT_HASH_H
