// Tokens and TLS: who may have a stream, and what the others are told.
#include "Ends.h"

#include "runtime/Error.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace epl::runtime;
using namespace epl::runtime::servers;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

namespace {

/// Certificates that the program openssl makes, in a folder of the test's: of two authorities, and of a
/// server and a worker by the first.
class Security : public testing::Test {
public:
  static void SetUpTestSuite() {
    folder = std::filesystem::temp_directory_path() / ("epl-certificates-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder);
    for (const char *name : {"ca", "other"})
      run(std::string("req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=") + name + " -keyout " + name +
          ".key -out " + name + ".pem");
    sign("server", "subjectAltName=IP:127.0.0.1");
    sign("worker", "subjectAltName=DNS:worker");
    sign("elsewhere", "subjectAltName=IP:10.1.2.3");
    run("rsa -aes128 -passout pass:secret -in server.key -out locked.key");
    std::ofstream(folder / "text.pem") << "no certificate\n";
    std::ofstream(folder / "empty.pem");
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder); }

  static std::string path(const std::string &name) { return folder / name; }

  static StreamOptions server() {
    StreamOptions options;
    options.token = "a token";
    options.certificate = path("server.pem");
    options.key = path("server.key");
    return options;
  }

  /// Deadlines are short: some of these peers never come to an understanding.
  static StreamOptions worker() {
    StreamOptions options;
    options.token = "a token";
    options.ca = path("ca.pem");
    options.connectDeadline = std::chrono::milliseconds(1500);
    return options;
  }

  /// Why a listener with some options has no stream of who connects with others; "" if it has one. Of what
  /// stays so, "for good: " stands before it.
  static std::string whyRefused(const StreamOptions &listens, const StreamOptions &connects) {
    std::shared_ptr<StreamTransport> transport = openStreamTransport();
    Acceptor acceptor(*transport, "127.0.0.1:0", listens);
    auto reader = std::make_shared<Recorder>();
    std::unique_ptr<Stream> stream = transport->connect(acceptor.address(), reader, connects);
    stream->send(frameOf(bytesOf("secret"), bytesOf("frame")));
    stream->close();
    std::string why = reader->whyClosed().value_or("never");
    EXPECT_EQ(acceptor.hasNext(), why.empty());
    if (why.empty())
      EXPECT_EQ(acceptor.next().recorder->next(), (Recorder::Came{bytesOf("secret"), bytesOf("frame")}));
    return (reader->isFinal() ? "for good: " : "") + why;
  }

private:
  static void run(const std::string &arguments) {
    std::string command = "cd " + folder.string() + " && openssl " + arguments + " 2>openssl.log";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
  static void sign(const std::string &name, const std::string &extension) {
    std::ofstream(folder / (name + ".ext")) << extension << "\n";
    run("req -newkey rsa:2048 -nodes -subj /CN=" + name + " -keyout " + name + ".key -out " + name + ".csr");
    run("x509 -req -days 2 -CA ca.pem -CAkey ca.key -CAcreateserial -in " + name + ".csr -extfile " + name +
        ".ext -out " + name + ".pem");
  }

  static std::filesystem::path folder;
};

std::filesystem::path Security::folder;

} // namespace

TEST_F(Security, OfTokenAndTlsLetsInWhoHasThem) { EXPECT_EQ(whyRefused(server(), worker()), ""); }

TEST_F(Security, AsksForACertificateWhereTheListenerHasAnAuthority) {
  StreamOptions listens = server(), connects = worker();
  listens.ca = path("ca.pem");
  EXPECT_THAT(whyRefused(listens, connects),
              HasSubstr("Socket closed; it may expect a certificate, for which there are the options"));
  connects.certificate = path("worker.pem");
  connects.key = path("worker.key");
  EXPECT_EQ(whyRefused(listens, connects), "");
  listens.ca = path("other.pem");
  EXPECT_NE(whyRefused(listens, connects), "");
}

TEST_F(Security, RefusesOtherTokens) {
  for (std::string token : {"a tokem", "a toke", "a token ", "A token"}) {
    StreamOptions connects = worker();
    connects.token = token;
    EXPECT_THAT(whyRefused(server(), connects),
                AllOf(StartsWith("for good: "),
                      HasSubstr("refused the stream: expected the token of the server, found another one")));
  }
  StreamOptions connects = worker();
  connects.token = "";
  EXPECT_THAT(whyRefused(server(), connects),
              AllOf(StartsWith("for good: "),
                    HasSubstr("refused the stream: expected the token of the server, found none")));
}

TEST_F(Security, TakesTokensOfAnyBytesWithoutTls) {
  StreamOptions both;
  both.token = std::string("\0\n\xff:", 4);
  EXPECT_EQ(whyRefused(both, both), "");
  EXPECT_THAT(whyRefused(both, {}), HasSubstr("found none"));
}

TEST_F(Security, RefusesPlaintextToTls) {
  StreamOptions connects = worker();
  connects.ca = "";
  connects.connectDeadline = std::chrono::minutes(3);
  auto expected = AllOf(StartsWith("for good: "),
                        HasSubstr("expects TLS, for which there is the option \"ca\", found plaintext"));
  EXPECT_THAT(whyRefused(server(), connects), expected);
  StreamOptions listens = server();
  listens.ca = path("ca.pem"); // wants a certificate, too
  EXPECT_THAT(whyRefused(listens, connects), expected);
}

TEST_F(Security, RefusesTlsToPlaintext) {
  StreamOptions listens;
  listens.token = "a token";
  EXPECT_THAT(whyRefused(listens, worker()),
              AllOf(StartsWith("for good: no TLS with 127.0.0.1:"), HasSubstr("found no TLS: ")));
}

TEST_F(Security, RefusesServersOfOtherAuthoritiesAndHosts) {
  StreamOptions connects = worker();
  connects.ca = path("other.pem");
  EXPECT_THAT(whyRefused(server(), connects),
              AllOf(StartsWith("for good: "), HasSubstr("found another one: ")));
  StreamOptions listens = server();
  listens.certificate = path("elsewhere.pem");
  listens.key = path("elsewhere.key");
  EXPECT_THAT(whyRefused(listens, worker()), HasSubstr("expected a certificate for \"127.0.0.1\" of"));
}

TEST_F(Security, IsAskedForBeyondTheLoopback) {
  std::shared_ptr<StreamTransport> transport = openStreamTransport();
  auto listen = [&](const StreamOptions &options) {
    return [&transport, options] { Acceptor(*transport, "0.0.0.0:0", options); };
  };
  auto connect = [&](const StreamOptions &options) {
    return
        [&transport, options] { transport->connect("10.0.0.1:7164", std::make_shared<Recorder>(), options); };
  };
  StreamOptions token, tls = server(), insecure;
  token.token = "a token";
  tls.token = "";
  insecure.insecure = true;
  EXPECT_THAT(listen({}),
              ThrowsMessage<Error>(HasSubstr(
                  "listening at 0.0.0.0:0, which is beyond this machine: expected the options \"token\" "
                  "and \"certificate\" for TLS, or \"insecure\"")));
  EXPECT_THAT(listen(token),
              ThrowsMessage<Error>(HasSubstr("expected the options \"certificate\" for TLS, or")));
  EXPECT_THAT(listen(tls), ThrowsMessage<Error>(HasSubstr("expected the options \"token\", or")));
  EXPECT_THAT(connect({}),
              ThrowsMessage<Error>(
                  HasSubstr("connecting to 10.0.0.1:7164, which is beyond this machine: expected the options "
                            "\"token\" and \"ca\" for TLS, or \"insecure\"")));
  EXPECT_NO_THROW(listen(server())());
  EXPECT_NO_THROW(listen(insecure)());
  EXPECT_NO_THROW(connect(worker())());
  EXPECT_NO_THROW(connect(insecure)());
}

TEST_F(Security, NamesOptionsAndFilesThatDoNotFit) {
  std::shared_ptr<StreamTransport> transport = openStreamTransport();
  auto isRefused = [&](const std::string &why, void (*change)(StreamOptions &), bool listens = true) {
    StreamOptions options = listens ? server() : worker();
    change(options);
    auto use = [&] {
      if (listens)
        Acceptor(*transport, "127.0.0.1:0", options);
      else
        transport->connect("127.0.0.1:1", std::make_shared<Recorder>(), options);
    };
    EXPECT_THAT(use, ThrowsMessage<Error>(HasSubstr(why)));
  };
  using O = StreamOptions;
  isRefused("found the option \"certificate\" without \"key\"", [](O &o) { o.key = ""; });
  isRefused("found the option \"key\" without \"certificate\"", [](O &o) { o.certificate = ""; });
  isRefused("found the option \"ca\" without \"certificate\"", [](O &o) {
    o.ca = path("ca.pem");
    o.certificate = o.key = "";
  });
  isRefused(
      "found the option \"certificate\" without \"ca\"",
      [](O &o) {
        o.ca = "";
        o.certificate = path("worker.pem");
        o.key = path("worker.key");
      },
      false);
  isRefused("file of the option \"key\": No such file", [](O &o) { o.key = path("nowhere.key"); });
  isRefused("the file of the option \"ca\": No such file", [](O &o) { o.ca = "/nowhere/ca.pem"; }, false);
  isRefused("the option \"certificate\": expected a certificate in PEM",
            [](O &o) { o.certificate = path("text.pem"); });
  isRefused(
      "the file of the option \"ca\": expected a certificate", [](O &o) { o.ca = path("text.pem"); }, false);
  isRefused("the file of the option \"ca\", is empty", [](O &o) { o.ca = path("empty.pem"); }, false);
  isRefused("the option \"key\": expected a private key in PEM without a password",
            [](O &o) { o.key = path("locked.key"); });
  isRefused("is not that of the certificate", [](O &o) { o.key = path("worker.key"); });
  isRefused("the option \"token\" has 4097 bytes, expected at most 4096", [](O &o) { o.token.resize(4097); });
  isRefused("the option \"silence\" is 99 ms, expected at least 100 ms",
            [](O &o) { o.silence = std::chrono::milliseconds(99); });
}
