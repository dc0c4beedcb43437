// Values that are on their way to a worker's caller, or to a plan, who waits for them.
#ifndef EPL_RUNTIME_SERVERS_DRIVE_COMINGVALUES_H
#define EPL_RUNTIME_SERVERS_DRIVE_COMINGVALUES_H

#include "runtime/servers/drive/Worker.h"

#include <map>
#include <string>

namespace epl::runtime::servers {

/// Where each goes, how many of its blocks have not come, and who waits for it. Whoever has it guards it.
class ComingValues {
public:
  /// `listener`: null if nobody has to be told.
  void add(ValueId value, const HostTensor &tensor, size_t blocks, Worker::Listener *listener) {
    values[value] = {tensor, blocks, listener};
  }
  /// Where the whole value goes; null if nobody waits for it.
  std::byte *find(ValueId value) const {
    auto found = values.find(value);
    return found == values.end() ? nullptr : found->second.tensor.data;
  }
  /// A block of it has come.
  void haveBlock(ValueId value) {
    auto found = values.find(value);
    if (found == values.end() || --found->second.blocks != 0)
      return;
    Worker::Listener *listener = found->second.listener;
    values.erase(found);
    if (listener)
      listener->arrived(value);
  }
  /// None of them will come.
  void fail(const std::string &reason) {
    for (const auto &[value, each] : values)
      if (each.listener)
        each.listener->failed(reason.empty() ? "this worker has said goodbye to its servers" : reason);
    values.clear();
  }
  void clear() { values.clear(); }

private:
  struct Coming {
    HostTensor tensor;
    size_t blocks;
    Worker::Listener *listener;
  };
  std::map<ValueId, Coming> values;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_DRIVE_COMINGVALUES_H
