#include "test/unit/servers/logic/Record.h"

namespace epl::runtime::servers::test {
namespace {

Values drawn(uint64_t seed, size_t size) {
  std::mt19937_64 random(seed);
  Values values(size);
  for (uint32_t &value : values)
    value = uint32_t(random());
  return values;
}

} // namespace

void addTo(Values &sum, const Values &values) {
  sum.resize(std::max(sum.size(), values.size()));
  for (size_t i = 0; i < values.size(); ++i)
    sum[i] += values[i];
}

Values gradientOf(const Scenario &scenario, uint32_t worker, uint64_t life, uint64_t step, uint32_t block) {
  uint64_t seed = ((worker * 64 + life) * 1024 + step) * 1024 + block;
  const BlockTable &blocks = scenario.job->blocks;
  if (!blocks.isPart(block))
    return drawn(seed + 1, blocks[block].size);
  uint64_t rows = drawn(seed + 1, 1).front() % 6;
  return drawn(seed + 1, RowsPush::of(rows, rowBytes(blocks.table(block))).bytes / sizeof(uint32_t));
}

Values initialOf(const Scenario &scenario, uint32_t block) {
  if (scenario.job->blocks.isPart(block))
    return {};
  return drawn(~uint64_t(block), scenario.job->blocks[block].size);
}

Values rowsOf(const Scenario &scenario, uint32_t block, const Values &value, const Values &ids) {
  uint64_t seed = block;
  for (const Values *values : {&value, &ids})
    for (uint32_t word : *values)
      seed = (seed ^ word) * 0x9e3779b97f4a7c15;
  return drawn(seed, ids.size() / 2 * scenario.job->blocks.table(block).dim);
}

Record::Record(const Scenario &scenario) : scenario(scenario) {
  for (uint32_t block = 0; block < scenario.job->blocks.total(); ++block)
    history.push_back({initialOf(scenario, block)});
  contributors.resize(history.size());
}

void Record::pushed(uint32_t worker, uint64_t life, uint32_t block, const Values &gradient) {
  addTo(made[{{worker, life}, block}], gradient);
}

void Record::updated(uint32_t block, uint64_t version, const std::vector<GradientKey> &keys,
                     const std::vector<Values> &gradients, double factor, const Values &value) {
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!applied.insert(keys[i]).second)
      fault("block ", block, " is updated twice by step ", keys[i].step, " of worker ", keys[i].worker);
    if (keys[i].block != block)
      fault("block ", block, " is updated by a gradient of block ", keys[i].block);
    addTo(added[{{keys[i].worker, keys[i].life}, block}], gradients[i]);
  }
  if (version != history[block].size())
    fault("block ", block, " gets version ", version, ", expected ", history[block].size());
  history[block].push_back(value);
  if (scenario.isSync())
    checkSync(block, version, keys, gradients, factor);
  else if (keys.size() != 1 || factor != 1)
    fault("block ", block, " is updated by ", keys.size(), " gradients at once");
}

/// An update of sync is one step: the gradients of those who take part, in the order of workers.
void Record::checkSync(uint32_t block, uint64_t version, const std::vector<GradientKey> &keys,
                       const std::vector<Values> &gradients, double factor) {
  if (factor != 1.0 / double(keys.size()))
    fault("block ", block, " is updated with factor ", factor, " for ", keys.size(), " workers");
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i > 0 && keys[i - 1].worker >= keys[i].worker)
      fault("block ", block, " adds worker ", keys[i].worker, " behind worker ", keys[i - 1].worker);
    if (keys[i].step + 1 != version)
      fault("step ", keys[i].step, " makes version ", version, " of block ", block);
    if (gradients[i] != gradientOf(scenario, keys[i].worker, keys[i].life, keys[i].step, block))
      fault("the gradient of worker ", keys[i].worker, " for block ", block, " has come damaged");
    contributors[block][keys[i].step].insert(keys[i].worker);
  }
}

bool Record::hasVersion(uint32_t worker, uint64_t step, uint32_t block, uint64_t version) {
  if (scenario.isSync() && version != step)
    fault("worker ", worker, " gets version ", version, " of block ", block, " for step ", step);
  if (version < history[block].size())
    return true;
  fault("worker ", worker, " gets version ", version, " of block ", block, ", which there is not yet");
  return false;
}

void Record::got(uint32_t worker, uint64_t step, uint32_t block, uint64_t version, const Values &value) {
  if (hasVersion(worker, step, block, version) && value != history[block][version])
    fault("worker ", worker, " gets a damaged version ", version, " of block ", block);
}

void Record::gotRows(uint32_t worker, uint64_t step, uint32_t block, uint64_t version, const Values &rows,
                     const Values &ids) {
  if (hasVersion(worker, step, block, version) &&
      rows != rowsOf(scenario, block, history[block][version], ids))
    fault("worker ", worker, " gets other rows than those of version ", version, " of block ", block);
}

void Record::ranTask(uint32_t worker, uint64_t life, const frames::RunTaskT &task) {
  if (!tasks.emplace(worker, life, task.number).second)
    fault("task ", task.number, " of worker ", worker, " is done twice with block ", task.block);
}

void Record::begun(uint32_t worker, uint64_t life, uint64_t step) { firstSteps[{worker, life}] = step; }

/// Whether a worker may end with an error.
bool Record::mayEnd(uint64_t life, bool stopped) const {
  bool late = (life > 1 || stopped) && serversDone; // all others were done before
  return !scenario.goesOn() || late || (stopped && scenario.isSync());
}

void Record::workerEnded(uint32_t worker, uint64_t life, uint64_t step, bool stopped,
                         const std::string &error) {
  if (error.empty())
    done[{worker, life}] = {firstSteps[{worker, life}], step};
  else if (!mayEnd(life, stopped))
    fault("worker ", worker, " ends with an error: ", error);
  else if (error.find("worker ") == std::string::npos && error.find("server ") == std::string::npos)
    fault("worker ", worker, " ends with an error that names nobody: ", error);
}

void Record::serverEnded(uint32_t server, const std::string &error) {
  serversDone |= error.empty();
  if (!error.empty() && scenario.goesOn())
    fault("server ", server, " ends with an error: ", error);
  else if (!error.empty() && error.find("worker ") == std::string::npos)
    fault("server ", server, " ends with an error that names no worker: ", error);
}

void Record::conclude() {
  for (const auto &[life, span] : done) {
    if (scenario.isSync() && scenario.goesOn())
      checkSteps(life, span);
    else if (!scenario.isSync() && scenario.merge == Merge::sum)
      checkSums(life);
  }
  for (uint32_t block = 0; block < history.size() && scenario.isSync() && scenario.isCalm(); ++block)
    checkLoop(block);
}

/// All that a worker has made is in the blocks.
void Record::checkSums(const Life &life) {
  for (uint32_t block = 0; block < history.size(); ++block)
    if (made[{life, block}] != added[{life, block}])
      fault("gradients of worker ", life.first, " for block ", block, " are lost");
}

void Record::checkSteps(const Life &life, const Span &span) {
  for (uint32_t block = 0; block < history.size(); ++block)
    for (uint64_t step = span.first; step < span.end; ++step)
      if (!contributors[block][step].contains(life.first))
        fault("step ", step, " of worker ", life.first, " for block ", block, " is lost");
}

/// Where nothing goes wrong, versions and sums are those of a plain loop.
void Record::checkLoop(uint32_t block) {
  Values value = initialOf(scenario, block);
  uint64_t steps = *std::ranges::max_element(scenario.steps);
  for (uint64_t step = 0; step < steps; ++step) {
    for (uint32_t worker = 0; worker < scenario.steps.size(); ++worker)
      if (step < scenario.steps[worker])
        addTo(value, gradientOf(scenario, worker, 1, step, block));
    if (history[block].size() <= step + 1)
      return fault("block ", block, " has ", history[block].size() - 1, " versions, expected ", steps);
    if (history[block][step + 1] != value)
      fault("version ", step + 1, " of block ", block, " is not that of a loop");
  }
  if (history[block].size() != steps + 1)
    fault("block ", block, " has ", history[block].size() - 1, " versions, expected ", steps);
}

} // namespace epl::runtime::servers::test
