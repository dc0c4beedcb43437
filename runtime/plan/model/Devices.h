// How devices are written: the one parser for the tools, the runtime and Python.

#ifndef EPL_RUNTIME_PLAN_MODEL_DEVICES_H
#define EPL_RUNTIME_PLAN_MODEL_DEVICES_H

#include <cstdint>
#include <string>
#include <vector>

namespace epl::runtime {

/// As many devices as a plan may be for.
inline constexpr uint32_t maxDevices = 1024;

/// What a device string such as "cpu:4", "cpu:2x4" or "cuda:0-3" names. Devices of CPUs are numbered node
/// after node, those of GPUs card after card.
struct Devices {
  std::string kind;   ///< cpu or cuda
  uint32_t count;     ///< at least 1
  uint32_t nodes = 1; ///< each has count / nodes devices
  /// Of cuda: each has count / cards.size() devices; none: any cards. With `processes` those of a host take
  /// these in turn; none: all.
  std::vector<uint32_t> cards = {};
  uint32_t processes = 0; ///< of cuda, each with a card of its own for its devices; 0: cards are named

  /// Takes, in capital letters as well and with spaces round the kind and the rest:
  ///   cpu:N      N devices; also N alone
  ///   cpu:WxG    W nodes of G devices each; also WxG alone
  ///   cuda:CARDS a device on each card, of numbers and ranges: "cuda:0", "cuda:0-3", "cuda:0,2"
  ///   cuda:*     a device for each process, on a card of its own; "cuda:4*" says that there are four of them
  ///   cuda:*[CARDS] the same on some cards, which the processes of a host take in turn
  ///   cuda:CARDSxN, cuda:*xN  N virtual devices on each card
  /// Throws Error for all else, and unless there are from 1 to maxDevices devices.
  static Devices parse(const std::string &text);

  /// The full form: "cpu:N", or "cpu:WxG" for several nodes; "cuda:0-3" or "cuda:0-3xN", "cuda:4*". Where
  /// cards are not said, all devices are on card 0.
  std::string str() const;

  /// The same on cards of a list, "2-3": they count from 0 within it, and "*" is all of them. Throws Error if
  /// the list is none, if it has too few, or if these are no cards.
  Devices among(const std::string &list) const;
  /// Of "*": the card of the process that is number `place` on its host. Others as they are.
  Devices ofProcess(uint32_t place) const;
};

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_MODEL_DEVICES_H
