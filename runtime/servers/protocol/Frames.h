// Heads of frames as bytes, and back. The schema: frames.fbs.

#ifndef EPL_RUNTIME_SERVERS_PROTOCOL_FRAMES_H
#define EPL_RUNTIME_SERVERS_PROTOCOL_FRAMES_H

#include "runtime/servers/Stream.h"
#include "runtime/servers/protocol/frames_generated.h"

#include <cstddef>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace epl::runtime::servers {

/// The version of the schema that this library writes and reads.
inline constexpr uint32_t protocolVersion = 3;

/// Blocks of one PullRequest; a worker that wants more sends several.
inline constexpr size_t maxPulledBlocks = size_t(1) << 15;

/// Bytes of the text of a Failure or TaskDone, and of a folder; and how many workers a Heartbeat names.
inline constexpr size_t maxFailureBytes = 8192, maxAwaited = 16;

/// Bytes that a worker gives to a round of all-gathers, and of the text that says for what.
inline constexpr size_t maxSharedBytes = size_t(1) << 30, maxWhatBytes = 128;

/// What the head of a frame says.
using Message = std::variant<frames::HelloT, frames::WelcomeT, frames::BeginT, frames::SetupT, frames::ReadyT,
                             frames::PushT, frames::AcknowledgeT, frames::PullRequestT, frames::FetchT,
                             frames::ValueT, frames::HeartbeatT, frames::GoodbyeT, frames::FailureT,
                             frames::PullRowsT, frames::RunTaskT, frames::TaskDoneT, frames::JoinT,
                             frames::JoinedT, frames::ShareT, frames::SharedT, frames::ShareFailedT>;

/// The head of a frame. Too long texts, and too many awaited workers, are cut off.
std::vector<std::byte> encode(const Message &message);

/// A message, or what is wrong with it: lower case, for behind "a frame of worker 2 ".
using Decoded = std::variant<Message, std::string>;

/// Reads a head that came with a payload of so many bytes. Whatever the bytes are, no number of the message
/// is out of the range that the protocol itself gives it: pieces lie within their totals, enums exist,
/// vectors are not too long. Whether there is such a block, state, or worker in the job, it does not know.
Decoded decode(std::span<const std::byte> head, size_t payloadBytes);

/// What a message is called in errors: "Push".
const char *messageName(const Message &message);

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_PROTOCOL_FRAMES_H
