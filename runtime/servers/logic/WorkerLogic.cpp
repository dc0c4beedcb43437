#include "runtime/servers/logic/WorkerLogic.h"

#include "runtime/Error.h"
#include "runtime/servers/logic/Text.h"

#include <algorithm>
#include <utility>

namespace epl::runtime::servers {

using namespace worker_actions;

WorkerLogic::WorkerLogic(std::shared_ptr<const Job> from, WorkerOptions given, Milliseconds now)
    : job(std::move(from)), options(std::move(given)), random(options.seed), noticed(now),
      gradients(job->blocks.total()) {
  if (options.addresses.size() != job->manifest.servers)
    throw Error(textOf("there are addresses of ", options.addresses.size(), " servers, expected ",
                       job->manifest.servers));
  if (options.worker >= job->manifest.workers)
    throw Error(textOf("this is worker ", options.worker, ", expected one below ", job->manifest.workers));
  for (uint32_t server = 0; server < options.addresses.size(); ++server)
    servers.push_back({ServerLink(options.timing, now), job->blocks.allOfServer(server)});
}

bool WorkerLogic::isOpen(const Server &server) const {
  return server.link.state() == ServerLink::State::welcomed && !ended;
}

/// Whether that is the stream which goes now.
bool WorkerLogic::isCurrent(LinkId link) const {
  const ServerLink &current = servers.at(link.server).link;
  bool isUsed =
      current.state() == ServerLink::State::greeting || current.state() == ServerLink::State::welcomed;
  return isUsed && link.stream == current.stream() && !ended;
}

void WorkerLogic::send(uint32_t server, const Message &message) {
  actions.emplace_back(SendFrame{linkOf(server), encode(message)});
}

void WorkerLogic::open(uint32_t server, Milliseconds now) {
  frames::HelloT hello;
  hello.protocol = protocolVersion, hello.job_low = options.job.low, hello.job_high = options.job.high;
  hello.worker = options.worker, hello.workers = job->manifest.workers, hello.server = server;
  hello.life = options.life, hello.stream = servers[server].link.opened(now);
  actions.emplace_back(OpenStream{linkOf(server)});
  send(server, hello);
}

void WorkerLogic::reopen(uint32_t server, Milliseconds now) {
  actions.emplace_back(CloseStream{linkOf(server), /*last=*/false});
  servers[server].link.broke(now, random);
}

void WorkerLogic::accepted(LinkId link, Milliseconds now) {
  if (isCurrent(link))
    servers[link.server].link.accepted(now);
}

WorkerLogic::Actions WorkerLogic::received(LinkId link, std::span<const std::byte> head,
                                           const Payload &payload, Milliseconds now) {
  if (!isCurrent(link))
    return {};
  Server &server = servers[link.server];
  notice(now);
  server.link.heardOf(now);
  server.absence.clear();
  Decoded decoded = decode(head, payload.size());
  if (auto *fault = std::get_if<std::string>(&decoded))
    lose(link.server, "has sent a frame that " + *fault);
  else if (std::string text = take(link.server, std::get<Message>(decoded), payload, now); !text.empty())
    lose(link.server, text);
  return take();
}

/// Once all servers are ready it is known which step is the first one for all of them.
void WorkerLogic::beginIfReady() {
  if (begun || !std::ranges::all_of(servers, [](const Server &server) { return server.setUp; }))
    return;
  begun = 0;
  for (const Server &server : servers)
    begun = std::max(*begun, server.firstStep.value_or(0));
  actions.emplace_back(BeginSteps{*begun});
  for (uint32_t server = 0; server < servers.size(); ++server)
    if (isOpen(servers[server]))
      resume(server);
  leaveIfDone();
}

/// Says again on a new stream what has not been answered.
void WorkerLogic::resume(uint32_t number) {
  Server &server = servers[number];
  frames::BeginT begin;
  begin.step = *begun;
  send(number, begin);
  for (uint32_t block : server.sent)
    sendGradient(block, *gradients[block].sent());
  for (uint32_t block : server.blocks)
    sendNext(block);
  server.requests.restart();
  sendRequests(number, 0);
  for (const auto &[part, task] : server.tasks)
    send(number, task);
  if (goodbyes) {
    frames::GoodbyeT goodbye;
    goodbye.step = std::max(*leaving, *begun);
    send(number, goodbye);
  }
}

void WorkerLogic::requireRunning(const char *what) const {
  if (!begun || leaving)
    throw Error(textOf("worker ", options.worker, " ", what,
                       leaving ? " after its last step" : " before its first step"));
}

uint64_t WorkerLogic::leastOf(uint64_t step, uint32_t block) const {
  switch (job->manifest.mode) {
  case manifest::Mode::sync:
    return step;
  case manifest::Mode::half_async:
  case manifest::Mode::geo:
    return gradients[block].steps();
  default:
    return 0;
  }
}

void WorkerLogic::request(uint64_t step, Request request) {
  request.least = leastOf(step, request.block);
  if (!servers[job->blocks.serverOf(request.block)].requests.add(request))
    throw Error(job->blocks.text(request.block) + " is asked for twice at once");
}

/// Sends what is asked for from request number `from` on.
void WorkerLogic::sendRequests(uint32_t server, uint64_t from) {
  if (!isOpen(servers[server]))
    return;
  for (const Message &message : servers[server].requests.frames(from))
    send(server, message);
  for (const Request &request : servers[server].requests.rows(from))
    actions.emplace_back(SendIds{linkOf(server), request.least, *request.rows});
}

/// Asks for all at once: one frame for the blocks of a server.
void WorkerLogic::requestAll(uint64_t step, std::span<const Request> requests) {
  for (const Request &each : requests) // all or none
    if (servers[job->blocks.serverOf(each.block)].requests.find(each.block, each.state))
      throw Error(job->blocks.text(each.block) + " is asked for twice at once");
  std::vector<uint64_t> from;
  from.reserve(servers.size());
  for (const Server &server : servers)
    from.push_back(server.requests.next());
  for (const Request &each : requests)
    request(step, each);
  for (uint32_t server = 0; server < servers.size(); ++server)
    sendRequests(server, from[server]);
}

WorkerLogic::Actions WorkerLogic::pull(uint64_t step, std::span<const uint32_t> blocks) {
  if (ended)
    return {};
  requireRunning("pulls");
  std::vector<Request> requests;
  for (uint32_t block : blocks)
    requests.push_back({block, -1, 0, job->blocks.bytes(block)});
  requestAll(step, requests);
  return take();
}

WorkerLogic::Actions WorkerLogic::pullRows(uint64_t step, std::span<const RowsRequest> rows) {
  if (ended)
    return {};
  requireRunning("pulls rows");
  std::vector<Request> requests;
  for (const RowsRequest &part : rows)
    requests.push_back({part.block, -1, 0, part.count * rowBytes(job->blocks.table(part.block)), part});
  requestAll(step, requests);
  return take();
}

WorkerLogic::Actions WorkerLogic::fetch(uint64_t step, uint32_t block, int32_t state) {
  if (ended)
    return {};
  requireRunning("fetches a state");
  uint64_t bytes = state == -1 ? job->blocks.bytes(block) : job->blocks.stateBytes(block, uint32_t(state));
  Request request{block, state, 0, bytes};
  requestAll(step, std::span(&request, 1));
  return take();
}

WorkerLogic::Actions WorkerLogic::runTask(uint64_t step, frames::RunTaskT task) {
  if (ended)
    return {};
  requireRunning("wants something done with a table");
  uint32_t server = job->blocks.serverOf(task.block);
  task.number = ++tasks, task.least = leastOf(step, task.block);
  if (!servers[server].tasks.emplace(task.block, task).second)
    throw Error("two things are to be done with " + job->blocks.text(task.block) + " at once");
  if (isOpen(servers[server]))
    send(server, task);
  return take();
}

bool WorkerLogic::isPushed(uint64_t step) const {
  return job->manifest.mode != manifest::Mode::geo || (step + 1) % job->manifest.geo_steps == 0;
}

size_t WorkerLogic::waiting(uint32_t block) const { return gradients.at(block).waiting(); }

WorkerLogic::Actions WorkerLogic::push(uint64_t step, uint32_t block, GradientHandle gradient) {
  if (ended)
    return {};
  requireRunning("pushes");
  Gradients &own = gradients.at(block);
  if (step < own.steps() || step < *begun)
    throw Error(textOf("worker ", options.worker, " pushes step ", step, " of ", job->blocks.text(block),
                       ", expected ", std::max(own.steps(), *begun), " or a later one"));
  if (std::optional<GradientHandle> into = own.add(step, gradient, maxMerge(block)))
    actions.emplace_back(MergeGradient{*into, gradient});
  sendNext(block);
  return take();
}

/// How many pushes of a block become one at most. An update adds up the sums of one tensor's floats; the
/// product of a sum of gradients and a sum of learning rates is no sum of updates.
uint32_t WorkerLogic::maxMerge(uint32_t block) const {
  if (job->blocks.isPart(block))
    return 1; // other rows
  const auto &pushes = job->blocks.parameter(block).pushes;
  bool isSum = pushes.size() == 1 && isFloat(pushes.front()->type);
  return isSync() || !isSum ? 1 : options.maxMerge;
}

/// Sends the gradient of a block that is next, unless one is on its way.
void WorkerLogic::sendNext(uint32_t block) {
  Server &server = servers[job->blocks.serverOf(block)];
  if (!isOpen(server))
    return;
  if (const Gradients::Entry *entry = gradients[block].send()) {
    server.sent.push_back(block);
    sendGradient(block, *entry);
  }
}

void WorkerLogic::sendGradient(uint32_t block, const Gradients::Entry &entry) {
  double factor = options.merge == Merge::mean ? 1.0 / entry.count : 1.0;
  actions.emplace_back(
      SendGradient{linkOf(job->blocks.serverOf(block)), entry.step, block, entry.gradient, factor});
}

WorkerLogic::Actions WorkerLogic::finish(uint64_t step) {
  if (!ended && !leaving) {
    leaving = step;
    leaveIfDone();
  }
  return take();
}

/// Says goodbye once nothing is on its way.
void WorkerLogic::leaveIfDone() {
  if (!leaving || !begun || goodbyes ||
      !std::ranges::all_of(gradients, [](const Gradients &own) { return own.empty(); }) ||
      !std::ranges::all_of(
          servers, [](const Server &server) { return server.requests.empty() && server.tasks.empty(); }))
    return;
  goodbyes = true;
  frames::GoodbyeT goodbye;
  goodbye.step = std::max(*leaving, *begun);
  for (uint32_t server = 0; server < servers.size(); ++server)
    if (isOpen(servers[server]))
      send(server, goodbye);
}

WorkerLogic::Actions WorkerLogic::broke(LinkId link, const std::string &why, Milliseconds now) {
  if (!isCurrent(link))
    return {};
  Server &server = servers[link.server];
  notice(now);
  server.link.broke(now, random);
  server.absence = why;
  if (std::string fault = server.link.fault(now); !fault.empty())
    lose(link.server, fault);
  return take();
}

WorkerLogic::Actions WorkerLogic::refused(LinkId link, const std::string &why) {
  if (!isCurrent(link))
    return {};
  Server &server = servers[link.server];
  server.link.close();
  server.absence.clear();
  lose(link.server, "has no stream for this worker: " + why);
  return take();
}

/// Whether an answer is owed.
bool WorkerLogic::waits(const Server &server) const {
  return !server.sent.empty() || !server.requests.empty() || !server.tasks.empty() ||
         (goodbyes && !server.left) || (options.worker == 0 && !server.setUp && server.firstStep);
}

/// Time goes on; if this process has stood still, nobody else is to blame.
void WorkerLogic::notice(Milliseconds now) {
  Milliseconds still = stoodStill(std::exchange(noticed, now), now, options.timing);
  for (Server &server : servers)
    server.link.shift(still);
}

WorkerLogic::Actions WorkerLogic::tick(Milliseconds now) {
  notice(now);
  for (uint32_t number = 0; number < servers.size() && !ended; ++number) {
    Server &server = servers[number];
    ServerLink::Due due = server.link.tick(now, waits(server));
    if (std::string fault = server.link.fault(now); !fault.empty())
      lose(number, fault);
    else if (due == ServerLink::Due::reopen)
      reopen(number, now);
    else if (due == ServerLink::Due::open)
      open(number, now);
    else if (server.link.beats(now))
      send(number, heartbeat());
  }
  return take();
}

/// Says whether this worker waits for a task, since others may wait for what it pushes then.
frames::HeartbeatT WorkerLogic::heartbeat() const {
  frames::HeartbeatT result;
  for (const Server &server : servers)
    if (!server.tasks.empty())
      result.block = server.tasks.begin()->first;
  return result;
}

/// What has not been answered, for messages; empty if nothing.
std::string WorkerLogic::waitsFor(const Server &server) const {
  std::string text;
  if (!server.sent.empty()) {
    uint32_t block = server.sent.front();
    text = textOf("; it has not acknowledged step ", gradients[block].sent()->step, " of ",
                  job->blocks.text(block));
  } else if (!server.requests.empty()) {
    const Request &request = server.requests.front();
    text = textOf("; it has not answered for ", job->blocks.text(request.block),
                  isSync() ? textOf(" of step ", request.least) : "");
  }
  if (text.empty() && !server.tasks.empty())
    text = "; it has not done what was asked for with " + job->blocks.text(server.tasks.begin()->first);
  return server.delay.empty() ? text : text + "; " + server.delay;
}

/// `why`: for behind the server's name.
void WorkerLogic::lose(uint32_t number, const std::string &why) {
  // All that this worker had is at the server, which may have ended before its answer came.
  if (goodbyes) {
    takeGoodbye(number);
    return;
  }
  const Server &server = servers[number];
  std::string absence = server.absence.empty() ? "" : " (" + server.absence + ")";
  end(textOf("server ", number, " (", options.addresses[number], ") ", why, absence, waitsFor(server)));
}

WorkerLogic::Actions WorkerLogic::fail(const std::string &error) {
  if (!ended)
    end(error);
  return take();
}

void WorkerLogic::end(const std::string &error) {
  frames::FailureT failure;
  failure.text = error;
  for (uint32_t server = 0; server < servers.size(); ++server) {
    ServerLink::State state = servers[server].link.state();
    if (state != ServerLink::State::welcomed && state != ServerLink::State::greeting)
      continue;
    send(server, failure); // of which it knows who has sent it: the hello goes first
    actions.emplace_back(CloseStream{linkOf(server), /*last=*/true});
  }
  ended = true;
  actions.emplace_back(EndWorker{error});
}

} // namespace epl::runtime::servers
