// Threads of the block store, too, tell the logic what has happened.
#include "runtime/servers/drive/Server.h"

#include "runtime/Error.h"
#include "runtime/servers/drive/LogicDriver.h"
#include "runtime/servers/drive/SendPieces.h"
#include "runtime/servers/drive/SetupParts.h"
#include "runtime/servers/logic/GatherServer.h"
#include "runtime/servers/logic/ServerLogic.h"

#include <algorithm>
#include <cassert>
#include <future>
#include <set>

namespace epl::runtime::servers {

namespace act = server_actions;

namespace {

constexpr auto kFarewell = std::chrono::seconds(2); // for what was sent last to arrive

/// Gradients as they come, by who has sent them. Memory of those that were applied is used again, as its
/// pages are there.
class GradientMemory {
public:
  /// What is to have so many bytes. `asked`: of its worker, if it is a table's.
  TableStore::Push &get(const GradientKey &key, uint64_t bytes, const std::shared_ptr<AskedRows> &asked) {
    auto found = kept.find(key);
    if (found != kept.end() && found->second.bytes == bytes)
      return found->second;
    drop(key); // what came before, and not whole, was of another size
    return kept.emplace(key, TableStore::Push{memoryFor(key.block, bytes), bytes, asked}).first->second;
  }
  /// The gradient, which whoever asks gives back.
  TableStore::Push take(const GradientKey &key) { return std::move(kept.extract(key).mapped()); }
  void giveBack(uint32_t block, HostTensor memory) { spares[block].push_back(std::move(memory)); }
  void drop(const GradientKey &key) {
    if (kept.contains(key))
      giveBack(key.block, take(key).memory);
  }

private:
  /// A spare one, if it is large enough: pushes of tables have many sizes.
  HostTensor memoryFor(uint32_t block, uint64_t bytes) {
    std::vector<HostTensor> &spare = spares[block];
    if (!spare.empty() && spare.back().type.bytes() >= bytes) {
      HostTensor memory = std::move(spare.back());
      spare.pop_back();
      return memory;
    }
    if (!spare.empty())
      spare.pop_back(); // a larger one comes back in its place
    return HostTensor::allocate({plan::ElementType::i8, {int64_t(SpareMemory::roomFor(bytes))}},
                                Memory::Fill::none);
  }

  std::map<GradientKey, TableStore::Push> kept;
  std::map<uint32_t, std::vector<HostTensor>> spares; // by block
};

} // namespace

class Server::Driver final : public LogicDriver {
public:
  Driver(std::shared_ptr<StreamTransport> transport, const ServerOptions &options)
      : options(options), gather(options.timing),
        logic(options.number, options.timing, Ticker::now(), gather), transport(std::move(transport)) {
    listener = this->transport->listen(
        options.address, [this](std::unique_ptr<Stream> stream) { return accept(std::move(stream)); },
        options.streams);
    startTicking(options.timing);
  }

  ~Driver() override {
    stopTicking();
    listener->stop();
    streams.destroyAll();
    if (loading.valid())
      loading.wait();
    store = nullptr; // its threads call this
  }

  std::string address() const { return listener->address(); }

  void wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return end.has_value(); });
    // Streams that were closed go when what was sent has gone.
    changed.wait_for(lock, kFarewell, [&] { return streams.empty(); });
    if (!end->empty())
      throw Error(*end);
  }

  void fail(const std::string &error) {
    std::scoped_lock lock(mutex);
    perform(logic.failed(error));
  }

private:
  std::shared_ptr<StreamReader> accept(std::unique_ptr<Stream> stream) {
    std::scoped_lock lock(mutex);
    uint64_t number = ++lastStream;
    fresh.insert(number);
    streams.add(number, std::move(stream));
    return streams.readerOf(number);
  }

  void received(uint64_t stream, std::span<const std::byte> head, const Payload &payload) override {
    std::scoped_lock lock(mutex);
    if (fresh.erase(stream) != 0 && join(stream, head, payload.size()))
      return;
    if (gather.has(stream))
      perform(gather.received(stream, head, payload, Ticker::now()));
    else
      perform(logic.received(stream, head, payload, Ticker::now()));
  }

  /// Whether the first frame of a stream says that it is one of all-gathers, which are server 0's.
  bool join(uint64_t stream, std::span<const std::byte> head, size_t payload) {
    Decoded decoded = decode(head, payload);
    auto *message = std::get_if<Message>(&decoded);
    auto *asked = message ? std::get_if<frames::JoinT>(message) : nullptr;
    if (!asked)
      return false;
    perform(gather.join(stream, *asked, Ticker::now()));
    return true;
  }

  void broke(uint64_t stream, const Ending &ending) override {
    std::scoped_lock lock(mutex);
    fresh.erase(stream);
    perform(gather.broke(stream, ending.why));
    perform(logic.broke(stream, Ticker::now()));
    changed.notify_all();
  }

  void look() override {
    perform(gather.tick(Ticker::now()));
    perform(logic.tick(Ticker::now()));
  }

  void perform(const ServerLogic::Actions &actions) {
    for (const ServerAction &action : actions)
      std::visit([&](const auto &each) { perform(each); }, action);
  }

  void perform(const GatherServer::Actions &actions) {
    for (const GatherAction &action : actions)
      std::visit([&](const auto &each) { perform(each); }, action);
  }
  void perform(const gather_actions::OpenStream &) { assert(false); } // a worker's
  void perform(const gather_actions::CloseStream &action) { streams.close(action.stream, action.atOnce); }
  void perform(const gather_actions::SendFrame &action) { streams.send(action.stream, action.head); }
  void perform(const gather_actions::SendBytes &action) { sendBytes(streams, action); }

  void perform(const act::SendFrame &action) { streams.send(action.stream, action.head); }
  void perform(const act::CloseStream &action) { streams.close(action.stream, /*atOnce=*/false); }
  void perform(const act::StoreSetup &action) {
    setup->store(action.item, action.offset, action.total, action.bytes);
  }
  void perform(const act::LoadJob &);
  void perform(const act::StoreGradient &action) {
    auto asked = lookups.find({action.key.worker, action.key.block});
    TableStore::Push &push =
        gradients.get(action.key, action.total, asked == lookups.end() ? nullptr : asked->second.rows);
    action.bytes.copyTo(std::span(push.memory.data, push.bytes).subspan(action.offset));
  }
  void perform(const act::DiscardGradient &action) { gradients.drop(action.key); }
  void perform(const act::UpdateBlock &action);
  void perform(const act::SendValue &action);
  void perform(const act::StoreIds &action) {
    auto &[target, rows] = lookups[{action.worker, action.block}];
    if (action.offset == 0)
      rows = nullptr;
    if (!target || target.use_count() != 1) // rows are gathered for those that came before, or pushed
      target = std::make_shared<std::vector<int64_t>>();
    if (action.offset == 0)
      target->clear();
    // As they come: nobody is believed how many there will be.
    target->resize((action.offset + action.bytes.size() + sizeof(int64_t) - 1) / sizeof(int64_t));
    action.bytes.copyTo(std::as_writable_bytes(std::span(*target)).subspan(action.offset));
  }
  void perform(const act::SendRows &action);
  void perform(const act::RunTask &action);
  void perform(const act::EndServer &action) {
    end = action.error;
    perform(gather.end(action.error));
    changed.notify_all();
  }

  void loaded(std::unique_ptr<BlockStore> made, const std::string &error);
  void updateEnded(const std::vector<TableStore::Push> &pushes, uint32_t block, const std::string &error);
  void send(StreamId to, const frames::ValueT &message, const HostTensor &value);

  const ServerOptions options;
  GatherServer gather;
  ServerLogic logic;              // reads that
  std::set<uint64_t> fresh;       // streams whose first frame has not come
  std::optional<std::string> end; // the error, or nothing, once the server is done
  uint64_t lastStream = 0;
  std::unique_ptr<SetupParts> setup = std::make_unique<SetupParts>();
  GradientMemory gradients;
  std::map<std::pair<uint32_t, uint32_t>, HostTensor> backups; // by worker and block
  /// What was asked for last, by worker and part.
  struct Asked {
    std::shared_ptr<std::vector<int64_t>> ids;
    std::shared_ptr<AskedRows> rows; // once they are gathered
  };
  std::map<std::pair<uint32_t, uint32_t>, Asked> lookups;
  std::future<void> loading;
  std::unique_ptr<BlockStore> store; // once the job is loaded
  std::shared_ptr<StreamTransport> transport;
  std::unique_ptr<Listener> listener;
};

/// In a thread of its own, since it takes a while, in which others shall hear that the server lives.
void Server::Driver::perform(const act::LoadJob &) {
  auto load = [this, job = logic.job(), parts = std::shared_ptr<SetupParts>(std::move(setup))] {
    std::unique_ptr<BlockStore> made;
    std::string error;
    try {
      made = parts->load(job, options.number, options.threads);
    } catch (const std::exception &caught) {
      error = caught.what();
    }
    loaded(std::move(made), error);
  };
  loading = std::async(std::launch::async, std::move(load));
}

void Server::Driver::loaded(std::unique_ptr<BlockStore> made, const std::string &error) {
  std::scoped_lock lock(mutex);
  store = std::move(made);
  perform(error.empty() ? logic.loaded(Ticker::now()) : logic.failed(error));
}

void Server::Driver::perform(const act::UpdateBlock &action) {
  std::vector<TableStore::Push> pushes;
  pushes.reserve(action.gradients.size());
  for (const GradientKey &key : action.gradients)
    pushes.push_back(gradients.take(key));
  auto done = [this, pushes, block = action.block](const std::string &error) {
    updateEnded(pushes, block, error);
  };
  if (logic.job()->blocks.isPart(action.block))
    return store->tables().update(action.block, pushes, action.factor, done);
  BlockStore::Update update;
  update.factor = action.factor;
  for (const TableStore::Push &push : pushes)
    update.gradients.push_back(push.memory);
  if (logic.job()->manifest.mode == manifest::Mode::dc_asgd)
    update.backup = backups.at({action.gradients.front().worker, action.block});
  store->update(action.block, update, done);
}

void Server::Driver::updateEnded(const std::vector<TableStore::Push> &pushes, uint32_t block,
                                 const std::string &error) {
  std::scoped_lock lock(mutex);
  for (const TableStore::Push &push : pushes)
    gradients.giveBack(block, push.memory);
  perform(error.empty() ? logic.updateEnded(block, Ticker::now()) : logic.failed(error));
}

void Server::Driver::perform(const act::SendValue &action) {
  HostTensor value = store->value(action.block, action.state);
  if (action.keep)
    backups[{action.worker, action.block}] = value;
  frames::ValueT message;
  message.block = action.block, message.state = action.state, message.version = action.version;
  send(action.stream, message, value);
}

/// In pieces, each as soon as it is there.
void Server::Driver::perform(const act::SendRows &action) {
  frames::ValueT message;
  message.block = action.block, message.version = action.version;
  auto sender = std::make_shared<std::optional<PieceSender<frames::ValueT>>>();
  Asked &asked = lookups.at({action.worker, action.block});
  asked.rows = store->tables().gather(action.block, asked.ids, action.create,
                                      [this, message, sender, to = action.stream](
                                          const std::string &error, const HostTensor &rows, uint64_t bytes) {
                                        std::scoped_lock lock(mutex);
                                        if (!error.empty())
                                          return perform(logic.failed(error));
                                        if (!*sender)
                                          sender->emplace(message, std::span(rows.data, rows.type.bytes()),
                                                          rows.owner);
                                        if (std::shared_ptr<Stream> stream = streams.find(to))
                                          (*sender)->send(*stream, bytes);
                                      });
}

void Server::Driver::perform(const act::RunTask &action) {
  auto done = [this, worker = action.worker, life = action.life, block = action.task.block,
               number = action.task.number](const std::string &error, uint64_t rows) {
    frames::TaskDoneT message;
    message.block = block, message.number = number, message.rows = rows;
    if (!error.empty())
      message.error = "server " + std::to_string(options.number) + ": " + error;
    std::scoped_lock lock(mutex);
    perform(logic.taskEnded(worker, life, message, Ticker::now()));
  };
  using enum frames::TableTask;
  const frames::RunTaskT &task = action.task;
  if (task.task == load || task.task == load_values)
    store->tables().load(task.block, task.folder, task.task == load ? Fields::all : Fields::values, done);
  else if (task.task == evict)
    store->tables().evict(task.block, task.unseen, done);
  else
    store->tables().save(task.block, task.folder, task.task == export_changed, task.task != save, done);
}

void Server::Driver::send(StreamId to, const frames::ValueT &message, const HostTensor &value) {
  if (std::shared_ptr<Stream> stream = streams.find(to))
    sendPieces(*stream, message, {value.data, value.type.bytes()}, value.owner);
}

Server::Server(std::shared_ptr<StreamTransport> transport, const ServerOptions &options)
    : driver(std::make_unique<Driver>(std::move(transport), options)) {}
Server::~Server() = default;

std::string Server::address() const { return driver->address(); }
void Server::wait() { driver->wait(); }
void Server::fail(const std::string &error) { driver->fail(error); }

} // namespace epl::runtime::servers
