// What a worker does with the frames that come. Each returns what is wrong with its frame, for behind the
// server's name; empty if nothing is.

#include "runtime/servers/logic/Text.h"
#include "runtime/servers/logic/WorkerLogic.h"

#include <algorithm>
#include <utility>

namespace epl::runtime::servers {

using namespace worker_actions;

std::string WorkerLogic::take(uint32_t server, const Message &message, const Payload &payload,
                              Milliseconds now) {
  if (auto *failure = std::get_if<frames::FailureT>(&message)) {
    end(failure->text);
    return "";
  }
  auto *welcome = std::get_if<frames::WelcomeT>(&message);
  if (bool(welcome) != (servers[server].link.state() == ServerLink::State::greeting))
    return textOf("has sent ", messageName(message), welcome ? " twice" : " before Welcome");
  if (welcome)
    return takeWelcome(server, *welcome);
  if (auto *heartbeat = std::get_if<frames::HeartbeatT>(&message)) {
    takeHeartbeat(servers[server], *heartbeat, now);
    return "";
  }
  bool ready = std::holds_alternative<frames::ReadyT>(message);
  if (!ready || !servers[server].setUp) // it comes on every stream, whatever else does not
    servers[server].link.answered(now);
  if (ready)
    return takeReady(server);
  if (auto *acknowledge = std::get_if<frames::AcknowledgeT>(&message))
    return takeAcknowledge(server, *acknowledge);
  if (auto *value = std::get_if<frames::ValueT>(&message))
    return takeValue(server, *value, payload);
  if (auto *done = std::get_if<frames::TaskDoneT>(&message))
    return takeTaskDone(server, *done);
  if (std::holds_alternative<frames::GoodbyeT>(message))
    return takeGoodbye(server);
  return textOf("has sent ", messageName(message), ", which is no server's to send");
}

std::string WorkerLogic::takeWelcome(uint32_t number, const frames::WelcomeT &welcome) {
  Server &server = servers[number];
  if (welcome.server != number)
    return textOf("says that it is server ", welcome.server);
  server.link.welcomed(welcome.set_up > std::exchange(server.items, welcome.set_up));
  server.firstStep = welcome.step;
  std::vector<SetupItem> items = setupItems(job->blocks, number);
  for (size_t i = welcome.set_up; options.worker == 0 && i < items.size(); ++i)
    actions.emplace_back(SendSetup{linkOf(number), items[i]});
  if (begun)
    resume(number);
  return "";
}

std::string WorkerLogic::takeReady(uint32_t server) {
  servers[server].setUp = true;
  beginIfReady();
  return "";
}

std::string WorkerLogic::takeAcknowledge(uint32_t server, const frames::AcknowledgeT &acknowledge) {
  uint32_t block = acknowledge.block;
  if (block >= gradients.size() || job->blocks.serverOf(block) != server)
    return textOf("acknowledges a push of block ", block, ", which it has not");
  if (std::optional<Gradients::Entry> entry = gradients[block].acknowledged(acknowledge.step)) {
    std::erase(servers[server].sent, block);
    actions.emplace_back(ReleaseGradient{entry->gradient});
    sendNext(block);
    leaveIfDone();
  }
  return "";
}

std::string WorkerLogic::takeValue(uint32_t number, const frames::ValueT &value, const Payload &payload) {
  Requests &requests = servers[number].requests;
  Request *found = requests.find(value.block, value.state);
  if (!found)
    return textOf("has sent a value of block ", value.block, " that nobody has asked for");
  std::string name = job->blocks.text(value.block);
  if (isSync() && value.version < found->least)
    return textOf("has sent ", name, " after ", value.version, " steps, expected ", found->least);
  std::string fault = found->order.accept({value.offset, payload.size()}, value.total, found->bytes);
  if (!fault.empty())
    return "has sent a value of " + name + ", which " + fault;
  actions.emplace_back(StoreValue{value.block, value.state, value.offset, value.total, payload});
  if (!found->order.complete())
    return "";
  requests.erase(*found);
  actions.emplace_back(HaveValue{value.block, value.state, value.version});
  leaveIfDone();
  return "";
}

std::string WorkerLogic::takeTaskDone(uint32_t number, const frames::TaskDoneT &done) {
  auto found = servers[number].tasks.find(done.block);
  if (found == servers[number].tasks.end() || found->second.number != done.number)
    return ""; // said on a stream before, and again
  servers[number].tasks.erase(found);
  actions.emplace_back(HaveTask{done.block, done.rows, done.error});
  leaveIfDone();
  return "";
}

void WorkerLogic::takeHeartbeat(Server &server, const frames::HeartbeatT &heartbeat, Milliseconds now) {
  server.delay.clear();
  if (heartbeat.block < 0 || heartbeat.block >= int64_t(job->blocks.total()))
    return;
  std::string name = job->blocks.text(uint32_t(heartbeat.block));
  if (heartbeat.awaited.empty()) { // a task takes the time that it takes
    server.link.answered(now);
    server.delay = name + " is saved, loaded or the like";
    return;
  }
  server.delay = textOf("step ", heartbeat.step, " of ", name, " awaits worker");
  for (size_t i = 0; i < heartbeat.awaited.size(); ++i)
    server.delay += textOf(i == 0 ? " " : ", ", heartbeat.awaited[i]);
}

std::string WorkerLogic::takeGoodbye(uint32_t number) {
  Server &server = servers[number];
  if (!goodbyes)
    return "has said goodbye, and nobody has before";
  actions.emplace_back(CloseStream{linkOf(number), /*last=*/true});
  server.link.close();
  server.left = true;
  if (std::ranges::all_of(servers, [](const Server &other) { return other.left; })) {
    ended = true;
    actions.emplace_back(EndWorker{});
  }
  return "";
}

} // namespace epl::runtime::servers
