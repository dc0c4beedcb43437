// States and results in Python, and the memory that arrays show of them.

#include "runtime/binding/Arrays.h"
#include "runtime/binding/Bindings.h"
#include "runtime/binding/Dlpack.h"
#include "runtime/binding/Waiting.h"
#include "runtime/session/Session.h"

namespace epl::runtime::binding {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

nb::tuple shapeOf(const TensorType &type) { return tupleOf(type.shape); }

nb::object shardingOf(const StateBuffer &self) {
  if (!self.sharding())
    return nb::none();
  std::vector<nb::tuple> dims;
  for (const std::vector<std::string> &axes : self.sharding()->dims)
    dims.push_back(tupleOf(axes));
  return nb::make_tuple(tupleOf(self.sharding()->axes), tupleOf(self.sharding()->shape), tupleOf(dims),
                        tupleOf(self.sharding()->owner));
}

/// An array over a box in the memory of a device; bf16 comes as uint16.
nb::object arrayOf(const Shard &shard, const TensorType &type, const std::shared_ptr<const void> &owner,
                   bool writable) {
  std::vector<size_t> shape;
  std::vector<int64_t> strides;
  for (const Box::Range &range : shard.box.dims) {
    shape.push_back(range.extent);
    strides.push_back(int64_t(range.stride / elementBytes(type.element)));
  }
  return toNumpy(shard.data, shape, strides, type.element, owner, writable);
}

nb::tuple boundsOf(const Box &box) {
  std::vector<std::pair<size_t, size_t>> bounds;
  bounds.reserve(box.dims.size());
  for (const Box::Range &range : box.dims)
    bounds.emplace_back(range.begin, range.begin + range.extent);
  return tupleOf(bounds);
}

/// (device, ((begin, end) of each dimension), array, number of devices before that have it) of all that is
/// here.
nb::list shardsOf(const StateBuffer &self, bool writable) {
  auto [shards, owner] = [&] {
    nb::gil_scoped_release unlocked; // devices may have memory of their own, which is copied
    return writable ? self.draft() : self.shards();
  }();
  nb::list list;
  for (const Shard &shard : shards)
    list.append(nb::make_tuple(shard.device, boundsOf(shard.box),
                               arrayOf(shard, self.type(), owner, writable), shard.copy));
  return list;
}

/// (process, ((begin, end) of each dimension)) of what all devices have.
nb::list allShardsOf(const StateBuffer &self) {
  nb::list list;
  for (const Shard &shard : self.allShards())
    list.append(nb::make_tuple(self.processOf(shard.device), boundsOf(shard.box)));
  return list;
}

/// (device, card or None, process) of each device that has some of it.
nb::list holdersOf(const StateBuffer &self) {
  nb::list list;
  for (const Holder &holder : self.holders())
    list.append(nb::make_tuple(holder.device, holder.card, self.processOf(holder.device)));
  return list;
}

/// (device, ((begin, end) of each dimension), number of devices before that have it) of all that is here, on
/// devices with memory of their own.
nb::list blocksOf(const StateBuffer &self) {
  nb::list list;
  for (const Shard &shard : self.blocks())
    list.append(nb::make_tuple(shard.device, boundsOf(shard.box), shard.copy));
  return list;
}

nb::object dlpackOf(StateBuffer &self, size_t block, uint8_t code, bool isVersioned, bool isCopy) {
  self.use();
  waitFor(self.producer());
  Shard shard = self.blocks().at(block);
  std::vector<Holder> holders = self.holders();
  auto holder = std::ranges::find(holders, shard.device, &Holder::device);
  return makeDlpack(shard, self.type(), holder->card.value(), self.lend(), {code, isVersioned, isCopy});
}

} // namespace

/// A new value, and where its elements are to be written.
nb::tuple toBeWritten(const std::shared_ptr<StateBuffer> &state) {
  return nb::make_tuple(state, shardsOf(*state, /*writable=*/true));
}

void bindResults(nb::module_ &module) {
  nb::class_<Call>(module, "Call", "A step that is queued, running or done.")
      .def(
          "wait", [](const std::shared_ptr<Call> &self) { waitFor(self); },
          "Waits for the end; raises the step's error.")
      .def_prop_ro("done", &Call::done)
      .def_prop_ro("index", &Call::index, "The number of the call in its session, from 1.");
  nb::class_<StateBuffer>(module, "StateBuffer", "The value of a state, on the devices.")
      .def_prop_ro("shape", [](const StateBuffer &self) { return shapeOf(self.type()); })
      .def_prop_ro("dtype", [](const StateBuffer &self) { return elementName(self.type().element); })
      .def_prop_ro(
          "nbytes", [](const StateBuffer &self) { return self.type().bytes(); }, "Of one copy.")
      .def_prop_ro(
          "sharding", &shardingOf,
          "How the devices of its mesh hold it: the axes with their sizes, the shape that is split, the axes "
          "that split each dimension, and, of a state that some devices have alone, their coordinates on "
          "axes. "
          "None if the state is on one of several meshes.")
      .def_prop_ro("is_donated", &StateBuffer::isDonated, "Whether a call has consumed the value.")
      .def_prop_ro(
          "is_ready", [](const StateBuffer &self) { return !self.producer() || self.producer()->done(); },
          "Whether the call that makes the value has ended.")
      .def(
          "wait",
          [](StateBuffer &self) {
            self.use();
            waitFor(self.producer());
          },
          "Waits for the call that makes the value; raises its error.")
      .def(
          "numpy",
          [](StateBuffer &self) {
            self.use();
            waitFor(self.producer());
            return toNumpy(self.toHost(), false);
          },
          "The value, read-only: a view where the devices hold whole copies.")
      .def(
          "shards",
          [](StateBuffer &self) {
            self.use();
            waitFor(self.producer());
            return shardsOf(self, /*writable=*/false);
          },
          "What is in this process, box by box: (device, ((begin, end), ...), array, how many devices "
          "before\n"
          "have it). Arrays are read-only views.")
      .def("all_shards", &allShardsOf,
           "What all devices have, wherever they are: (process, ((begin, end), ...)). Does not wait.")
      .def("holders", &holdersOf,
           "All devices that have some of it, wherever they are: (device, card or None, process); a card is "
           "the\n"
           "driver's number, None of CPU devices and those of other processes. Does not wait.")
      .def(
          "blocks", &blocksOf,
          "What is in this process, of devices with memory of their own, box by box: (device, ((begin, end), "
          "...),\n"
          "how many devices before have it). Does not wait.")
      .def("dlpack", &dlpackOf, "block"_a, "code"_a, "versioned"_a, "copied"_a,
           "A capsule of DLPack of the block of that number on its card, after waiting: `code` of the "
           "elements' "
           "type,\n"
           "of version 1.0 or the structure before, `copied` if nobody else has the value's memory.")
      .def("view", &StateBuffer::view,
           "The same value, whose memory no step writes in place while this one lives. Does not wait.")
      .def("snapshot", &StateBuffer::snapshot,
           "The same value for somebody who reads it later: steps that consume this one leave it. Does not "
           "wait,\n"
           "and copies nothing.")
      .def(
          "new_alike", [](const StateBuffer &self) { return toBeWritten(self.makeAlike()); },
          "As Session.new_state, of the same kind.")
      .def_prop_ro("is_divided", &StateBuffer::isDivided,
                   "Whether other processes have parts or copies of it.")
      .def_prop_ro("is_here", &StateBuffer::isHere, "Whether all of it is in this process.")
      .def("delete", &StateBuffer::remove, "Lets go of the memory; the value cannot be used afterwards.")
      .def_prop_ro("is_deleted", &StateBuffer::isGone, "Whether it was deleted, or a call has consumed it.")
      .def(
          "copy",
          [](StateBuffer &self) {
            self.use();
            waitFor(self.producer());
            return self.copy();
          },
          "A copy on the same devices.");
  nb::class_<HostResult>(module, "HostResult", "A result that updates no state.")
      .def_prop_ro("shape", [](const HostResult &self) { return shapeOf(self.type()); })
      .def_prop_ro("dtype", [](const HostResult &self) { return elementName(self.type().element); })
      .def(
          "wait", [](HostResult &self) { waitFor(self.producer()); },
          "Waits for the call that makes the value; raises its error.")
      .def(
          "numpy",
          [](HostResult &self) {
            waitFor(self.producer());
            return toNumpy(self.get(), true);
          },
          "The value.");
}

} // namespace epl::runtime::binding
