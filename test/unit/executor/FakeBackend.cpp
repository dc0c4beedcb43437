#include "FakeBackend.h"

#include <algorithm>

namespace epl::runtime::test {

size_t EventLog::add(const Event &event) {
  std::lock_guard lock(mutex);
  events.push_back(event);
  return events.size() - 1;
}

std::vector<Event> EventLog::all() const {
  std::lock_guard lock(mutex);
  return events;
}

size_t EventLog::count(Event::Kind kind) const {
  std::lock_guard lock(mutex);
  return size_t(std::ranges::count(events, kind, &Event::kind));
}

bool EventLog::has(const Event &event) const {
  std::lock_guard lock(mutex);
  return std::ranges::find(events, event) != events.end();
}

class FakeBackend::FakeCommand final : public Command {
public:
  FakeCommand(FakeBackend &owner, const plan::PlanT &plan, uint32_t command)
      : owner(owner), plan(plan), command(command), left(plan.devices) {}

  CommandState start(const CommandContext &context) override {
    add(Event::started, context.rank);
    left[context.rank] = owner.delay(context.rank, command);
    return look(context.rank);
  }
  CommandState proceed(const CommandContext &context) override {
    add(Event::asked, context.rank);
    if (left[context.rank] != kNever)
      --left[context.rank];
    return look(context.rank);
  }
  void cancel(const CommandContext &context) noexcept override { add(Event::canceled, context.rank); }

private:
  CommandState look(uint32_t rank) {
    if (left[rank] != 0)
      return CommandState::pending;
    add(Event::done, rank);
    return CommandState::done;
  }
  void add(Event::Kind kind, uint32_t rank) { owner.log.add({kind, &plan, rank, command}); }

  FakeBackend &owner;
  const plan::PlanT &plan;
  uint32_t command;
  std::vector<uint32_t> left; // of each rank: how often it is still pending
};

class FakeBackend::FakeCode final : public Code {
public:
  explicit FakeCode(FakeBackend &owner) : owner(owner) {}
  std::unique_ptr<Command> bind(const plan::PlanT &plan, uint32_t command) const override {
    return std::make_unique<FakeCommand>(owner, plan, command);
  }

private:
  FakeBackend &owner;
};

class FakeBackend::FakeCollectives final : public BoundCollectives {
public:
  explicit FakeCollectives(FakeBackend &owner) : owner(owner) {}
  std::unique_ptr<Command> bind(const plan::PlanT &plan, uint32_t, uint32_t command) const override {
    return std::make_unique<FakeCommand>(owner, plan, command);
  }

private:
  FakeBackend &owner;
};

class FakeBackend::Devices final : public DeviceSet {
public:
  explicit Devices(FakeBackend &owner) : owner(owner) {}
  bool usesHostMemory() const override { return true; }
  std::unique_ptr<Allocation> allocate(uint32_t device, size_t size, Memory::Fill fill) override {
    owner.allocated[device] += size;
    return std::make_unique<Block>(Memory(size, fill));
  }
  void copyIn(const std::byte *host, Allocation &to) override { std::copy_n(host, to.size(), to.address()); }
  void copyOut(const Allocation &from, std::byte *host) override {
    std::copy_n(from.address(), from.size(), host);
  }
  void copy(const Allocation &from, Allocation &to) override { copyIn(from.address(), to); }
  std::unique_ptr<Code> load(const plan::PlanT &) override { return std::make_unique<FakeCode>(owner); }

private:
  struct Block final : public Allocation {
    explicit Block(Memory memory) : Allocation(memory.data(), memory.size()), memory(std::move(memory)) {}
    Memory memory;
  };
  FakeBackend &owner;
};

class FakeBackend::Collective final : public Collectives {
public:
  explicit Collective(FakeBackend &owner) : owner(owner) {}
  std::unique_ptr<BoundCollectives> load(const plan::PlanT &, const Channels &, const LocalRanks &,
                                         DeviceSet &) override {
    return std::make_unique<FakeCollectives>(owner);
  }

private:
  FakeBackend &owner;
};

Backend FakeBackend::backend() {
  return {std::make_shared<Devices>(*this), std::make_shared<Collective>(*this)};
}

} // namespace epl::runtime::test
