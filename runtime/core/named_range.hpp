// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lockstep {

// Names the work of the calling thread for GPU profilers (docs/cuda.md) until the object is
// destroyed. The ranges of a thread nest. It does nothing if no profiler is attached, or in a build
// without CUDA.
class NamedRange {
public:
    explicit NamedRange(const char* name) noexcept;
    ~NamedRange();
    NamedRange(const NamedRange&) = delete;
    NamedRange& operator=(const NamedRange&) = delete;
};

}  // namespace lockstep
