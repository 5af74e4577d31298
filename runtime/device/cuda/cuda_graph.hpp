// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "runtime/device/cuda/cuda_context.hpp"

namespace lockstep::device {

struct GraphTraits {
    using Raw = cudaGraphExec_t;
    static Raw null() noexcept { return nullptr; }
    static void destroy(Raw raw) noexcept { cudaGraphExecDestroy(raw); }
};

// Work that was captured and is queued as a whole by a single call: the same kernels and copies
// with the same arguments, so whatever is to change has to lie in the device's memory.
class CudaGraph {
public:
    explicit CudaGraph(UniqueHandle<GraphTraits> graph) noexcept : graph_(std::move(graph)) {}
    // Captures what `work` queues. Throws what `work` throws.
    CudaGraph(CudaContext& ctx, const std::function<void()>& work);

    // In order with ctx.stream(). Memory that the work uses is still there when it runs.
    void launch(CudaContext& ctx) const;

private:
    UniqueHandle<GraphTraits> graph_;
};

// While one lives, what is queued on ctx.stream(), and on streams that are ordered behind it and in
// front of it again, is captured and does not run. Calls that wait for the device or allocate its
// memory fail meanwhile, and spoil the capture: the work should have run before, so that scratch
// memory is there, products have their algorithms and kernels are loaded.
class CudaCapture {
public:
    explicit CudaCapture(CudaContext& ctx);
    ~CudaCapture();
    CudaCapture(const CudaCapture&) = delete;
    CudaCapture& operator=(const CudaCapture&) = delete;

    // Ends it. Once.
    CudaGraph finish();

private:
    CudaContext& ctx_;
    bool finished_ = false;
};

}  // namespace lockstep::device
