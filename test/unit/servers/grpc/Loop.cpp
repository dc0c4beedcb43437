// A stream of this process to itself, for test/python/test_streams.py, which has Python's gRPC beside it.
#include "Ends.h"

#include <exception>

using namespace epl::runtime::servers;

/// Sends frames both ways and closes the stream. What went wrong; "" if nothing did.
extern "C" const char *eplStreamLoop() {
  static std::string wrong;
  wrong = "";
  try {
    Pair pair;
    for (uint64_t i = 0; i < 200; ++i) {
      pair.stream->send(frameOf(randomBytes(i, 10), randomBytes(i, 1000 * i)));
      if (pair.other.recorder->next() != Recorder::Came{randomBytes(i, 10), randomBytes(i, 1000 * i)})
        wrong = "frame " + std::to_string(i) + " came as another one, or not";
    }
    pair.other.stream->close();
    if (std::string why = pair.reader->whyClosed().value_or("never"); !why.empty())
      wrong = "closed: " + why;
  } catch (const std::exception &error) {
    wrong = error.what();
  }
  return wrong.c_str();
}
