//===- Messages.cpp - What members send to each other ---------------------===//
//
// A message is a file, which the receiver removes: what is sent is sent when it was received. All messages of
// a group go on together, so that two members may send to each other.
//
//===----------------------------------------------------------------------===//

#include "test/cuda/libraries/nccl/MemberMeeting.h"

#include <algorithm>
#include <cstring>

using namespace nccl_double;
using cuda_double::MeetingWork;

namespace {

class MessagesMeeting : public MemberMeeting {
public:
  MessagesMeeting(std::shared_ptr<Communicator> own, const std::vector<Message> &messages);

  void end() override;

private:
  struct Waiting {
    Message message;
    std::string file;
  };

  State look() override;
  std::string describe() const override;
  std::set<int> getMissing() const override;

  bool receive(const Waiting &waiting);
  std::string nameOfTalk() const { return "talk." + std::to_string(own->member); }

  const std::vector<Message> messages;
  std::vector<Waiting> waiting;
  std::vector<std::pair<void *, std::vector<std::byte>>> received; ///< for which address
};

size_t sizeOf(const Message &message) {
  return message.content.count * nccl_double::sizeOf(message.content.type);
}

std::string describe(const std::vector<Message> &messages) {
  std::string text;
  for (const Message &message : messages) {
    text += text.empty() ? "" : ", ";
    text += (message.isSend ? "send of " : "receive of ") + nccl_double::describe(message.content) +
            (message.isSend ? " to member " : " of member ") + std::to_string(message.other);
  }
  return text;
}

} // namespace

MessagesMeeting::MessagesMeeting(std::shared_ptr<Communicator> communicator, const std::vector<Message> &all)
    : MemberMeeting(std::move(communicator)), messages(all) {
  std::string text = describe();
  bool isWritten = own->place.put(nameOfTalk(), std::as_bytes(std::span(text)), {});
  for (const Message &message : messages) {
    waiting.push_back({message, own->nameOfNextMessage(message.isSend, message.other)});
    std::span body(static_cast<const std::byte *>(message.address), sizeOf(message));
    isWritten &= !message.isSend || own->place.put(waiting.back().file, bytesOf(message.content), body);
  }
  if (!isWritten)
    own->fail(Status::systemError, "it cannot write to " + own->place.getPath());
}

std::string MessagesMeeting::describe() const { return ::describe(messages); }

std::set<int> MessagesMeeting::getMissing() const {
  std::set<int> missing;
  for (const Waiting &each : waiting)
    missing.insert(each.message.other);
  return missing;
}

/// Whether it has come. What is not what is waited for is left, so that its sender does not go on.
bool MessagesMeeting::receive(const Waiting &each) {
  std::optional<File> file = own->place.open(each.file);
  if (!file)
    return false;
  const Message &message = each.message;
  std::optional<Content> sent = file->readHead<Content>();
  if (sent != message.content) {
    refuse("member " + std::to_string(own->member) + " receives " + nccl_double::describe(message.content) +
           " of member " + std::to_string(message.other) + ", which sends " +
           (sent ? nccl_double::describe(*sent) : "what is unreadable"));
    return false;
  }
  std::vector<std::byte> content(sizeOf(message));
  if (!file->read(sizeof(Content), content))
    own->fail(Status::systemError, "a message cannot be read");
  received.emplace_back(message.address, std::move(content));
  own->place.remove(each.file);
  return true;
}

MessagesMeeting::State MessagesMeeting::look() {
  std::erase_if(waiting, [&](const Waiting &each) {
    return each.message.isSend ? !own->place.has(each.file) : receive(each);
  });
  if (!own->isSound())
    return State::failed;
  return waiting.empty() ? State::complete : State::waits;
}

void MessagesMeeting::end() {
  for (const auto &[address, content] : received)
    std::ranges::copy(content, static_cast<std::byte *>(address));
  own->place.remove(nameOfTalk());
}

MeetingWork nccl_double::makeWork(const std::shared_ptr<Communicator> &own,
                                  const std::vector<Message> &messages) {
  MeetingWork work{::describe(messages) + " at member " + std::to_string(own->member),
                   own->device,
                   {},
                   {},
                   [own, messages] { return begin<MessagesMeeting>(own, messages); }};
  for (const Message &message : messages)
    (message.isSend ? work.reads : work.writes)
        .push_back({reinterpret_cast<uint64_t>(message.address), ::sizeOf(message)});
  checkOverlaps(work, false);
  return work;
}
