#include "runtime/servers/protocol/Frames.h"

#include "runtime/plan/format/Vectors.h"
#include "runtime/servers/model/VerifyManifest.h"

#include <type_traits>

namespace epl::runtime::servers {
namespace {

/// Bytes of one tensor: far more than any memory, far less than what overflows.
constexpr uint64_t maxTotal = uint64_t(1) << 48;

template <typename T> constexpr frames::Body kindOf = frames::BodyTraits<typename T::TableType>::enum_value;

/// The message of a verified frame, by trying the kinds in turn; nothing for a kind that this version has
/// not.
template <size_t index = 0> bool unpack(const frames::Frame &frame, Message &message) {
  if constexpr (index == std::variant_size_v<Message>) {
    return false;
  } else {
    using T = std::variant_alternative_t<index, Message>;
    if (frame.body_type() != kindOf<T>)
      return unpack<index + 1>(frame, message);
    static_cast<const typename T::TableType *>(frame.body())->UnPackTo(&message.emplace<T>());
    return true;
  }
}

/// Whether all vectors of eight-byte numbers may be read in place.
bool hasAlignedVectors(const frames::Frame &frame) {
  const frames::PullRequest *request = frame.body_as_PullRequest();
  return !request || isAligned(request->blocks());
}

std::string count(uint64_t number, const char *what) { return std::to_string(number) + " " + what; }

/// What is wrong with the numbers of a message; empty if nothing is.
struct Faults {
  size_t payload;

  std::string operator()(const frames::HelloT &hello) const {
    if (std::string fault = sender(hello.worker, hello.workers); !fault.empty())
      return fault;
    return hello.server < maxProcesses ? none() : "is for server " + std::to_string(hello.server);
  }
  std::string operator()(const frames::JoinT &join) const {
    std::string fault = sender(join.worker, join.workers);
    return fault.empty() ? none() : fault;
  }
  std::string operator()(const frames::WelcomeT &welcome) const {
    return welcome.server < maxProcesses ? none() : "is from server " + std::to_string(welcome.server);
  }
  std::string operator()(const frames::SetupT &setup) const {
    if (setup.kind < frames::SetupKind::MIN || setup.kind > frames::SetupKind::MAX)
      return "is of kind " + std::to_string(int(setup.kind)) + ", which does not exist";
    return piece(setup.offset, setup.total);
  }
  std::string operator()(const frames::PushT &push) const { return piece(push.offset, push.total); }
  std::string operator()(const frames::ValueT &value) const { return piece(value.offset, value.total); }
  std::string operator()(const frames::PullRowsT &rows) const {
    if (rows.total % sizeof(int64_t) != 0)
      return "is of " + count(rows.total, "bytes") + ", expected 8 of each id";
    return piece(rows.offset, rows.total);
  }
  std::string operator()(const frames::PullRequestT &request) const {
    if (request.blocks.empty() || request.blocks.size() > maxPulledBlocks)
      return "is for " + count(request.blocks.size(), "blocks") + ", expected from 1 to " +
             std::to_string(maxPulledBlocks);
    return none();
  }
  std::string operator()(const frames::HeartbeatT &heartbeat) const {
    if (heartbeat.block < -1 || heartbeat.block > int64_t(UINT32_MAX))
      return "is about block " + std::to_string(heartbeat.block);
    return heartbeat.awaited.size() <= maxAwaited ? none()
                                                  : "names " + count(heartbeat.awaited.size(), "workers") +
                                                        ", expected at most " + std::to_string(maxAwaited);
  }
  std::string operator()(const frames::FailureT &failure) const { return alone(failure.text); }
  std::string operator()(const frames::TaskDoneT &done) const { return alone(done.error); }
  std::string operator()(const frames::RunTaskT &run) const {
    if (run.task < frames::TableTask::MIN || run.task > frames::TableTask::MAX)
      return "is of task " + std::to_string(int(run.task)) + ", which does not exist";
    return alone(run.folder);
  }
  std::string operator()(const frames::ShareFailedT &failed) const { return alone(failed.text); }
  std::string operator()(const frames::ShareT &share) const {
    std::string fault = text(share.what, maxWhatBytes);
    if (share.from < -1 || share.from >= int32_t(maxProcesses))
      fault = "wants what worker " + std::to_string(share.from) + " gives";
    return fault.empty() ? shared(share.offset, share.total) : fault;
  }
  std::string operator()(const frames::SharedT &piece) const { return shared(piece.offset, piece.total); }
  template <typename T> std::string operator()(const T &) const { return none(); }

  std::string none() const {
    return payload == 0 ? "" : "has a payload of " + count(payload, "bytes") + ", expected none";
  }

  /// Of a frame that has a text and no payload.
  std::string alone(const std::string &value) const {
    std::string fault = text(value, maxFailureBytes);
    return fault.empty() ? none() : fault;
  }

  static std::string sender(uint32_t worker, uint32_t workers) {
    return workers != 0 && workers <= maxProcesses && worker < workers
               ? ""
               : "is from worker " + std::to_string(worker) + " of " + std::to_string(workers);
  }

  static std::string text(const std::string &text, size_t most) {
    return text.size() <= most ? ""
                               : "has a text of " + count(text.size(), "bytes") + ", expected at most " +
                                     std::to_string(most);
  }

  std::string shared(uint64_t offset, uint64_t total) const {
    return total <= maxSharedBytes
               ? piece(offset, total)
               : "is of " + count(total, "bytes") + ", expected at most " + std::to_string(maxSharedBytes);
  }

  std::string piece(uint64_t offset, uint64_t total) const {
    if (total > maxTotal)
      return "is of " + count(total, "bytes") + ", expected at most " + std::to_string(maxTotal);
    if (offset > total || payload > total - offset || (payload == 0 && total > 0))
      return "has " + count(payload, "bytes") + " from " + std::to_string(offset) + " on of " +
             std::to_string(total);
    return "";
  }
};

struct Trimmed {
  void operator()(frames::HeartbeatT &heartbeat) const {
    if (heartbeat.awaited.size() > maxAwaited)
      heartbeat.awaited.resize(maxAwaited);
  }
  void operator()(frames::FailureT &failure) const { cut(failure.text, maxFailureBytes); }
  void operator()(frames::TaskDoneT &done) const { cut(done.error, maxFailureBytes); }
  void operator()(frames::ShareFailedT &failed) const { cut(failed.text, maxFailureBytes); }
  void operator()(frames::ShareT &share) const { cut(share.what, maxWhatBytes); }
  template <typename T> void operator()(T &) const {}

  static void cut(std::string &text, size_t most) {
    if (text.size() > most)
      text.resize(most);
  }
};

} // namespace

std::vector<std::byte> encode(const Message &message) {
  Message trimmed = message;
  std::visit(Trimmed(), trimmed);
  flatbuffers::FlatBufferBuilder builder(256);
  std::visit(
      [&](const auto &body) {
        using T = std::decay_t<decltype(body)>;
        auto packed = T::TableType::Pack(builder, &body);
        frames::FinishFrameBuffer(builder, frames::CreateFrame(builder, kindOf<T>, packed.Union()));
      },
      trimmed);
  auto *begin = reinterpret_cast<const std::byte *>(builder.GetBufferPointer());
  return {begin, begin + builder.GetSize()};
}

Decoded decode(std::span<const std::byte> head, size_t payloadBytes) {
  if (head.size() > kMaxFrame || payloadBytes > kMaxFrame - head.size())
    return "has " + count(head.size(), "bytes") + " and a payload of " + std::to_string(payloadBytes) +
           ", expected at most " + std::to_string(kMaxFrame);
  // Fields are aligned relative to the first byte; a transport's buffer may start anywhere.
  std::vector<std::byte> copy(head.begin(), head.end());
  auto *bytes = reinterpret_cast<const uint8_t *>(copy.data());
  flatbuffers::Verifier verifier(bytes, copy.size(), /*max_depth=*/4, maxTables(copy.size()));
  if (copy.size() < 2 * sizeof(flatbuffers::uoffset_t) || !frames::VerifyFrameBuffer(verifier))
    return "is malformed";
  const frames::Frame &frame = *frames::GetFrame(bytes);
  Message message;
  if (!hasAlignedVectors(frame))
    return "is malformed";
  if (!unpack(frame, message))
    return "is of kind " + std::to_string(int(frame.body_type())) + ", which does not exist";
  if (std::string fault = std::visit(Faults{payloadBytes}, message); !fault.empty())
    return std::string("(") + messageName(message) + ") " + fault;
  return message;
}

const char *messageName(const Message &message) {
  return std::visit(
      [](const auto &body) { return frames::EnumNameBody(kindOf<std::decay_t<decltype(body)>>); }, message);
}

} // namespace epl::runtime::servers
