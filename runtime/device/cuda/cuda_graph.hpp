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

// Holds captured work, which one call queues as a whole. It repeats the same kernels and copies
// with the same arguments, so data that changes must be in the device's memory.
class CudaGraph {
public:
    explicit CudaGraph(UniqueHandle<GraphTraits> graph) noexcept : graph_(std::move(graph)) {}
    // Captures the calls of `work`. Throws what `work` throws.
    CudaGraph(CudaContext& ctx, const std::function<void()>& work);

    // Queues the graph on ctx.stream(). The memory that the work uses must still exist when it
    // runs.
    void launch(CudaContext& ctx) const;

private:
    UniqueHandle<GraphTraits> graph_;
};

// Captures, during its lifetime, all work queued on ctx.stream() and on streams that are ordered
// after it and before it again; that work does not run. Calls that wait for the device or allocate
// its memory fail meanwhile and spoil the capture. The work should therefore have run once before,
// so that scratch memory exists, matrix products have their algorithms and kernels are loaded.
class CudaCapture {
public:
    explicit CudaCapture(CudaContext& ctx);
    ~CudaCapture();
    CudaCapture(const CudaCapture&) = delete;
    CudaCapture& operator=(const CudaCapture&) = delete;

    // Ends the capture. Call it once.
    CudaGraph finish();

private:
    CudaContext& ctx_;
    bool finished_ = false;
};

}  // namespace lockstep::device
