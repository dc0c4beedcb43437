#include "runtime/servers/grpc/Address.h"

#include "runtime/Error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace epl::runtime;
using namespace epl::runtime::servers;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Address, IsReadAndWritten) {
  for (const char *text : {"127.0.0.1:7164", "[::1]:80", "localhost:65535", "node-3.cluster_a:1"}) {
    EXPECT_EQ(Address::parse(text, false).str(), text);
    EXPECT_EQ(Address::parse(text, true).str(), text);
  }
  EXPECT_EQ(Address::parse("[fe80::2]:80", false).host, "fe80::2");
  EXPECT_EQ(Address::parse("0.0.0.0:0", true).port, 0);
}

TEST(Address, SaysWhatIsWrongWithIt) {
  auto isRefused = [](const std::string &text, const std::string &why, bool listens = false) {
    EXPECT_THAT(
        [&] { Address::parse(text, listens); },
        ThrowsMessage<Error>(AllOf(HasSubstr("the address \"" + text + "\": expected"), HasSubstr(why))))
        << text;
  };
  isRefused("", "found no port");
  isRefused("localhost", "found no port");
  for (const char *port : {"", "x", "-1", "65536", "80x", " 80", "0x50", "99999999999"})
    isRefused("localhost:" + std::string(port),
              "a port from 1 to 65535, found \"" + std::string(port) + "\"");
  isRefused("localhost:0", "a port from 1 to 65535");
  isRefused("localhost:65536", "a port from 0 to 65535", true);
  for (const char *host : {"", "256.1.1.1", "10.0.0", "::1", "[::1", "[]", "[localhost]", "[10.0.0.1]",
                           "dns:///a", "a b", "http://a", "a/b"})
    isRefused(std::string(host) + ":80", "found \"" + std::string(host) + "\"");
}

TEST(Address, KnowsWhoReachesIt) {
  for (const char *text : {"127.0.0.1:1", "127.1.2.3:1", "localhost:1", "[::1]:1"})
    EXPECT_TRUE(Address::parse(text, false).isLoopback()) << text;
  for (const char *text : {"0.0.0.0:1", "10.0.0.1:1", "[::]:1", "127.evil.example:1", "localhost.example:1"})
    EXPECT_FALSE(Address::parse(text, false).isLoopback()) << text;
}

TEST(Address, CannotBeThatOfAnotherMachine) {
  auto listen = [](const char *text) { return [=] { checkCanListen(Address::parse(text, true)); }; };
  EXPECT_NO_THROW(listen("127.0.0.1:0")());
  EXPECT_THAT(listen("192.0.2.1:0"), ThrowsMessage<Error>(HasSubstr(
                                         "cannot listen at 192.0.2.1:0: Cannot assign requested address")));
  EXPECT_THAT(listen("no-such-host.invalid:0"),
              ThrowsMessage<Error>(HasSubstr("cannot listen at no-such-host.invalid:0: ")));
}
