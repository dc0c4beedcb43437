// How the programs beside this file measure and what they print.
#ifndef EPL_TEST_BENCHMARKS_REPORT_H
#define EPL_TEST_BENCHMARKS_REPORT_H

#include <chrono>
#include <cstdint>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace epl::benchmark {

/// Does something so many times.
using Run = std::function<void(uint32_t count)>;

/// Somebody who is measured, and what was found: the mean seconds of one time, for each round.
struct Contender {
  std::string name;
  Run run;
  std::vector<double> seconds = {};
};

/// Measures all contenders in turn, round by round, after one run of each.
inline void interleave(std::vector<Contender> &contenders, uint32_t rounds, uint32_t count) {
  for (Contender &contender : contenders)
    contender.run(1);
  for (uint32_t round = 0; round < rounds; ++round)
    for (Contender &contender : contenders) {
      auto begin = std::chrono::steady_clock::now();
      contender.run(count);
      std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
      contender.seconds.push_back(elapsed.count() / count);
    }
}

/// Prints one line of JSON: {"what": ..., "seconds": {name: [...], ...}}.
inline void report(const std::string &what, const std::vector<Contender> &contenders) {
  nlohmann::json line = {{"what", what}};
  for (const Contender &contender : contenders)
    line["seconds"][contender.name] = contender.seconds;
  std::cout << line.dump() << std::endl;
}

} // namespace epl::benchmark

#endif // EPL_TEST_BENCHMARKS_REPORT_H
