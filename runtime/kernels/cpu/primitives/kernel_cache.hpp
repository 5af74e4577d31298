// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <typeindex>
#include <unordered_map>

#include "runtime/device/cpu_context.hpp"

namespace lockstep::kernels {

// Objects that the kernels keep in a CpuContext between calls, at most one of each type. Thus the
// primitives of the products and the scratch of attention do not depend on each other.
class KernelCaches final : public device::CpuContext::KernelCache {
public:
    template <class Cache>
    Cache& of() {
        std::shared_ptr<void>& slot = caches_[typeid(Cache)];
        if (!slot) slot = std::make_shared<Cache>();
        return *static_cast<Cache*>(slot.get());
    }

private:
    std::unordered_map<std::type_index, std::shared_ptr<void>> caches_;
};

// Returns the context's object of type Cache, which is default-constructed at its first use.
template <class Cache>
Cache& cached(device::CpuContext& ctx) {
    return ctx.cache<KernelCaches>().of<Cache>();
}

}  // namespace lockstep::kernels
