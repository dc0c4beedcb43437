// What the logic of a server wants to be done. It has no tensors: whoever runs it keeps these, under the
// names that are in the actions.

#ifndef EPL_RUNTIME_SERVERS_LOGIC_SERVERACTIONS_H
#define EPL_RUNTIME_SERVERS_LOGIC_SERVERACTIONS_H

#include "runtime/servers/Payload.h"
#include "runtime/servers/logic/Members.h"
#include "runtime/servers/logic/SetupItems.h"

#include <compare>
#include <cstddef>
#include <string>
#include <variant>
#include <vector>

namespace epl::runtime::servers {

/// A gradient of a block as one life of a worker has pushed it in a step. Ordered by worker first: sums are
/// made so.
struct GradientKey {
  uint32_t worker;
  uint64_t life, step;
  uint32_t block;

  auto operator<=>(const GradientKey &) const = default;
};

namespace server_actions {

struct SendFrame {
  StreamId stream;
  std::vector<std::byte> head;
};
/// Closes a stream when what was sent has gone.
struct CloseStream {
  StreamId stream;
};
/// Copies bytes of an item; they are the caller's, those of the frame that has come.
struct StoreSetup {
  SetupItem item;
  uint64_t offset, total;
  Payload bytes;
};
/// All items are there: verifies the plans and makes sessions of them. Then ServerLogic::loaded, or failed.
struct LoadJob {};
/// Copies bytes of a gradient; they are the caller's, those of the frame that has come.
struct StoreGradient {
  GradientKey key;
  uint64_t offset, total;
  Payload bytes;
};
/// The gradient, or what has come of it, is not needed.
struct DiscardGradient {
  GradientKey key;
};
/// Adds up the gradients in their order, multiplies by the factor and updates the block with that. Of
/// dc_asgd: with the backup of the one gradient's worker. Then ServerLogic::updateEnded, or failed. No two
/// updates of one block overlap. Of a part of a table: its rows, of each id the gradients in their order.
struct UpdateBlock {
  uint32_t block;
  uint64_t step;
  std::vector<GradientKey> gradients;
  double factor;
};
/// Sends the value, as it is now, in pieces. Of dc_asgd with `keep`: it is the worker's backup from now on.
struct SendValue {
  StreamId stream;
  uint32_t worker, block;
  int32_t state; ///< -1: the parameter
  uint64_t version;
  bool keep;
};
/// Copies bytes of the ids that a worker asks a part of a table for; they are the caller's, those of the
/// frame that has come. From offset 0 on they are those of another request.
struct StoreIds {
  uint32_t worker, block;
  uint64_t offset, total;
  Payload bytes;
};
/// Sends the rows of these ids, as all updates before leave them and none that follows, in pieces.
struct SendRows {
  StreamId stream;
  uint32_t worker, block;
  uint64_t version;
  bool create; ///< ids without a row get one
};
/// Does a task with a part of a table, behind all updates before. Then ServerLogic::taskEnded.
struct RunTask {
  uint32_t worker;
  uint64_t life;
  frames::RunTaskT task;
};
/// The server is done, or has come to an error.
struct EndServer {
  std::string error;
};

} // namespace server_actions

using ServerAction =
    std::variant<server_actions::SendFrame, server_actions::CloseStream, server_actions::StoreSetup,
                 server_actions::LoadJob, server_actions::StoreGradient, server_actions::DiscardGradient,
                 server_actions::UpdateBlock, server_actions::SendValue, server_actions::StoreIds,
                 server_actions::SendRows, server_actions::RunTask, server_actions::EndServer>;

/// Actions as they are made.
struct ServerOutbox {
  std::vector<ServerAction> actions;

  void send(StreamId stream, const Message &message) {
    if (stream != 0)
      actions.emplace_back(server_actions::SendFrame{stream, encode(message)});
  }
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_LOGIC_SERVERACTIONS_H
