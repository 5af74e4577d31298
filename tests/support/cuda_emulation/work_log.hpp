// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

// The emulated runtime and libraries report their work through these functions, and device_work.hpp
// counts it.

enum class EmulatedKind { kernel, copy, fill, collective };

// Describes a piece of work. Kernels of libraries have a name; other kernels are identified by
// their function.
struct EmulatedPiece {
    EmulatedKind kind = EmulatedKind::kernel;
    const void* kernel = nullptr;
    const char* name = nullptr;
    std::size_t bytes = 0;
    const void *from = nullptr, *to = nullptr;  // only for copies
};

// Reports that the calling thread gave this work to its device.
void emulated_count(const EmulatedPiece& piece);
// Reports that the calling thread called a function of CUDA or its libraries.
void emulated_call(const char* function);
