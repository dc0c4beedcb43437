#include "runtime/servers/model/Dispatch.h"

#include "runtime/Error.h"

#include <boost/crc.hpp>

namespace epl::runtime::servers {
namespace {

uint32_t atLeastOne(uint32_t servers) {
  if (servers == 0)
    throw Error("there are 0 servers to give blocks to, expected at least 1");
  return servers;
}

} // namespace

RoundRobin::RoundRobin(uint32_t servers) : servers(atLeastOne(servers)) {}

std::vector<uint32_t> RoundRobin::dispatch(std::span<const std::string> blocks) {
  std::vector<uint32_t> result;
  for (size_t i = 0; i < blocks.size(); ++i) {
    result.push_back(next);
    next = (next + 1) % servers;
  }
  return result;
}

HashName::HashName(uint32_t servers) : servers(atLeastOne(servers)) {}

std::vector<uint32_t> HashName::dispatch(std::span<const std::string> blocks) {
  std::vector<uint32_t> result;
  for (const std::string &name : blocks) {
    boost::crc_32_type crc;
    crc.process_bytes(name.data(), name.size());
    result.push_back(crc.checksum() % servers);
  }
  return result;
}

} // namespace epl::runtime::servers
