// What the logic of a worker wants to be done. It has no tensors: whoever runs it keeps these, under handles
// of theirs.

#ifndef EPL_RUNTIME_SERVERS_LOGIC_WORKERACTIONS_H
#define EPL_RUNTIME_SERVERS_LOGIC_WORKERACTIONS_H

#include "runtime/servers/Payload.h"
#include "runtime/servers/logic/LinkId.h"
#include "runtime/servers/logic/Requests.h"
#include "runtime/servers/logic/SetupItems.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace epl::runtime::servers {

/// What is pushed of a block in a step, as the caller numbers it: its gradient, and what goes with that.
using GradientHandle = uint64_t;

namespace worker_actions {

/// Opens a stream. What is sent meanwhile waits.
struct OpenStream {
  LinkId link;
};
/// Gives a stream up: nothing of it is of use any more. With `last`: once what was sent has gone.
struct CloseStream {
  LinkId link;
  bool last;
};
struct SendFrame {
  LinkId link;
  std::vector<std::byte> head;
};
/// Sends an item in pieces.
struct SendSetup {
  LinkId link;
  SetupItem item;
};
/// Sends a gradient, multiplied by the factor, in pieces, and keeps it, as it may have to be sent again.
struct SendGradient {
  LinkId link;
  uint64_t step;
  uint32_t block;
  GradientHandle gradient;
  double factor;
};
/// Sends ids whose rows are wanted, in pieces, and keeps them until the rows have come.
struct SendIds {
  LinkId link;
  uint64_t least;
  RowsRequest rows;
};
/// Adds `from` to `into`, and needs `from` no longer.
struct MergeGradient {
  GradientHandle into, from;
};
/// The server has it.
struct ReleaseGradient {
  GradientHandle gradient;
};
/// From this step on the worker takes part. Said once, before anything is pushed or pulled.
struct BeginSteps {
  uint64_t step;
};
/// Copies bytes of a value; they are the caller's, those of the frame that has come. A value whose pieces do
/// not come to an end begins anew.
struct StoreValue {
  uint32_t block;
  int32_t state; ///< -1: the parameter
  uint64_t offset, total;
  Payload bytes;
};
/// All of a value, or of the rows of a part of a table, has come.
struct HaveValue {
  uint32_t block;
  int32_t state;
  uint64_t version;
};
/// A task has been done with a part of a table, or has failed.
struct HaveTask {
  uint32_t block;
  uint64_t rows;
  std::string error; ///< empty: it has not
};
/// The worker is done, or has come to an error.
struct EndWorker {
  std::string error;
};

} // namespace worker_actions

using WorkerAction =
    std::variant<worker_actions::OpenStream, worker_actions::CloseStream, worker_actions::SendFrame,
                 worker_actions::SendSetup, worker_actions::SendGradient, worker_actions::SendIds,
                 worker_actions::MergeGradient, worker_actions::ReleaseGradient, worker_actions::BeginSteps,
                 worker_actions::StoreValue, worker_actions::HaveValue, worker_actions::HaveTask,
                 worker_actions::EndWorker>;

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_LOGIC_WORKERACTIONS_H
