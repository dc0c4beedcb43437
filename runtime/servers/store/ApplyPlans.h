// The plans that update a server's blocks, checked against the manifest.
#ifndef EPL_RUNTIME_SERVERS_STORE_APPLYPLANS_H
#define EPL_RUNTIME_SERVERS_STORE_APPLYPLANS_H

#include "runtime/servers/model/Manifest.h"
#include "runtime/servers/store/UpdatePlan.h"

namespace epl::runtime::servers {

/// The plans of a manifest, as a server has them: those of its blocks and tables.
class ApplyPlans {
public:
  /// `manifest` is valid and outlives this.
  ApplyPlans(const manifest::ManifestT &manifest, uint32_t server);

  /// Which plans the server needs, ascending.
  const std::vector<uint32_t> &needed() const { return ids; }

  /// Reads a plan file and verifies it. Throws Error if the bytes are not those of the manifest's hash, or if
  /// the plan is not what the manifest says: a step of one CPU device that updates a parameter, and nothing
  /// else but its states.
  void set(uint32_t plan, std::span<const uint8_t> bytes);

  bool isComplete() const;
  /// A plan that was set. Refers to the manifest.
  UpdatePlan get(uint32_t plan) const {
    return {plans[plan], manifest.plans[plan]->arguments, results[plan]};
  }

private:
  void check(uint32_t plan, const plan::PlanT &read) const;
  template <typename Expected>
  void checkUse(uint32_t plan, const plan::PlanT &read, const std::string &user,
                const Expected &expected) const;

  const manifest::ManifestT &manifest;
  BlockTable blocks;
  std::vector<uint32_t> own; // blocks of the server
  std::vector<uint32_t> ids;
  std::vector<std::shared_ptr<const plan::PlanT>> plans; // null: not set
  std::vector<std::vector<int32_t>> results;
};

} // namespace epl::runtime::servers

#endif // EPL_RUNTIME_SERVERS_STORE_APPLYPLANS_H
