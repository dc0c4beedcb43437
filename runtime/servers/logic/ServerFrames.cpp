// What a server does with the frames of workers that it knows. Each returns what is wrong with its frame, for
// behind the worker's number; empty if nothing is.

#include "runtime/servers/logic/ServerLogic.h"
#include "runtime/servers/logic/Text.h"

namespace epl::runtime::servers {

using namespace server_actions;

std::string ServerLogic::take(uint32_t worker, const Message &message, const Payload &payload) {
  if (auto *setup = std::get_if<frames::SetupT>(&message))
    return takeSetup(worker, *setup, payload);
  if (auto *push = std::get_if<frames::PushT>(&message))
    return takePush(worker, *push, payload);
  if (auto *request = std::get_if<frames::PullRequestT>(&message))
    return takePulls(worker, *request);
  if (auto *rows = std::get_if<frames::PullRowsT>(&message))
    return takePullRows(worker, *rows, payload);
  if (auto *task = std::get_if<frames::RunTaskT>(&message))
    return takeTask(worker, *task);
  if (auto *fetch = std::get_if<frames::FetchT>(&message))
    return takeFetch(worker, *fetch);
  if (auto *begin = std::get_if<frames::BeginT>(&message))
    return takeBegin(worker, begin->step);
  if (auto *goodbye = std::get_if<frames::GoodbyeT>(&message))
    return takeGoodbye(worker, goodbye->step);
  if (auto *failure = std::get_if<frames::FailureT>(&message))
    return "has failed: " + failure->text;
  if (auto *heartbeat = std::get_if<frames::HeartbeatT>(&message))
    return takeHeartbeat(worker, *heartbeat);
  return textOf("has sent ", messageName(message), ", which is no worker's to send");
}

std::string ServerLogic::takeSetup(uint32_t worker, const frames::SetupT &item, const Payload &payload) {
  if (worker != 0)
    return "sets up the job, which is worker 0's to do";
  if (std::string fault = setup->accept(item, payload); !fault.empty())
    return fault;
  out.actions.emplace_back(StoreSetup{{item.kind, item.index, item.state}, item.offset, item.total, payload});
  if (job() && !known)
    learnJob();
  if (setup->complete())
    out.actions.emplace_back(LoadJob{});
  return "";
}

std::string ServerLogic::takePush(uint32_t worker, const frames::PushT &push, const Payload &payload) {
  if (!blocks)
    return "pushes before the server has been set up";
  members.at(worker).pushed = true;
  return blocks->push(worker, push, payload);
}

std::string ServerLogic::takePulls(uint32_t worker, const frames::PullRequestT &request) {
  if (!blocks)
    return "asks for blocks before the server has been set up";
  for (const frames::PulledBlock &block : request.blocks)
    if (std::string fault = blocks->pull(worker, block.block(), -1, block.least()); !fault.empty())
      return fault;
  return "";
}

std::string ServerLogic::takePullRows(uint32_t worker, const frames::PullRowsT &rows,
                                      const Payload &payload) {
  if (!blocks)
    return "asks for rows before the server has been set up";
  return blocks->pullRows(worker, rows, payload);
}

std::string ServerLogic::takeTask(uint32_t worker, const frames::RunTaskT &task) {
  if (worker != 0)
    return "wants something done with a table, which is worker 0's to ask for";
  return blocks ? blocks->runTask(worker, task) : "wants something done before the server has been set up";
}

std::string ServerLogic::takeHeartbeat(uint32_t worker, const frames::HeartbeatT &heartbeat) {
  if (heartbeat.block >= 0 && (!job() || !job()->blocks.isPart(uint32_t(heartbeat.block)) ||
                               uint32_t(heartbeat.block) >= job()->blocks.total()))
    return textOf("waits for a task with block ", heartbeat.block, ", which is no part of a table");
  members.at(worker).task = heartbeat.block;
  return "";
}

std::string ServerLogic::takeFetch(uint32_t worker, const frames::FetchT &fetch) {
  if (!blocks)
    return "asks for states before the server has been set up";
  return blocks->pull(worker, fetch.block, fetch.state, fetch.least);
}

std::string ServerLogic::takeBegin(uint32_t worker, uint64_t step) {
  Member &member = members.at(worker);
  if (member.begun ? step != member.firstStep : step < member.firstStep)
    return textOf("begins in step ", step, ", expected ", member.firstStep,
                  member.begun ? "" : " or a later one");
  member.firstStep = step, member.begun = true;
  if (blocks)
    blocks->recheck();
  return "";
}

std::string ServerLogic::takeGoodbye(uint32_t worker, uint64_t step) {
  Member &member = members.at(worker);
  if (blocks && isSync())
    if (std::string fault = blocks->missing(worker, step); !fault.empty())
      return fault;
  frames::GoodbyeT goodbye;
  goodbye.step = step;
  out.send(member.stream, goodbye);
  member.presence = Presence::gone, member.begun = true;
  member.endStep = step;
  if (blocks)
    blocks->recheck();
  endIfDone();
  return "";
}

} // namespace epl::runtime::servers
