//===- Driver.cpp - The state of the stand-in of the driver ---------------===//

#include "test/cuda/driver/Driver.h"

#include "test/cuda/driver/Current.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string_view>

using namespace cuda_double;

static uint64_t readNumber(const char *variable, uint64_t otherwise) {
  const char *text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

Driver &Driver::get() {
  static Driver driver;
  return driver;
}

static std::string readText(const char *variable) {
  const char *text = std::getenv(variable);
  return text ? text : "";
}

Driver::Driver()
    : operations(readNumber("EPL_CUDA_SEED", 1)), random(readNumber("EPL_CUDA_SEED", 1)),
      idle(readNumber("EPL_CUDA_IDLE", 0) != 0), faulty(readText("EPL_CUDA_FAULT")) {
  capacities.assign(std::max<uint64_t>(readNumber("EPL_CUDA_DEVICES", 4), 1),
                    readNumber("EPL_CUDA_MEMORY", uint64_t(8) << 30));
  used.resize(capacities.size());
}

/// As a driver does when a process ends. Nodes are their graphs'.
Driver::~Driver() {
  writeReport();
  auto deleteAll = [](auto &handles) {
    for (auto *object : handles)
      delete object;
  };
  deleteAll(std::get<std::set<Stream *>>(objects));
  deleteAll(std::get<std::set<Event *>>(objects));
  deleteAll(std::get<std::set<Graph *>>(objects));
  deleteAll(std::get<std::set<Function *>>(objects));
  deleteAll(std::get<std::set<LoadedModule *>>(objects));
}

void Driver::restart(uint64_t seed) {
  operations.restart(seed);
  random.seed(seed);
  fault = CUDA_SUCCESS;
  numHostFunctions = 0;
  findings.clear();
  counters.clear();
}

void Driver::report(const std::string &kind, const std::string &text) {
  std::string finding = kind + ": " + text;
  std::lock_guard guard(findingsMutex);
  if (std::find(findings.begin(), findings.end(), finding) == findings.end())
    findings.push_back(std::move(finding));
}

const std::vector<std::string> &Driver::getFindings() {
  takeConflicts();
  return findings;
}

void Driver::takeConflicts() {
  for (const Conflict &conflict : operations.conflicts)
    report("order",
           "\"" + conflict.first + "\" and \"" + conflict.second + "\" " +
               (isTurn(conflict.address) ? "wait for others on one device" : "touch the same bytes") +
               ", and nothing orders them");
  operations.conflicts.clear();
}

//===----------------------------------------------------------------------===//
// Devices and memory
//===----------------------------------------------------------------------===//

void Driver::checkDevice(int device) const {
  if (device < 0 || device >= getDeviceCount())
    throw DriverError{CUDA_ERROR_INVALID_DEVICE};
}

int Driver::getCurrentDevice() const {
  if (!currentContext())
    throw DriverError{CUDA_ERROR_INVALID_CONTEXT};
  return deviceOf(currentContext());
}

uint64_t Driver::allocate(size_t size) {
  int device = getCurrentDevice();
  if (size == 0)
    throw DriverError{CUDA_ERROR_INVALID_VALUE};
  std::optional<uint64_t> address = size <= getFree(device) ? memory.allocate(size) : std::nullopt;
  if (!address)
    throw DriverError{CUDA_ERROR_OUT_OF_MEMORY};
  used[device] += size;
  owners[*address] = device;
  return *address;
}

void Driver::release(uint64_t address) {
  auto owner = owners.find(address);
  if (owner == owners.end())
    throw DriverError{CUDA_ERROR_INVALID_VALUE};
  if (operations.hasPending())
    report("memory", "memory is freed while work is pending");
  used[owner->second] -= memory.find(address, 1)->size;
  memory.release(address);
  owners.erase(owner);
}

void *Driver::allocateHost(size_t size) {
  if (size == 0)
    throw DriverError{CUDA_ERROR_INVALID_VALUE};
  std::vector<std::byte> bytes(size);
  auto address = reinterpret_cast<uint64_t>(bytes.data());
  pinned[address] = std::move(bytes);
  return reinterpret_cast<void *>(address);
}

void Driver::releaseHost(void *address) {
  auto at = reinterpret_cast<uint64_t>(address);
  if (operations.hasPending())
    report("memory", "pinned memory is freed while work is pending");
  if (pinned.erase(at) == 0)
    throw DriverError{CUDA_ERROR_INVALID_VALUE};
}

bool Driver::isPinned(uint64_t address, size_t size) const {
  auto behind = pinned.upper_bound(address);
  if (behind == pinned.begin())
    return false;
  const auto &[begin, bytes] = *std::prev(behind);
  return address + size <= begin + bytes.size();
}

/// Whether a device may access memory of a device at an address.
bool Driver::isReachable(uint64_t address, int device) const {
  auto behind = owners.upper_bound(address);
  if (behind == owners.begin())
    return true; // no memory of a device: other checks have it
  int owner = std::prev(behind)->second;
  return owner == device || peers.contains({device, owner});
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

std::string cuda_double::describe(const Work &work) {
  struct Visitor {
    std::string operator()(const KernelWork &kernel) const { return kernel.function->entry->name; }
    std::string operator()(const CopyWork &copy) const {
      return "copy of " + std::to_string(copy.size) + " bytes";
    }
    std::string operator()(const FillWork &fill) const {
      return "fill of " + std::to_string(fill.count * fill.elementBytes) + " bytes";
    }
    std::string operator()(const HostWork &) const { return "function of the host"; }
    std::string operator()(const MeetingWork &meeting) const { return meeting.name; }
  };
  return std::visit(Visitor(), work);
}

/// Notes that an operation touches bytes of a device; those of the host are not followed.
void Driver::touch(uint64_t address, size_t size, bool isWrite, int device, const std::string &what) {
  Allocation *allocation = memory.find(address, size);
  if (!allocation)
    return;
  if (!isReachable(address, device))
    throw Fault(what + " of device " + std::to_string(device) +
                " touches memory of another one, which it has no access to");
  if (!memory.use(*allocation, address, size, isWrite) && !isWrite)
    report("unwritten", what + " reads bytes that nobody has written");
}

static uint64_t sumOf(uint64_t address, size_t size) {
  return std::hash<std::string_view>()({reinterpret_cast<const char *>(address), size});
}

/// The host leaves alone what a pending copy reads. Not where a function of the host, which may write that in
/// its turn, is pending, too.
void Driver::watchSource(CopyWork &copy) const {
  if (numHostFunctions == 0 && isPinned(copy.from, copy.size))
    copy.sum = sumOf(copy.from, copy.size);
}

void Driver::performKernel(const KernelWork &work) {
  if (work.function->entry->name == faulty)
    throw Fault(faulty + " shall fault");
  Options options;
  options.seed = random();
  Counters cost;
  std::vector<Finding> found;
  cuda_double::run(work.launch, memory, options, cost, found);
  static const char *const kinds[] = {"unwritten", "race", "barrier"};
  for (const Finding &finding : found)
    report(kinds[finding.kind], finding.text);
  counters[work.function->entry->name] += cost;
  int &priority = priorities[work.function->entry->name];
  priority = std::min(priority, work.priority);
}

std::vector<Use> Driver::perform(const Work &work, int device) {
  ++numOperations;
  const std::string what = describe(work);
  if (const auto *kernel = std::get_if<KernelWork>(&work)) {
    performKernel(*kernel);
  } else if (const auto *copy = std::get_if<CopyWork>(&work)) {
    if (copy->sum && *copy->sum != sumOf(copy->from, copy->size))
      report("host", what + ": the host has rewritten them before they were copied");
    touch(copy->from, copy->size, false, device, what);
    touch(copy->to, copy->size, true, device, what);
    std::memmove(reinterpret_cast<void *>(copy->to), reinterpret_cast<const void *>(copy->from), copy->size);
  } else if (const auto *fill = std::get_if<FillWork>(&work)) {
    touch(fill->to, fill->count * fill->elementBytes, true, device, what);
    for (size_t i = 0; i < fill->count; ++i)
      std::memcpy(reinterpret_cast<void *>(fill->to + i * fill->elementBytes), &fill->value,
                  fill->elementBytes);
  } else if (const auto *host = std::get_if<HostWork>(&work)) {
    host->function(host->data);
    --numHostFunctions;
  }
  std::vector<Use> uses = memory.takeUses();
  for (const Use &use : uses)
    if (!isReachable(use.begin, device))
      throw Fault(what + " of device " + std::to_string(device) +
                  " touches memory of another one, which it has no access to");
  return uses;
}
