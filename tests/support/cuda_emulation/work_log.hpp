// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

// How the emulated runtime and libraries tell what device_work.hpp counts.

enum class EmulatedKind { kernel, copy, fill, collective };

// A piece of work. Kernels of libraries have a name, others are known by their function.
struct EmulatedPiece {
    EmulatedKind kind = EmulatedKind::kernel;
    const void* kernel = nullptr;
    const char* name = nullptr;
    std::size_t bytes = 0;
    const void *from = nullptr, *to = nullptr;  // of a copy
};

// The calling thread gave it to its device.
void emulated_count(const EmulatedPiece& piece);
// The calling thread called a function of CUDA or of its libraries.
void emulated_call(const char* function);
