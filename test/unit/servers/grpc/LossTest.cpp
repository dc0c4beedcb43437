// Peers that are not there, and peers that are there no more.
#include "Ends.h"

#include "runtime/Error.h"
#include "runtime/device/cpu/Library.h"

#include <arpa/inet.h>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace epl::runtime;
using namespace epl::runtime::servers;
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Clock = std::chrono::steady_clock;

namespace {

/// So much that a peer on a busy machine answers in two thirds of it.
constexpr std::chrono::milliseconds kSilence(1500);

/// The program EplStreamPeer, until it is destroyed.
class Peer {
public:
  Peer(const std::string &role, const std::string &address) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
      throw std::runtime_error("no pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::string program = EPL_STREAM_PEER;
    char *arguments[] = {program.data(), const_cast<char *>(role.c_str()),
                         const_cast<char *>(address.c_str()), nullptr};
    if (posix_spawn(&process, EPL_STREAM_PEER, &actions, nullptr, arguments, environ) != 0)
      throw std::runtime_error("cannot start " EPL_STREAM_PEER);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    output = fdopen(ends[0], "r");
  }
  ~Peer() {
    send(SIGKILL);
    waitpid(process, nullptr, 0);
    fclose(output);
  }

  /// The next line that it prints.
  std::string line() {
    char text[200] = {};
    if (!fgets(text, sizeof(text), output))
      return "";
    std::string line = text;
    return line.substr(0, line.find('\n'));
  }
  void send(int signal) { kill(process, signal); }

private:
  pid_t process = 0;
  FILE *output = nullptr;
};

/// A socket of the loopback that listens, and accepts nothing.
class Deaf {
public:
  Deaf() : socket(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in place = {};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(place);
    auto *generic = reinterpret_cast<sockaddr *>(&place);
    if (bind(socket, generic, size) != 0 || listen(socket, 5) != 0 ||
        getsockname(socket, generic, &size) != 0)
      throw std::runtime_error("no socket");
    address = "127.0.0.1:" + std::to_string(ntohs(place.sin_port));
  }
  ~Deaf() { close(socket); }
  std::string address;

private:
  int socket;
};

StreamOptions patientFor(std::chrono::milliseconds time) {
  StreamOptions options;
  options.connectDeadline = time;
  return options;
}

/// An end here, connected to a process that listens, over which a frame has gone there and back.
struct Connected {
  Peer peer{"listen", "127.0.0.1:0"};
  std::string address = peer.line();
  std::shared_ptr<StreamTransport> transport = openStreamTransport();
  std::shared_ptr<Recorder> reader = std::make_shared<Recorder>();
  std::unique_ptr<Stream> stream;

  explicit Connected(const StreamOptions &options = {}) {
    stream = transport->connect(address, reader, options);
    stream->send(frameOf(bytesOf("there")));
    EXPECT_TRUE(reader->next());
  }
};

/// The same with a process that connects.
struct Accepting {
  std::shared_ptr<StreamTransport> transport = openStreamTransport();
  Acceptor acceptor;
  Peer peer;
  Acceptor::Accepted other;

  explicit Accepting(const StreamOptions &options = {})
      : acceptor(*transport, "127.0.0.1:0", options), peer("connect", acceptor.address()),
        other(acceptor.next()) {
    EXPECT_TRUE(other.recorder->next());
    other.stream->send(frameOf(bytesOf("back")));
    EXPECT_EQ(peer.line(), "came");
  }
};

} // namespace

TEST(Loss, OfAServerThatIsKilled) {
  Connected connected;
  connected.peer.send(SIGKILL);
  EXPECT_THAT(connected.reader->whyClosed(2).value_or("not closed"),
              HasSubstr("the connection to " + connected.address + " was lost"));
}

TEST(Loss, OfAClientThatIsKilled) {
  Accepting accepting;
  accepting.peer.send(SIGKILL);
  EXPECT_THAT(accepting.other.recorder->whyClosed(2).value_or("not closed"),
              HasSubstr("the stream with " + accepting.other.stream->peer() + " broke"));
}

TEST(Loss, OfAServerThatIsSilent) {
  StreamOptions options;
  options.silence = kSilence;
  Connected connected(options);
  EXPECT_FALSE(connected.reader->whyClosed(2)); // it answers, though it has nothing to say
  connected.peer.send(SIGSTOP);
  EXPECT_THAT(connected.reader->whyClosed(5).value_or("not closed"), HasSubstr("was lost"));
}

TEST(Loss, OfAClientThatIsSilent) {
  StreamOptions options;
  options.silence = kSilence;
  Accepting accepting(options);
  EXPECT_FALSE(accepting.other.recorder->whyClosed(2));
  accepting.peer.send(SIGSTOP);
  EXPECT_THAT(accepting.other.recorder->whyClosed(5).value_or("not closed"),
              HasSubstr("or nothing came for 1500 ms"));
}

TEST(Loss, OfASilentPeerWhileMuchIsQueued) {
  StreamOptions options;
  options.silence = kSilence;
  Connected connected(options);
  connected.peer.send(SIGSTOP);
  for (int i = 0; i < 64; ++i)
    connected.stream->send(frameOf({}, Bytes(kMaxFrame)));
  EXPECT_THAT(connected.reader->whyClosed(5).value_or("not closed"), HasSubstr("was lost"));
  EXPECT_EQ(connected.stream->queuedBytes(), 0u);
}

TEST(Absence, OfAProcessEndsWithTheDeadline) {
  std::string address = Deaf().address; // closed again
  auto begin = Clock::now();
  EXPECT_THAT(whyNotConnected(address, patientFor(400ms)).value(),
              AllOf(HasSubstr("no server answered at " + address + " within 400 ms"),
                    HasSubstr("Connection refused")));
  EXPECT_GE(Clock::now() - begin, 400ms);
  EXPECT_LT(Clock::now() - begin, 3s);
}

TEST(Absence, OfAnAnswerEndsWithTheDeadline) {
  Deaf deaf;
  auto begin = Clock::now();
  EXPECT_THAT(whyNotConnected(deaf.address, patientFor(400ms)).value(),
              HasSubstr("no server answered at " + deaf.address + " within 400 ms"));
  EXPECT_LT(Clock::now() - begin, 3s);
}

TEST(Absence, OfAHostSaysItsName) {
  StreamOptions options = patientFor(400ms);
  options.insecure = true;
  EXPECT_THAT(whyNotConnected("no-such-host.invalid:7164", options).value(),
              HasSubstr("no server answered at no-such-host.invalid:7164 within 400 ms"));
}

TEST(Absence, EndsWhenTheServerComes) {
  std::shared_ptr<StreamTransport> transport = openStreamTransport();
  std::string address = Acceptor(*transport).address(); // stopped again
  auto reader = std::make_shared<Recorder>();
  std::unique_ptr<Stream> stream = transport->connect(address, reader, {});
  stream->send(frameOf(bytesOf("early")));
  std::this_thread::sleep_for(300ms);
  EXPECT_FALSE(reader->whyClosed(0));
  Acceptor acceptor(*transport, address);
  Acceptor::Accepted other = acceptor.next();
  ASSERT_TRUE(other.recorder);
  EXPECT_EQ(other.recorder->next(), (Recorder::Came{bytesOf("early"), {}}));
}

TEST(Absence, MayBeCancelled) {
  std::string address = Deaf().address;
  std::shared_ptr<StreamTransport> transport = openStreamTransport();
  for (auto wait : {0ms, 1ms, 20ms, 130ms}) {
    auto reader = std::make_shared<Recorder>();
    std::unique_ptr<Stream> stream = transport->connect(address, reader, {});
    std::this_thread::sleep_for(wait);
    stream->cancel();
    EXPECT_EQ(reader->whyClosed(2), "the stream with " + address + " was cancelled here");
    transport->connect(address, reader, {}).reset();
  }
}

TEST(Proxies, AreNotUsed) {
  ScopedVariable http("http_proxy", "http://127.0.0.1:1"), grpc("grpc_proxy", "http://127.0.0.1:1"),
      https("https_proxy", "http://127.0.0.1:1");
  Pair pair;
  pair.stream->send(frameOf(bytesOf("direct")));
  ASSERT_TRUE(pair.other.recorder);
  EXPECT_TRUE(pair.other.recorder->next());
}

TEST(Ports, ThatAreTakenAreErrors) {
  Pair pair;
  std::string taken = pair.acceptor.address();
  EXPECT_THAT([&] { Acceptor second(*pair.transport, taken); },
              ThrowsMessage<Error>(HasSubstr("cannot listen at " + taken + ": the port is taken")));
  Deaf deaf;
  EXPECT_THAT([&] { Acceptor second(*pair.transport, deaf.address); },
              ThrowsMessage<Error>(HasSubstr("cannot listen at " + deaf.address + ": the port is taken")));
  EXPECT_THAT(Peer("listen", taken).line(), HasSubstr("the port is taken")); // nor can another process
  pair.stream->send(frameOf(bytesOf("still")));
  EXPECT_TRUE(pair.other.recorder->next());
}

#ifndef EPL_NO_FORKS
/// Everything in the child is an error, or nothing, and nothing hangs.
static void useInChild(Pair &pair) {
  alarm(20);
  auto check = [](const std::function<void()> &use) {
    try {
      use();
      _exit(1);
    } catch (const Error &error) {
      if (std::string(error.what()).find("the process was forked") == std::string::npos)
        _exit(2);
    }
  };
  check([&] { pair.stream->send(frameOf(bytesOf("child"))); });
  check([&] { pair.stream->close(); });
  check([&] { pair.transport->connect(pair.acceptor.address(), pair.reader, {}); });
  check([&] { Acceptor another(*pair.transport); });
  check([] { openStreamTransport(); });
  pair.stream->cancel();
  pair.stream.reset();
  pair.other.stream.reset();
  pair.acceptor.listener.reset();
  pair.transport.reset();
  _exit(0);
}

TEST(Forks, AreToldApart) {
  Pair pair;
  pid_t child = fork();
  if (child == 0)
    useInChild(pair);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  pair.stream->send(frameOf(bytesOf("parent")));
  EXPECT_EQ(pair.other.recorder->next(), (Recorder::Came{bytesOf("parent"), {}}));
}
#endif
