#include "runtime/device/cuda/cudnn/Graph.h"

#include <algorithm>
#include <array>

namespace epl::runtime::cuda::dnn {

// Memory that the library may work in: what gradients of usual layers take, and no more than a plan leaves
// room for.
static constexpr int64_t kMostWorkspace = int64_t(64) << 20;

bool Graph::plan(bool takesNarrow, int64_t workspaceBytes) {
  mostWorkspace = std::max(kMostWorkspace, workspaceBytes);
  OwnDescriptor &graph = add(Kind::operationGraph);
  graph.set(Attribute::graphHandle, ValueType::handle, handle)
      .set(Attribute::graphOperations, ValueType::descriptor, std::span<const Descriptor>(operations));
  bool isWhole = std::ranges::all_of(
      parts, [](const std::unique_ptr<OwnDescriptor> &part) { return part->state() == Status::success; });
  return isWhole && graph.finish() &&
         (choose(graph, HeuristicsMode::likely, takesNarrow) ||
          choose(graph, HeuristicsMode::fallback, takesNarrow));
}

/// Takes the first engine that computes what the plan means.
bool Graph::choose(const OwnDescriptor &graph, HeuristicsMode mode, bool takesNarrow) {
  OwnDescriptor &heuristics = add(Kind::heuristics);
  heuristics.set(Attribute::heuristicsGraph, graph)
      .set(Attribute::heuristicsMode, ValueType::heuristicsMode, mode);
  int64_t count = 0;
  auto ask = [&](int64_t asked, void *into) {
    return api.cudnnBackendGetAttribute(heuristics.get(), Attribute::heuristicsResults, ValueType::descriptor,
                                        asked, &count, into) == Status::success;
  };
  if (!heuristics.finish() || !ask(0, nullptr))
    return false;
  std::vector<OwnDescriptor *> choices;
  std::vector<Descriptor> raw;
  for (int64_t i = 0; i < count; ++i) {
    choices.push_back(&add(Kind::engineChoice));
    raw.push_back(choices.back()->get());
  }
  if (!ask(count, static_cast<void *>(raw.data())))
    return false;
  choices.resize(size_t(std::min<int64_t>(count, int64_t(choices.size()))));
  return std::ranges::any_of(choices, [&](const OwnDescriptor *choice) {
    return isAccurate(*choice, takesNarrow) && takeChoice(*choice);
  });
}

/// Whether an engine adds products of whole operands in the type of sums, always in one order.
bool Graph::isAccurate(const OwnDescriptor &choice, bool takesNarrow) const {
  using Note = NumericalNote;
  OwnDescriptor engine(api, Kind::engine);
  Descriptor raw = engine.get();
  int64_t count = 0;
  std::array<Note, 32> notes{};
  bool isKnown = api.cudnnBackendGetAttribute(choice.get(), Attribute::choiceEngine, ValueType::descriptor, 1,
                                              &count, static_cast<void *>(&raw)) == Status::success &&
                 api.cudnnBackendGetAttribute(raw, Attribute::engineNotes, ValueType::numericalNote,
                                              notes.size(), &count, notes.data()) == Status::success;
  auto found = std::span(notes).first(isKnown ? size_t(std::min<int64_t>(count, notes.size())) : 0);
  return isKnown && std::ranges::none_of(found, [&](Note note) {
           return note == Note::narrowsInputs || note == Note::narrowsSums || note == Note::fft ||
                  note == Note::nondeterministic || note == Note::winograd13 ||
                  (note == Note::tensorCore && !takesNarrow);
         });
}

bool Graph::takeChoice(const OwnDescriptor &choice) {
  OwnDescriptor made(api, Kind::executionPlan);
  made.set(Attribute::planHandle, ValueType::handle, handle).set(Attribute::planChoice, choice);
  int64_t bytes = 0, count = 0;
  if (!made.finish() ||
      api.cudnnBackendGetAttribute(made.get(), Attribute::planWorkspace, ValueType::int64, 1, &count,
                                   &bytes) != Status::success ||
      bytes > mostWorkspace)
    return false;
  chosen.emplace(std::move(made));
  workspace = bytes;
  return true;
}

} // namespace epl::runtime::cuda::dnn
