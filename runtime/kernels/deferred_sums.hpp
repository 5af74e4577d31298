// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device/contexts.hpp"

namespace lockstep::kernels {

// While one lives, gradients that are sums over rows (a norm's dgamma, dbeta and dbias, a bias's
// db) have what backward adds to them only after finish(). On a GPU such a sum ends in a small
// kernel of its own; those that wait become one. At most one lives in a context; what has not been
// finished when it ends is lost.
template <class Ctx>
class DeferredSums {  // where sums end at once
public:
    static constexpr int max_blocks = 1;  // layers after which finish() is due

    explicit DeferredSums(Ctx&) {}
    void finish() {}
};

template <>
class DeferredSums<device::CudaContext> {
public:
    static constexpr int max_blocks = 4;  // layers whose sums one launch takes

    explicit DeferredSums(device::CudaContext& ctx);
    ~DeferredSums();
    DeferredSums(const DeferredSums&) = delete;
    DeferredSums& operator=(const DeferredSums&) = delete;

    void finish();

private:
    device::CudaContext& ctx_;
};

}  // namespace lockstep::kernels
