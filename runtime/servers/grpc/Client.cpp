#include "runtime/servers/grpc/Client.h"

#include "runtime/servers/grpc/Secrets.h"
#include "runtime/servers/grpc/Settings.h"
#include "runtime/servers/grpc/TlsProbe.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

namespace epl::runtime::servers {

/// Between two calls of a server that is not there. gRPC has a pause of its own between attempts to connect.
static constexpr std::chrono::milliseconds kPause(50);
static constexpr std::chrono::milliseconds kProbePause(1000), kProbePatience(300);

static std::shared_ptr<grpc::ChannelCredentials> credentialsOf(const Secrets &secrets) {
  if (!secrets.hasTls())
    return grpc::InsecureChannelCredentials();
  return grpc::SslCredentials({secrets.ca, secrets.key, secrets.certificate});
}

static std::shared_ptr<grpc::Channel> channelTo(const Address &address, const StreamOptions &options) {
  Secrets secrets = readSecrets(options, address, /*listens=*/false);
  grpc::ChannelArguments arguments;
  for (const Settings &settings : {settingsOf(options), settingsOfConnecting()})
    for (auto [name, value] : settings)
      arguments.SetInt(name, value);
  return grpc::CreateCustomChannel("dns:///" + address.str(), credentialsOf(secrets), arguments);
}

Client::Client(std::shared_ptr<Queue> queue, const Address &address, std::shared_ptr<StreamReader> reader,
               const StreamOptions &options)
    : queue(std::move(queue)), address(address), token(options.token), patience(options.connectDeadline),
      hasTls(!options.ca.empty()), stub(channelTo(address, options)) {
  delivery.setReader(std::move(reader));
}

static auto self(std::shared_ptr<End> end) { return std::static_pointer_cast<Client>(end); }

void Client::begin() {
  deadline.Set(queue->completions(), std::chrono::system_clock::now() + patience,
               tagOf([self = self(shared_from_this())](bool ok) { self->deadlineIsOver(ok); }));
  call();
}

void Client::call() {
  {
    std::lock_guard lock(mutex);
    stream.reset(); // it lies in the memory of the call, which the context has
    context = std::make_shared<grpc::ClientContext>();
    if (!token.empty())
      context->AddMetadata(kTokenKey, token);
    stream = stub.PrepareCall(context.get(), kMethod, queue->completions());
  }
  if (isLate || isBroken()) // since before the context was there
    cancelCall();
  stream->StartCall(tagOf([self = self(shared_from_this())](bool ok) { self->started(ok); }));
}

void Client::started(bool ok) {
  if (!ok)
    return askStatus();
  stream->ReadInitialMetadata(tagOf([self = self(shared_from_this())](bool ok) { self->answered(ok); }));
}

/// A server that takes the stream says so.
void Client::answered(bool ok) {
  if (!ok || !context->GetServerInitialMetadata().contains(kAcceptedKey) || !connect())
    return askStatus();
  deadline.Cancel();
  open(*stream, *stream);
  if (isBroken()) // between the two calls
    cancelCall();
}

/// False if the deadline was faster.
bool Client::connect() {
  std::lock_guard lock(mutex);
  isConnected = !isLate;
  return isConnected;
}

/// gRPC has no code for that. What is wrong with a certificate, or no TLS at all, stays so.
static bool hasFailedTls(const grpc::Status &status) {
  return status.error_message().find("Ssl handshake failed: SSL_ERROR_SSL") != std::string::npos ||
         status.error_message().find("is not in peer certificate") != std::string::npos;
}

void Client::askStatus() {
  stream->Finish(&status, tagOf([self = self(shared_from_this())](bool) { self->refused(); }));
}

/// Whether somebody takes connections and ends them. gRPC has no code for that, either.
static bool isCutOff(const std::string &absence) {
  return absence.find("Socket closed") != std::string::npos ||
         absence.find("Connection reset by peer") != std::string::npos;
}

/// Plaintext to TLS looks like a proxy whose server is not up yet, of which only one is worth waiting for.
/// Asked once in a while: it holds a thread.
bool Client::wantsTls() {
  auto now = std::chrono::steady_clock::now();
  if (hasTls || !isCutOff(absence) || now < nextProbe)
    return false;
  nextProbe = now + kProbePause;
  return answersByTls(address, kProbePatience);
}

void Client::refused() {
  bool isAbsent = status.error_code() == grpc::StatusCode::UNAVAILABLE && !hasFailedTls(status);
  if (isAbsent) {
    absence = status.error_message();
    lacksTls = wantsTls();
  }
  if (!isAbsent || lacksTls || isLate || isBroken())
    return end();
  pause.Set(queue->completions(), std::chrono::system_clock::now() + kPause,
            tagOf([self = self(shared_from_this())](bool) {
              if (self->isLate || self->isBroken())
                self->end();
              else
                self->call();
            }));
}

void Client::deadlineIsOver(bool isOver) {
  {
    std::lock_guard lock(mutex);
    isLate = isOver && !isConnected;
  }
  if (isLate)
    cancelCall();
}

void Client::end() {
  deadline.Cancel();
  over();
}

void Client::finishCall(const grpc::Status &) {
  stream->Finish(&status, tagOf([self = self(shared_from_this())](bool) { self->end(); }));
}

void Client::cancelCall() noexcept {
  std::shared_ptr<grpc::ClientContext> current;
  {
    std::lock_guard lock(mutex);
    current = context;
  }
  if (current)
    current->TryCancel();
}

/// What may be wrong where a server takes a connection by TLS and ends it, time after time.
static std::string hintOf(const std::string &absence, bool hasTls) {
  if (!hasTls || !isCutOff(absence))
    return "";
  return "; it may expect a certificate, for which there are the options \"certificate\" and \"key\"";
}

/// What the other end has instead of TLS that fits, from gRPC's words.
static std::string foundOf(const std::string &message) {
  if (message.find("wrong version number") != std::string::npos)
    return "no TLS: " + message;
  return "another one: " + message;
}

Ending Client::howBroken() const {
  const std::string &message = status.error_message();
  if (isLate)
    return {"no server answered at " + peer() + " within " + std::to_string(patience.count()) +
            " ms: " + (absence.empty() ? "connecting has not ended" : absence + hintOf(absence, hasTls))};
  if (lacksTls)
    return {"the server at " + peer() + " expects TLS, for which there is the option \"ca\", found plaintext",
            /*isFinal=*/true};
  if (hasFailedTls(status))
    return {"no TLS with " + peer() + ": expected a certificate for \"" + address.host +
                "\" of the authority in the option \"ca\", found " + foundOf(message),
            /*isFinal=*/true};
  switch (status.error_code()) {
  case grpc::StatusCode::OK:
    return {"the server at " + peer() + " ended the stream before its end"};
  case grpc::StatusCode::UNIMPLEMENTED:
    return {"at " + peer() + " is no server of EPL: " + message, /*isFinal=*/true};
  case grpc::StatusCode::UNAUTHENTICATED:
    return {"the server at " + peer() + " refused the stream: " + message, /*isFinal=*/true};
  case grpc::StatusCode::PERMISSION_DENIED:
    return {"the server at " + peer() + " refused the stream: " + message};
  case grpc::StatusCode::CANCELLED:
    return {"the server at " + peer() + " cancelled the stream"};
  case grpc::StatusCode::INVALID_ARGUMENT:
    return {"the server at " + peer() + " ended the stream: " + message};
  default:
    return {"the connection to " + peer() + " was lost: " + message};
  }
}

} // namespace epl::runtime::servers
