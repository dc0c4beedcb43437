#include "runtime/servers/logic/BlockUpdates.h"

#include <algorithm>

namespace epl::runtime::servers {
namespace {

using namespace server_actions;

frames::AcknowledgeT acknowledgeOf(uint64_t step, uint32_t block) {
  frames::AcknowledgeT acknowledge;
  acknowledge.step = step, acknowledge.block = block;
  return acknowledge;
}

} // namespace

BlockUpdates::BlockUpdates(std::shared_ptr<const Job> from, uint32_t server, const Members &members,
                           ServerOutbox &out)
    : job(std::move(from)), members(members), out(out) {
  for (uint32_t block : job->blocks.allOfServer(server))
    blocks.try_emplace(block);
}

BlockUpdates::Sender &BlockUpdates::sender(Block &block, uint32_t worker) {
  Sender &found = block.senders[worker];
  if (found.life != members.at(worker).life) {
    found = Sender();
    found.life = members.at(worker).life;
  }
  return found;
}

std::string BlockUpdates::push(uint32_t worker, const frames::PushT &push, const Payload &bytes) {
  auto found = blocks.find(push.block);
  if (found == blocks.end())
    return "pushes block " + std::to_string(push.block) + ", which this server has not";
  Block &block = found->second;
  Sender &from = sender(block, worker);
  if (push.step < from.received) {
    repeated(worker, push, from, bytes.size());
    return "";
  }
  if (std::string fault = faultOfStep(worker, push, block); !fault.empty())
    return fault;
  GradientKey key{worker, from.life, push.step, push.block};
  if (from.partial && *from.partial != key)
    return "pushes step " + std::to_string(push.step) + " of " + blockText(push.block) + " within its step " +
           std::to_string(from.partial->step);
  if (std::string fault = acceptPush(push, bytes.size(), from); !fault.empty())
    return "pushes a gradient of " + blockText(push.block) + ", which " + fault;
  from.partial = key;
  out.actions.emplace_back(StoreGradient{key, push.offset, push.total, bytes});
  if (from.order.complete())
    completed(worker, key, block, from);
  return "";
}

/// A block has pushes of one size; a part of a table those of each number of rows.
std::string BlockUpdates::acceptPush(const frames::PushT &push, uint64_t size, Sender &from) const {
  Piece piece{push.offset, size};
  if (!job->blocks.isPart(push.block))
    return from.order.accept(piece, push.total, job->blocks.pushBytes(push.block));
  if (push.offset == 0)
    from.total = push.total;
  if (!RowsPush::withBytes(push.total, rowBytes(job->blocks.table(push.block))))
    return "has " + std::to_string(push.total) + " bytes, which no number of rows has";
  return from.order.accept(piece, push.total, from.total);
}

/// Where every worker pushes each step, the one that is open is the only one that can come.
std::string BlockUpdates::faultOfStep(uint32_t worker, const frames::PushT &push, const Block &block) const {
  if (!isSync())
    return "";
  const Member &member = members.at(worker);
  uint64_t open = block.version + (block.updating.empty() ? 0 : 1);
  if (push.step == open && member.begun && member.firstStep <= push.step && push.step < member.endStep)
    return "";
  return "pushes step " + std::to_string(push.step) + " of " + blockText(push.block) + ", which is at step " +
         std::to_string(open);
}

/// Answers what has come before, once it has come whole again. Where the answer says that it has been
/// applied, and it has not, the end of its update will.
void BlockUpdates::repeated(uint32_t worker, const frames::PushT &push, const Sender &sender, uint64_t size) {
  if (push.offset + size == push.total && (isSync() || push.step < sender.applied))
    out.send(members.at(worker).stream, acknowledgeOf(push.step, push.block));
}

void BlockUpdates::completed(uint32_t worker, const GradientKey &key, Block &block, Sender &sender) {
  sender.received = key.step + 1;
  sender.partial.reset();
  sender.order = PieceOrder();
  auto place = isSync() ? std::ranges::lower_bound(block.ready, key) : block.ready.end();
  block.ready.insert(place, key);
  if (isSync())
    out.send(members.at(worker).stream, acknowledgeOf(key.step, key.block));
  advance(key.block, block);
}

std::vector<uint32_t> BlockUpdates::awaited(const Block &block) const {
  std::vector<uint32_t> result;
  auto next = block.ready.begin(); // both are in the order of workers
  for (const auto &[worker, member] : members) {
    while (next != block.ready.end() && next->worker < worker)
      ++next;
    bool there = next != block.ready.end() && next->worker == worker;
    if (!there && members.isExpected(worker, block.version))
      result.push_back(worker);
  }
  return result;
}

bool BlockUpdates::isComplete(const Block &block) const {
  return !block.ready.empty() && (!isSync() || awaited(block).empty());
}

/// Begins the next update of a block if all is there and none runs.
void BlockUpdates::advance(uint32_t number, Block &block) {
  if (!block.updating.empty() || !isComplete(block))
    return;
  size_t count = isSync() ? block.ready.size() : 1;
  block.updating.assign(block.ready.begin(), block.ready.begin() + int64_t(count));
  block.ready.erase(block.ready.begin(), block.ready.begin() + int64_t(count));
  out.actions.emplace_back(
      UpdateBlock{number, block.updating.front().step, block.updating, 1.0 / double(count)});
}

void BlockUpdates::updateEnded(uint32_t number) {
  Block &block = blocks.at(number);
  for (const GradientKey &key : block.updating) {
    if (members.at(key.worker).life != key.life)
      continue; // another life pushes the same steps again
    block.senders[key.worker].applied = key.step + 1;
    if (!isSync())
      out.send(members.at(key.worker).stream, acknowledgeOf(key.step, number));
  }
  block.updating.clear();
  ++block.version;
  answer(number, block);
  advance(number, block);
}

std::string BlockUpdates::pull(uint32_t worker, uint32_t number, int32_t state, uint64_t least) {
  auto found = blocks.find(number);
  if (found == blocks.end())
    return "asks for block " + std::to_string(number) + ", which this server has not";
  if (job->blocks.isPart(number))
    return "asks for " + blockText(number) + " without ids";
  if (state < -1 || state >= int64_t(job->blocks.parameter(number).states.size()))
    return "asks for state " + std::to_string(state) + " of " + blockText(number) + ", which has " +
           std::to_string(job->blocks.parameter(number).states.size());
  return await(number, {worker, state, least});
}

std::string BlockUpdates::pullRows(uint32_t worker, const frames::PullRowsT &rows, const Payload &bytes) {
  auto found = blocks.find(rows.block);
  if (found == blocks.end() || !job->blocks.isPart(rows.block))
    return "asks for rows of block " + std::to_string(rows.block) +
           ", which is no part of a table that this server has";
  Sender &from = sender(found->second, worker);
  if (rows.offset == 0)
    from.idsTotal = rows.total;
  std::string fault = from.ids.accept({rows.offset, bytes.size()}, rows.total, from.idsTotal);
  if (!fault.empty())
    return "asks for rows of " + blockText(rows.block) + " by ids, whose list " + fault;
  if (auto &waiting = found->second.waiting;
      std::ranges::any_of(waiting, [&](const Waiting &other) { return other.worker == worker; }))
    return "asks twice for " + blockText(rows.block);
  out.actions.emplace_back(StoreIds{worker, rows.block, rows.offset, rows.total, bytes});
  if (!from.ids.complete())
    return "";
  from.ids = PieceOrder();
  return await(rows.block, {worker, -1, rows.least, rows.create});
}

std::string BlockUpdates::runTask(uint32_t worker, const frames::RunTaskT &task) {
  auto found = blocks.find(task.block);
  if (found == blocks.end() || !job->blocks.isPart(task.block))
    return "wants something done with block " + std::to_string(task.block) +
           ", which is no part of a table that this server has";
  Sender &from = sender(found->second, worker);
  if (task.number > from.tasks)
    return await(task.block, {worker, kTask, task.least, false, task});
  // It has come before. If it has not ended, its end will be told.
  if (from.done && from.done->number == task.number)
    out.send(members.at(worker).stream, *from.done);
  return "";
}

void BlockUpdates::taskEnded(uint32_t worker, uint64_t life, const frames::TaskDoneT &done) {
  Sender &from = sender(blocks.at(done.block), worker);
  if (from.life != life)
    return;
  from.done = done;
  out.send(members.at(worker).stream, done);
}

/// Has a worker wait for a value, unless it is there.
std::string BlockUpdates::await(uint32_t number, const Waiting &waiting) {
  Block &block = blocks.at(number);
  if (std::ranges::any_of(block.waiting, [&](const Waiting &other) {
        return other.worker == waiting.worker && other.state == waiting.state;
      }))
    return "asks twice for " + blockText(number);
  sender(block, waiting.worker); // of this life, of which nothing may be applied yet
  block.waiting.push_back(waiting);
  answer(number, block);
  return "";
}

bool BlockUpdates::isReady(const Block &block, const Waiting &waiting) const {
  if (!block.updating.empty())
    return false;
  return waiting.least <= (isSync() ? block.version : block.senders.at(waiting.worker).applied);
}

/// Answers all that wait and need not.
void BlockUpdates::answer(uint32_t number, Block &block) {
  for (auto next = block.waiting.begin(); next != block.waiting.end();) {
    if (!isReady(block, *next)) {
      ++next;
      continue;
    }
    StreamId stream = members.at(next->worker).stream;
    bool keep = job->manifest.mode == manifest::Mode::dc_asgd && next->state == -1;
    if (next->task) {
      Sender &from = block.senders.at(next->worker);
      from.tasks = next->task->number, from.done.reset();
      out.actions.emplace_back(RunTask{next->worker, from.life, *next->task});
    } else if (job->blocks.isPart(number))
      out.actions.emplace_back(SendRows{stream, next->worker, number, block.version, next->create});
    else
      out.actions.emplace_back(SendValue{stream, next->worker, number, next->state, block.version, keep});
    next = block.waiting.erase(next);
  }
}

void BlockUpdates::dropStream(uint32_t worker) {
  for (auto &[number, block] : blocks) {
    std::erase_if(block.waiting, [&](const Waiting &waiting) { return waiting.worker == worker; });
    if (auto from = block.senders.find(worker); from != block.senders.end())
      from->second.ids = PieceOrder();
  }
}

void BlockUpdates::dropLife(uint32_t worker, uint64_t step) {
  for (auto &[number, block] : blocks) {
    Sender &from = block.senders[worker];
    if (from.partial)
      out.actions.emplace_back(DiscardGradient{*from.partial});
    from.partial.reset();
    from.order = PieceOrder();
    if (isSync())
      std::erase_if(block.ready, [&](const GradientKey &key) {
        bool drop = key.worker == worker && key.step >= step;
        if (drop)
          out.actions.emplace_back(DiscardGradient{key});
        return drop;
      });
  }
}

void BlockUpdates::recheck() {
  for (auto &[number, block] : blocks)
    advance(number, block);
}

uint64_t BlockUpdates::firstOpenStep() const {
  uint64_t step = 0;
  for (const auto &[number, block] : blocks)
    step = std::max(step, block.version + (block.updating.empty() ? 0 : 1));
  return step;
}

std::string BlockUpdates::missing(uint32_t worker, uint64_t step) const {
  for (const auto &[number, block] : blocks) {
    std::vector<uint32_t> workers = awaited(block);
    if (block.updating.empty() && block.version < step && std::ranges::find(workers, worker) != workers.end())
      return "leaves before step " + std::to_string(step) + " and has not pushed step " +
             std::to_string(block.version) + " of " + blockText(number);
  }
  return "";
}

bool BlockUpdates::isIdle() const {
  return std::ranges::all_of(
      blocks, [](const auto &entry) { return entry.second.updating.empty() && entry.second.ready.empty(); });
}

/// A part of a table with which a task is done now.
std::optional<uint32_t> BlockUpdates::task() const {
  for (const auto &[number, block] : blocks)
    for (const auto &[worker, from] : block.senders)
      if (from.tasks != 0 && !from.done)
        return number;
  return std::nullopt;
}

/// A task has the threads that answer all others, too; and who waits for one at another server pushes
/// nothing.
std::optional<BlockUpdates::Delay> BlockUpdates::delayOf(uint32_t worker) const {
  if (std::optional<uint32_t> part = task())
    return Delay{*part, blocks.at(*part).version, {}};
  for (const auto &[number, block] : blocks) {
    bool waits =
        std::ranges::any_of(block.waiting, [&](const Waiting &waiting) { return waiting.worker == worker; });
    if (!waits || !isSync() || !block.updating.empty())
      continue;
    std::vector<uint32_t> workers = awaited(block);
    for (uint32_t other : workers)
      if (int64_t part = members.at(other).task; part >= 0)
        return Delay{uint32_t(part), block.version, {}};
    return Delay{number, block.version, workers};
  }
  return std::nullopt;
}

std::string BlockUpdates::awaits(uint32_t worker) const {
  if (!isSync())
    return "";
  for (const auto &[number, block] : blocks) {
    std::vector<uint32_t> workers = awaited(block);
    if (block.updating.empty() && !block.ready.empty() && std::ranges::find(workers, worker) != workers.end())
      return "step " + std::to_string(block.version) + " of " + blockText(number) + " awaits it";
  }
  return "";
}

} // namespace epl::runtime::servers
