// epl-server: a parameter server. It holds blocks of parameters and updates them by plans that worker 0
// sends, without Python and without the compiler.

#include "tools/Tool.h"

#include "runtime/Error.h"
#include "runtime/host/Thread.h"
#include "runtime/servers/OpenTransport.h"
#include "runtime/servers/drive/Server.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <pthread.h>
#include <sstream>
#include <thread>

namespace {

using namespace epl::runtime;
using namespace epl::runtime::tool;

struct Options {
  servers::ServerOptions server;
  std::string tokenFile;
  unsigned streamThreads = 2;
};

/// The first line of a file.
std::string readToken(const std::string &path) {
  std::ifstream file(path);
  std::string token;
  std::getline(file, token);
  // A folder can be opened, and not read.
  if (!file.is_open() || file.bad())
    throw Error("cannot read \"" + path + "\", the file of --token-file: " + std::strerror(errno));
  if (token.empty())
    throw Error("\"" + path + "\" has no token in its first line");
  return token;
}

/// Ends a server when the process gets a signal that asks it to end; while it lives, other threads get none.
class SignalWatch {
public:
  explicit SignalWatch(servers::Server &server, const sigset_t &signals) : signals(signals) {
    thread = std::thread([this, &server] {
      int signal = 0;
      while (sigwait(&this->signals, &signal) == 0 && signal != SIGUSR1)
        server.fail(std::string("the server was ended by ") + (signal == SIGINT ? "SIGINT" : "SIGTERM"));
    });
  }
  ~SignalWatch() {
    pthread_kill(thread.native_handle(), SIGUSR1);
    thread.join();
  }
  SignalWatch(const SignalWatch &) = delete;

private:
  const sigset_t signals;
  std::thread thread;
};

ExitCode execute(Options options) {
  if (!options.tokenFile.empty())
    options.server.streams.token = readToken(options.tokenFile);
  // Before any thread is started, so that all leave these to the one that waits for them.
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGTERM, SIGINT, SIGUSR1})
    sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  servers::Server server(servers::openStreamTransport(options.streamThreads), options.server);
  print("server " + std::to_string(options.server.number) + " listens at " + server.address() + "\n");
  SignalWatch watch(server, signals);
  server.wait();
  return good;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app{
      "Serves parameters to the workers of one job: epl-launch, or a cluster, starts one for each "
      "server; worker 0 sends what it holds and how that is updated. It ends when the last worker has.",
      "epl-server"};
  Options options;
  servers::ServerOptions &server = options.server;
  server.threads = availableCores();
  app.add_option("--listen", server.address, "the address that workers know: host:port")->required();
  app.add_option("--number", server.number, "which of the servers this is, from 0 on")->capture_default_str();
  app.add_option("--threads", server.threads, "that update blocks side by side; default: the cores")
      ->check(CLI::Range(1, 1024));
  app.add_option("--stream-threads", options.streamThreads, "that move frames")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--deadline", server.timing.arrival, "milliseconds that a worker has to come")
      ->check(CLI::Range(1, 999'999'999))
      ->capture_default_str()
      ->envname("FLAGS_rpc_deadline");
  app.add_option("--token-file", options.tokenFile, "a file whose first line is the secret of the job")
      ->envname("EPL_SERVERS_TOKEN_FILE");
  app.add_option("--tls-certificate", server.streams.certificate, "the server's certificate, PEM")
      ->envname("EPL_SERVERS_TLS_CERTIFICATE");
  app.add_option("--tls-key", server.streams.key, "its key, PEM")->envname("EPL_SERVERS_TLS_KEY");
  app.add_option("--tls-ca", server.streams.ca,
                 "who signs the workers' certificates, PEM; none: these have none")
      ->envname("EPL_SERVERS_TLS_CA");
  app.add_flag("--insecure", server.streams.insecure,
               "listen beyond this machine without a token, or in plaintext: what workers send is code")
      ->envname("EPL_SERVERS_INSECURE");
  return runTool(app, argc, argv, [&] { return execute(options); });
}
