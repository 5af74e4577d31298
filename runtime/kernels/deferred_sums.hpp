// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device/contexts.hpp"

namespace lockstep::kernels {

// Delays gradients that are sums over rows (a norm's dgamma, dbeta and dbias, a bias's db): while
// an object exists, finish() adds what backward has calculated for them. On a GPU such a sum ends
// in a separate small kernel; finish() runs one kernel for all that wait. A context has at most one
// object at a time. Sums that are not finished when the object ends are lost.
template <class Ctx>
class DeferredSums {  // on the CPU sums are never delayed
public:
    static constexpr int max_blocks = 1;  // number of layers after which to call finish()

    explicit DeferredSums(Ctx&) {}
    void finish() {}
};

template <>
class DeferredSums<device::CudaContext> {
public:
    static constexpr int max_blocks = 4;  // number of layers whose sums one launch can finish

    explicit DeferredSums(device::CudaContext& ctx);
    ~DeferredSums();
    DeferredSums(const DeferredSums&) = delete;
    DeferredSums& operator=(const DeferredSums&) = delete;

    void finish();

private:
    device::CudaContext& ctx_;
};

}  // namespace lockstep::kernels
