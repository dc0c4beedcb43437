// What is behind a worker: what its caller waits for, and what its logic's actions are done with
// (WorkerDriver.cpp).
#ifndef EPL_RUNTIME_SERVERS_DRIVE_WORKERDRIVER_H
#define EPL_RUNTIME_SERVERS_DRIVE_WORKERDRIVER_H

#include "runtime/servers/drive/BlockParts.h"
#include "runtime/servers/drive/ComingValues.h"
#include "runtime/servers/drive/HeldPushes.h"
#include "runtime/servers/drive/LogicDriver.h"
#include "runtime/servers/drive/Worker.h"
#include "runtime/servers/store/BlockStore.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace epl::runtime::servers {

class Worker::Driver final : public CallerDriver {
public:
  Driver(std::shared_ptr<StreamTransport> transport, std::shared_ptr<const Job> job,
         const WorkerOptions &options, const StreamOptions &streamOptions, std::optional<JobSource> source,
         std::function<void()> whileWaiting)
      : CallerDriver(std::move(transport), streamOptions, options.timing, std::move(whileWaiting)),
        job(std::move(job)), options(options), source(std::move(source)),
        logic(this->job, options, Ticker::now()) {
    for (const auto &parameter : this->job->manifest.parameters) {
      firstBlocks.push_back(uint32_t(parameterOf.size()));
      parameterOf.resize(parameterOf.size() + parameter->blocks.size(), uint32_t(parameters.size()));
      parameters.push_back(HostTensor::allocate({parameter->type, parameter->shape}, Memory::Fill::none));
    }
    startTicking(options.timing);
  }

  ~Driver() override {
    stopTicking();
    streams.destroyAll();
  }

  uint64_t begin(const std::function<void()> &check) {
    std::unique_lock lock(mutex);
    await(lock, [&] { return first.has_value(); }, check);
    return *first;
  }

  const std::vector<HostTensor> &pull(uint64_t step) {
    std::unique_lock lock(mutex);
    settle(lock);
    std::vector<uint32_t> blocks(job->blocks.size());
    std::iota(blocks.begin(), blocks.end(), 0);
    for (uint32_t parameter = 0; parameter < parameters.size(); ++parameter)
      want({{parameter, BlockStore::kParameter}, parameters[parameter]}, nullptr);
    perform(logic.pull(step, blocks));
    await(lock, [&] { return wanted.empty(); });
    return parameters;
  }

  void push(uint64_t step, const std::vector<std::vector<HostTensor>> &pushes) {
    for (uint32_t parameter = 0; parameter < parameters.size(); ++parameter)
      push(step, parameter, pushes.at(parameter));
    awaitRoom();
  }

  void push(uint64_t step, uint32_t parameter, const std::vector<HostTensor> &pushes) {
    std::vector<HostTensor> cut;
    for (uint32_t block : blocksOf({parameter, BlockStore::kParameter}))
      cut.push_back(pushOf(*job, block, pushes));
    pushBlocks(step, firstBlocks[parameter], std::move(cut));
  }

  void pushRows(uint64_t step, std::span<const RowGradients> rows) {
    if (rowsStep != step && !job->manifest.tables.empty())
      awaitRows(*requestRows(step, {}));
    RowPushes pushes(*job, rowsKept, rows);
    auto block = uint32_t(job->blocks.size());
    std::vector<GradientHandle> handles;
    {
      std::unique_lock lock(mutex);
      checkRunning();
      for (const RowPushes::Push &each : pushes.pushes()) {
        handles.push_back(held.add(each.memory, each.ready));
        perform(logic.push(step, block++, handles.back()));
      }
    }
    while (std::optional<size_t> grown = pushes.grow()) {
      std::unique_lock lock(mutex);
      held.grow(handles[*grown], pushes.pushes()[*grown].ready, streams);
    }
    awaitRoom();
  }

  /// Of as many blocks as there are pushes, from one on.
  void pushBlocks(uint64_t step, uint32_t block, std::vector<HostTensor> pushes) {
    std::unique_lock lock(mutex);
    checkRunning();
    for (HostTensor &each : pushes)
      perform(logic.push(step, block++, held.add(std::move(each))));
  }

  void request(uint64_t step, std::span<const Wanted> values, Listener &waiting) {
    std::unique_lock lock(mutex);
    checkRunning();
    std::vector<uint32_t> pulled; // blocks of parameters since the last state
    auto pull = [&] {
      perform(logic.pull(step, pulled));
      pulled.clear();
    };
    for (const Wanted &each : values) {
      std::vector<uint32_t> blocks = want(each, &waiting);
      if (each.value.state == BlockStore::kParameter) {
        pulled.insert(pulled.end(), blocks.begin(), blocks.end());
        continue;
      }
      pull();
      for (uint32_t block : blocks)
        perform(logic.fetch(step, block, each.value.state));
    }
    pull();
  }

  void drop() {
    std::scoped_lock lock(mutex);
    coming.clear();
  }

  void awaitRoom() {
    std::unique_lock lock(mutex);
    checkRunning();
    await(lock, [&] { return mostWaiting() <= kMostWaiting && wanted.empty(); });
  }

  void check() {
    std::scoped_lock lock(mutex);
    checkRunning();
  }

  std::shared_ptr<const RowPulls> requestRows(uint64_t step, std::span<const Lookup> lookups) {
    std::unique_lock lock(mutex);
    awaitRows(lock); // of a wait that was interrupted
    lock.unlock();
    bool all = job->manifest.mode == manifest::Mode::sync && rowsStep != step;
    auto pulls = std::make_shared<RowPulls>(job, rowsKept, lookups, all);
    lock.lock();
    checkRunning();
    WorkerLogic::Actions actions = logic.pullRows(step, pulls->requests());
    for (const RowsRequest &rows : pulls->requests()) {
      wanted.insert({rows.block, BlockStore::kParameter});
      rowPulls[rows.block] = pulls;
    }
    perform(actions);
    rowsStep = step;
    return pulls;
  }

  std::vector<HostTensor> awaitRows(const RowPulls &pulls) {
    std::unique_lock lock(mutex);
    awaitRows(lock);
    lock.unlock();
    return pulls.rows();
  }

  uint64_t runTask(uint64_t step, uint32_t table, const TaskOfTable &task) {
    checkTable(*job, table);
    std::unique_lock lock(mutex);
    checkRunning();
    tasks = {};
    for (uint32_t server = 0; server < job->manifest.servers; ++server) {
      frames::RunTaskT message;
      message.block = job->blocks.partOf(table, server), message.task = task.task;
      message.unseen = task.unseen, message.folder = task.folder;
      tasks.open.insert(message.block);
      perform(logic.runTask(step, message));
    }
    await(lock, [&] { return tasks.open.empty(); });
    if (!tasks.error.empty())
      throw Error(tasks.error);
    return tasks.rows;
  }

  bool isPushed(uint64_t step) const { return logic.isPushed(step); }

  std::vector<HostTensor> fetch(uint64_t step, const std::vector<ValueId> &values) {
    std::vector<HostTensor> results;
    std::unique_lock lock(mutex);
    settle(lock);
    for (ValueId value : values) {
      results.push_back(HostTensor::allocate(typeOf(*job, value), Memory::Fill::none));
      for (uint32_t block : want({value, results.back()}, nullptr))
        perform(logic.fetch(step, block, value.state));
    }
    await(lock, [&] { return wanted.empty(); });
    return results;
  }

  void finish(uint64_t step) {
    std::unique_lock lock(mutex);
    checkRunning();
    perform(logic.finish(step));
    await(lock, [&] { return end.has_value(); });
    changed.wait_for(lock, kFarewell, [&] { return streams.empty(); });
  }

  void fail(const std::string &error) {
    std::unique_lock lock(mutex);
    if (end)
      return;
    perform(logic.fail(error));
    changed.wait_for(lock, kFarewell, [&] { return streams.empty(); });
  }

private:
  static constexpr size_t kMostWaiting = 1;           // gradients of a block behind the one that is sent
  static constexpr std::chrono::seconds kFarewell{2}; // for what was sent last to arrive

  using Value = std::pair<uint32_t, int32_t>; // block and state

  void checkRunning() const {
    if (end)
      throw Error(end->empty() ? "this worker has said goodbye to its servers" : *end);
  }

  const std::string &failure() const override {
    static const std::string none;
    return end ? *end : none;
  }

  size_t mostWaiting() const {
    size_t most = 0;
    for (uint32_t block = 0; block < job->blocks.total(); ++block)
      most = std::max(most, logic.waiting(block));
    return most;
  }

  void awaitRows(std::unique_lock<std::mutex> &lock) {
    checkRunning();
    await(lock, [&] { return rowPulls.empty(); });
  }

  /// Waits for what was asked for before a wait that was interrupted, and is not wanted any more.
  void settle(std::unique_lock<std::mutex> &lock) {
    checkRunning();
    await(lock, [&] { return wanted.empty(); });
  }

  /// Notes a value that is about to be asked for; its blocks.
  std::vector<uint32_t> want(const Wanted &each, Listener *listener) {
    std::vector<uint32_t> blocks = blocksOf(each.value);
    coming.add(each.value, each.tensor, blocks.size(), listener);
    for (uint32_t block : blocks)
      wanted.insert({block, each.value.state});
    return blocks;
  }

  /// Those that have a part of the value.
  std::vector<uint32_t> blocksOf(ValueId value) const {
    const manifest::ParameterT &parameter = *job->manifest.parameters[value.parameter];
    bool isWhole = value.state != BlockStore::kParameter && !parameter.states[size_t(value.state)]->sliced;
    std::vector<uint32_t> blocks(isWhole ? 1 : parameter.blocks.size());
    std::iota(blocks.begin(), blocks.end(), firstBlocks[value.parameter]);
    return blocks;
  }

  void opened(uint64_t stream) noexcept override;
  void received(uint64_t stream, std::span<const std::byte> head, const Payload &payload) override;
  void broke(uint64_t stream, const Ending &ending) override;
  void look() override { perform(logic.tick(Ticker::now())); }

  void perform(const WorkerLogic::Actions &actions) {
    for (const WorkerAction &action : actions)
      std::visit([&](const auto &each) { perform(each); }, action);
  }

  void perform(const worker_actions::OpenStream &action);
  void perform(const worker_actions::CloseStream &action);
  void perform(const worker_actions::SendFrame &action);
  void perform(const worker_actions::SendSetup &action);
  void perform(const worker_actions::SendGradient &action);
  void perform(const worker_actions::SendIds &action);
  void perform(const worker_actions::MergeGradient &action);
  void perform(const worker_actions::ReleaseGradient &action) {
    held.release(action.gradient);
    changed.notify_all();
  }
  void perform(const worker_actions::BeginSteps &action) {
    first = action.step;
    changed.notify_all();
  }
  void perform(const worker_actions::StoreValue &action);
  void perform(const worker_actions::HaveValue &action) {
    wanted.erase({action.block, action.state});
    rowPulls.erase(action.block);
    if (wanted.empty() || rowPulls.empty())
      changed.notify_all();
    if (!job->blocks.isPart(action.block))
      coming.haveBlock({parameterOf[action.block], action.state});
  }
  void perform(const worker_actions::HaveTask &action) {
    if (tasks.open.erase(action.block) == 0)
      return; // of a wait that was interrupted
    tasks.rows += action.rows;
    if (tasks.error.empty())
      tasks.error = action.error;
    if (tasks.open.empty())
      changed.notify_all();
  }
  void perform(const worker_actions::EndWorker &action) {
    end = action.error;
    coming.fail(action.error);
    changed.notify_all();
  }

  const std::shared_ptr<const Job> job;
  RowsKept rowsKept{IdSplits(job)};
  const WorkerOptions options;
  std::optional<JobSource> source;

  WorkerLogic logic;
  std::optional<std::string> end; // the error, or nothing, once the worker is done
  std::optional<uint64_t> first;  // step
  std::vector<HostTensor> parameters;
  std::vector<uint32_t> firstBlocks;                      // of each parameter
  std::vector<uint32_t> parameterOf;                      // each block is
  ComingValues coming;                                    // where what was asked for goes
  std::set<Value> wanted;                                 // that have not come
  std::optional<uint64_t> rowsStep;                       // the last one that has asked for rows
  std::map<uint32_t, std::shared_ptr<RowPulls>> rowPulls; // by part of a table whose rows have not come
  struct {
    std::set<uint32_t> open = {}; // parts with which it has not been done
    uint64_t rows = 0;
    std::string error = {};
  } tasks;
  HeldPushes held;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_DRIVE_WORKERDRIVER_H
