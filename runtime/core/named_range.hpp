// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lockstep {

// Names what the calling thread does until it ends, for profilers of GPUs (docs/cuda.md). Those of
// a thread nest. Does nothing where none looks, or in a build without CUDA.
class NamedRange {
public:
    explicit NamedRange(const char* name) noexcept;
    ~NamedRange();
    NamedRange(const NamedRange&) = delete;
    NamedRange& operator=(const NamedRange&) = delete;
};

}  // namespace lockstep
