// What commands take on GPUs, by an analytic model.
//
// A command's kernels begin, and then work until the slowest of what they use is done: a roofline (S.
// Williams, A. Waterman, D. Patterson, "Roofline", 2009), with what a launch and a link cost beside it.
//
//   time = launches * launch_ns + max(memory, parallelism, compute, link)
//
//   memory       ranks * bytes / bandwidth. Of kernels and products the bytes are those of all sectors of 32
//                bytes that the command's accesses touch (model/Access.h), of all else those of model/Cost.h
//   parallelism  bytes * latency of memory / (threads * 32): a thread has two accesses of 16 bytes on their
//                way, as the fast forms have (docs/design.md, "Code for GPUs"); of kernels with few threads
//                (Little's law)
//   compute      ranks * flops / rate: of products and convolutions that of their type, f16 and bf16 in
//   tensor
//                cores, f32 in CUDA cores; of other kernels that of f32, or a multiply-add in each cycle of a
//                thread, if few. Attention is one call: its last command multiplies for both products,
//                without the softmax between them, and the others take no time; its gradient another one, of
//                five products
//   link         latency + ranks * received bytes / bandwidth, where members are on several cards, of what
//                comes from other cards. Where each member has a card of its own an all-reduce is one call of
//                NCCL: its first half takes the time of both, its second none. Of copies of slots in memory
//                of the host: ranks * bytes / bandwidth from and to the host
//
// `ranks` are the virtual devices of a card: all do the same at a time, and share it. A kernel has a launch
// for each phase; launches of a list (model/LaunchLists.h) are the last one's. What one member of several
// does (an owner's work) is shared among them, as in model/Cost.h.
//
// Left out: caches, so what a command reads soon after another has written it is faster; instructions that
// are no arithmetic, among them those of sorts and scatters; the shape of products, which reach the rate only
// when they are large; that a link's latency grows with its members; what other lanes and meshes do on the
// card at the time; and what factorizations take, by a library or the host: no time at all.

#ifndef EPL_RUNTIME_PLAN_SIMULATE_CARDTIMES_H
#define EPL_RUNTIME_PLAN_SIMULATE_CARDTIMES_H

#include "runtime/machine/Machine.h"
#include "runtime/plan/format/plan_generated.h"

#include <string>
#include <vector>

namespace epl::runtime {

/// What a command's time is the time of, for most of it. `factorization`: it is not known.
enum class Limit : uint8_t { memory, parallelism, compute, link, launch, factorization };

const char *limitName(Limit limit);    // memory
const char *limitMeaning(Limit limit); // "bytes of the card's memory"

struct CommandTime {
  double nanoseconds = 0;      // all of it
  double launch = 0;           // of it, until its kernels begin
  double compute = 0;          // what its arithmetic takes at the peak
  Limit work = Limit::memory;  // what the rest is the time of
  Limit limit = Limit::launch; // the longer of both
};

/// How commands are enqueued: as a graph, which has a launch for each list, or one by one, as in a timeline.
enum class Enqueued : uint8_t { asGraph, oneByOne };

/// What each command of each part of a plan for GPUs takes. Needs a verified plan. `devices`: what it runs
/// on, as many as it is for; empty: what its layout names. Throws Error if they are no such devices.
std::vector<std::vector<CommandTime>> timesOnCards(const plan::PlanT &plan, const machine::Machine &gpu,
                                                   Enqueued enqueued, const std::string &devices = "");

} // namespace epl::runtime

#endif // EPL_RUNTIME_PLAN_SIMULATE_CARDTIMES_H
