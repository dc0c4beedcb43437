#include "runtime/servers/drive/Worker.h"

#include "runtime/servers/drive/WorkerDriver.h"

namespace epl::runtime::servers {

Worker::Worker(std::shared_ptr<StreamTransport> transport, std::shared_ptr<const Job> job,
               const WorkerOptions &options, const StreamOptions &streams, std::optional<JobSource> source,
               std::function<void()> whileWaiting)
    : driver(std::make_unique<Driver>(std::move(transport), std::move(job), options, streams,
                                      std::move(source), std::move(whileWaiting))) {}
Worker::~Worker() = default;

uint64_t Worker::begin(const std::function<void()> &check) { return driver->begin(check); }
const std::vector<HostTensor> &Worker::pull(uint64_t step) { return driver->pull(step); }
void Worker::push(uint64_t step, const std::vector<std::vector<HostTensor>> &pushes) {
  driver->push(step, pushes);
}
std::shared_ptr<const RowPulls> Worker::requestRows(uint64_t step, std::span<const Lookup> lookups) {
  return driver->requestRows(step, lookups);
}
std::vector<HostTensor> Worker::awaitRows(const RowPulls &pulls) { return driver->awaitRows(pulls); }
uint64_t Worker::runTask(uint64_t step, uint32_t table, const TaskOfTable &task) {
  return driver->runTask(step, table, task);
}
void Worker::request(uint64_t step, std::span<const Wanted> values, Listener &listener) {
  driver->request(step, values, listener);
}
void Worker::drop() { driver->drop(); }
void Worker::push(uint64_t step, uint32_t parameter, const std::vector<HostTensor> &pushes) {
  driver->push(step, parameter, pushes);
}
void Worker::pushRows(uint64_t step, std::span<const RowGradients> rows) { driver->pushRows(step, rows); }
void Worker::awaitRoom() { driver->awaitRoom(); }
void Worker::check() { driver->check(); }
bool Worker::isPushed(uint64_t step) const { return driver->isPushed(step); }
std::vector<HostTensor> Worker::fetch(uint64_t step, const std::vector<ValueId> &values) {
  return driver->fetch(step, values);
}
void Worker::finish(uint64_t step) { driver->finish(step); }
void Worker::fail(const std::string &error) { driver->fail(error); }

} // namespace epl::runtime::servers
