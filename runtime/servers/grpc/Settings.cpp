#include "runtime/servers/grpc/Settings.h"

#include "runtime/Error.h"

#include <algorithm>
#include <grpc/grpc.h>

namespace epl::runtime::servers {

/// Both ends ping: who is silent for a third of `silence` is asked, and has the rest to answer. An end that
/// is pinged may not take that for an attack, as gRPC does with pings that come more often than every 5
/// minutes.
static Settings keepAlive(std::chrono::milliseconds silence) {
  auto total = static_cast<int>(std::min<int64_t>(silence.count(), INT32_MAX));
  int idle = total / 3;
  return {{GRPC_ARG_KEEPALIVE_TIME_MS, idle},
          {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, total - idle},
          {GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0},
          {GRPC_ARG_HTTP2_MIN_SENT_PING_INTERVAL_WITHOUT_DATA_MS, idle},
          {GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 0},
          {GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0}};
}

/// How much may be on its way unread, for networks that carry 100 Gbit/s with a delay of 0.3 ms. Not what
/// gRPC finds out by probing: with that, a stream of large messages now and then stands still until the next
/// probe, up to 10 seconds.
static constexpr std::pair<const char *, int> kWindow[] = {
    {GRPC_ARG_HTTP2_BDP_PROBE, 0}, {GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 4 * int(kMaxFrame)}};

Settings settingsOf(const StreamOptions &options) {
  if (options.silence < std::chrono::milliseconds(100))
    throw Error("the option \"silence\" is " + std::to_string(options.silence.count()) +
                " ms, expected at least 100 ms");
  Settings settings = keepAlive(options.silence);
  for (std::pair<const char *, int> window : kWindow)
    settings.push_back(window);
  return settings;
}

/// Each stream has a connection of its own, tries again soon, and does so itself.
Settings settingsOfConnecting() {
  return {{GRPC_ARG_ENABLE_HTTP_PROXY, 0},
          {GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1},
          {GRPC_ARG_ENABLE_RETRIES, 0},
          {GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1},
          {GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, 1000},
          {GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100},
          {GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100},
          {GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000}};
}

/// Two programs at one port would each have some of the workers.
Settings settingsOfListening() { return {{GRPC_ARG_ALLOW_REUSEPORT, 0}}; }

} // namespace epl::runtime::servers
