#include "runtime/servers/grpc/Secrets.h"

#include "runtime/Error.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

namespace epl::runtime::servers {

/// Less than gRPC takes as metadata.
static constexpr size_t kMaxToken = 4096;

namespace {

template <auto Free> struct FreeWith {
  template <typename T> void operator()(T *object) const { Free(object); }
};
using Certificate = std::unique_ptr<X509, FreeWith<X509_free>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY_free>>;
using Memory = std::unique_ptr<BIO, FreeWith<BIO_free>>;

/// Where options are missing, for messages.
struct Place {
  std::string verb;
  const Address &address;

  std::string str() const { return verb + " " + address.str(); }
};

} // namespace

static std::string readFile(const std::string &option, const std::string &path) {
  if (path.empty())
    return {};
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file)
    throw Error("cannot read \"" + path + "\", the file of the option \"" + option +
                "\": " + std::strerror(errno));
  if (text.empty())
    throw Error("\"" + path + "\", the file of the option \"" + option + "\", is empty");
  return text;
}

static Memory memoryOf(const std::string &text) {
  return Memory(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

static Certificate parseCertificate(const std::string &option, const std::string &path,
                                    const std::string &text) {
  Certificate certificate(PEM_read_bio_X509(memoryOf(text).get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  if (!certificate)
    throw Error("\"" + path + "\", the file of the option \"" + option + "\": expected a certificate in PEM");
  return certificate;
}

/// A key with a password is none: nobody is asked for it.
static PrivateKey parseKey(const std::string &path, const std::string &text) {
  pem_password_cb *noPassword = [](char *, int, int, void *) { return -1; };
  PrivateKey key(PEM_read_bio_PrivateKey(memoryOf(text).get(), nullptr, noPassword, nullptr));
  ERR_clear_error();
  if (!key)
    throw Error("\"" + path +
                "\", the file of the option \"key\": expected a private key in PEM without a password");
  return key;
}

static void checkFiles(const StreamOptions &options, const Secrets &secrets) {
  if (!secrets.ca.empty())
    parseCertificate("ca", options.ca, secrets.ca);
  if (secrets.certificate.empty())
    return;
  Certificate certificate = parseCertificate("certificate", options.certificate, secrets.certificate);
  PrivateKey key = parseKey(options.key, secrets.key);
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    ERR_clear_error();
    throw Error("the key \"" + options.key + "\" is not that of the certificate \"" + options.certificate +
                "\"");
  }
}

/// Files that are of use only together.
static void checkPairs(const StreamOptions &options, const Place &place, bool listens) {
  auto lacks = [&](const char *missing, const char *given) {
    return Error(place.str() + ": found the option \"" + given + "\" without \"" + missing + "\"");
  };
  if (options.certificate.empty() != options.key.empty())
    throw options.key.empty() ? lacks("key", "certificate") : lacks("certificate", "key");
  if (listens && !options.ca.empty() && options.certificate.empty())
    throw lacks("certificate", "ca");
  if (!listens && options.ca.empty() && !options.certificate.empty())
    throw lacks("ca", "certificate");
}

static void checkBeyondLoopback(const StreamOptions &options, const Place &place, bool listens) {
  if (options.insecure || place.address.isLoopback())
    return;
  std::string missing = options.token.empty() ? "\"token\"" : "";
  if (const std::string &file = listens ? options.certificate : options.ca; file.empty())
    missing +=
        std::string(missing.empty() ? "" : " and ") + (listens ? "\"certificate\"" : "\"ca\"") + " for TLS";
  if (!missing.empty())
    throw Error(place.str() + ", which is beyond this machine: expected the options " + missing +
                ", or \"insecure\", which lets whoever reaches it in");
}

Secrets readSecrets(const StreamOptions &options, const Address &address, bool listens) {
  Place place = {listens ? "listening at" : "connecting to", address};
  if (options.token.size() > kMaxToken)
    throw Error(place.str() + ": the option \"token\" has " + std::to_string(options.token.size()) +
                " bytes, expected at most " + std::to_string(kMaxToken));
  checkPairs(options, place, listens);
  checkBeyondLoopback(options, place, listens);
  Secrets secrets = {options.token, readFile("ca", options.ca), readFile("certificate", options.certificate),
                     readFile("key", options.key)};
  checkFiles(options, secrets);
  return secrets;
}

/// How long a token is is no secret.
bool isEqualSecret(const std::string &found, const std::string &expected) {
  return found.size() == expected.size() && CRYPTO_memcmp(found.data(), expected.data(), found.size()) == 0;
}

} // namespace epl::runtime::servers
