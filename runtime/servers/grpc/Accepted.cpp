#include "runtime/servers/grpc/Accepted.h"

#include "runtime/servers/grpc/Handle.h"
#include "runtime/servers/grpc/Secrets.h"

namespace epl::runtime::servers {

static auto self(std::shared_ptr<End> end) { return std::static_pointer_cast<Accepted>(end); }

/// "ipv4:127.0.0.1:50000", "ipv6:%5B::1%5D:50000".
static std::string addressOf(const grpc::ServerContext &context) {
  std::string text = context.peer();
  text = text.substr(text.find(':') + 1);
  for (auto [code, character] : {std::pair("%5B", "["), std::pair("%5D", "]")})
    if (size_t at = text.find(code); at != std::string::npos)
      text.replace(at, 3, character);
  return text;
}

void Accepted::awaitNext(const std::shared_ptr<Server> &server) {
  auto next = std::make_shared<Accepted>(server);
  if (!server->queue->enter(next))
    return;
  server->service.RequestCall(&next->context, &next->stream, server->completions, server->completions,
                              tagOf([next](bool ok) { next->came(ok); }));
}

void Accepted::came(bool ok) {
  if (!ok) // the server ends
    return leave();
  awaitNext(server);
  client = addressOf(context);
  if (grpc::Status status = check(); !status.ok())
    return refuse(status);
  context.AddInitialMetadata(kAcceptedKey, "1");
  stream.SendInitialMetadata(tagOf([self = self(shared_from_this())](bool ok) {
    if (!ok)
      self->over();
    else if (self->isBroken())
      self->refuse({grpc::StatusCode::UNAVAILABLE, "the server ends"});
    else
      self->accept();
  }));
}

/// Whether the stream is one of ours, from who has the token.
grpc::Status Accepted::check() const {
  if (context.method() != kMethod)
    return {grpc::StatusCode::UNIMPLEMENTED,
            "expected the method " + std::string(kMethod) + ", found " + context.method()};
  if (server->token.empty())
    return grpc::Status::OK;
  auto found = context.client_metadata().find(kTokenKey);
  if (found == context.client_metadata().end())
    return {grpc::StatusCode::UNAUTHENTICATED, "expected the token of the server, found none"};
  if (!isEqualSecret({found->second.data(), found->second.size()}, server->token))
    return {grpc::StatusCode::UNAUTHENTICATED, "expected the token of the server, found another one"};
  return grpc::Status::OK;
}

void Accepted::refuse(const grpc::Status &status) {
  stream.Finish(status, tagOf([self = self(shared_from_this())](bool) { self->over(); }));
}

void Accepted::accept() {
  std::string why = "nobody reads it";
  try {
    if (std::shared_ptr<StreamReader> reader = server->accept(std::make_unique<Handle>(shared_from_this()))) {
      delivery.setReader(std::move(reader));
      if (!isBroken())
        return begin();
      why = "it was cancelled";
    }
  } catch (const std::exception &error) {
    why = error.what();
  }
  refuse({grpc::StatusCode::PERMISSION_DENIED, why});
}

void Accepted::begin() {
  isOpen = true;
  open(stream, stream);
  if (isBroken()) // since before it was open
    cancelCall();
}

void Accepted::finishCall(const grpc::Status &status) {
  stream.Finish(status, tagOf([self = self(shared_from_this())](bool) { self->over(); }));
}

/// Before that, in `accept`, the call is refused.
void Accepted::cancelCall() noexcept {
  if (isOpen)
    context.TryCancel();
}

Ending Accepted::howBroken() const {
  return {"the stream with " + peer() +
          " broke: the peer cancelled it or ended, the connection was lost, or nothing came for " +
          std::to_string(server->silence.count()) + " ms"};
}

} // namespace epl::runtime::servers
