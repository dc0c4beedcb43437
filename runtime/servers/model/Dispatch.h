// Which server has which block: Fluid's dispatchers.

#ifndef EPL_RUNTIME_SERVERS_MODEL_DISPATCH_H
#define EPL_RUNTIME_SERVERS_MODEL_DISPATCH_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace epl::runtime::servers {

/// Gives blocks to servers. One of a user's own is a class of its own.
class Dispatcher {
public:
  virtual ~Dispatcher() = default;

  /// The server of each block, by their names. Called once for each variable, in their order.
  virtual std::vector<uint32_t> dispatch(std::span<const std::string> blocks) = 0;

  /// Begins anew: the same calls of dispatch would give the same servers.
  virtual void reset() {}
};

/// One server after another; a call goes on where the last one has ended.
class RoundRobin : public Dispatcher {
public:
  /// Throws Error if there are 0 servers.
  explicit RoundRobin(uint32_t servers);

  std::vector<uint32_t> dispatch(std::span<const std::string> blocks) override;
  void reset() override { next = 0; }

private:
  uint32_t servers;
  uint32_t next = 0;
};

/// By a hash of the block's name: CRC-32 as zlib has it, which is the same in every process.
class HashName : public Dispatcher {
public:
  /// Throws Error if there are 0 servers.
  explicit HashName(uint32_t servers);

  std::vector<uint32_t> dispatch(std::span<const std::string> blocks) override;

private:
  uint32_t servers;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_MODEL_DISPATCH_H
