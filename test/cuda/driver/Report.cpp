//===- Report.cpp - What the stand-in has found ---------------------------===//

#include "test/cuda/driver/Driver.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>

using namespace cuda_double;

static nlohmann::json describe(const Counters::Traffic &traffic) {
  return {{"requests", traffic.requests}, {"sectors", traffic.sectors}, {"bytes", traffic.bytes}};
}

static nlohmann::json describe(const Counters &counters) {
  return {{"launches", counters.launches},
          {"warp_instructions", counters.warpInstructions},
          {"lane_instructions", counters.laneInstructions},
          {"divergent", counters.divergent},
          {"multiply_adds", counters.multiplyAdds},
          {"special_functions", counters.specialFunctions},
          {"barriers", counters.barriers},
          {"loads", describe(counters.loads)},
          {"stores", describe(counters.stores)},
          {"sectors_touched", counters.sectorsTouched},
          {"sectors_fetched", counters.sectorsFetched},
          {"shared_requests", counters.sharedRequests},
          {"shared_cycles", counters.sharedCycles}};
}

void Driver::writeReport() {
  takeConflicts();
  if (const char *path = std::getenv("EPL_CUDA_REPORT")) {
    nlohmann::json kernels = nlohmann::json::object();
    for (auto &[name, cost] : counters) {
      kernels[name] = ::describe(cost);
      kernels[name]["priority"] = priorities[name];
    }
    std::ofstream(path) << nlohmann::json{{"findings", findings},
                                          {"graphs", numGraphs},
                                          {"graph_launches", numGraphLaunches},
                                          {"stream_calls", numStreamCalls},
                                          {"operations", numOperations},
                                          {"kernels", kernels}}
                               .dump(1)
                        << '\n';
    return;
  }
  for (const std::string &finding : findings)
    std::fprintf(stderr, "stand-in of the CUDA driver: %s\n", finding.c_str());
}
