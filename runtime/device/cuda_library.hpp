// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runtime/core/error.hpp"

namespace lockstep::device {

struct OpenedLibrary {
    void* handle = nullptr;     // null: none opens
    std::string file, problem;  // which one, or all names; why none opens
};

// The first of `files`, with their versions as "libcublasLt.so.13", that opens. Each is looked for
// where the system's loader looks, then under /usr/local/cuda. Never closed.
OpenedLibrary open_cuda_library(const std::vector<std::string>& files);

// One of CUDA's libraries, opened when a GPU is first used, so that the program starts without it.
// It stays open until the program ends, since its own threads and exit handlers live in it.
class CudaLibrary {
public:
    // As open_cuda_library(); throws an error of kind cuda that says what to install.
    explicit CudaLibrary(const std::vector<std::string>& files);

    // The function of that name: library.function<decltype(cublasLtCreate)>("cublasLtCreate").
    template <class Function>
    Function* function(const char* name) const {
        return reinterpret_cast<Function*>(symbol(name));
    }
    void* handle() const noexcept { return handle_; }
    const std::string& file() const noexcept { return file_; }

private:
    void* symbol(const char* name) const;

    std::string file_;
    void* handle_ = nullptr;
};

}  // namespace lockstep::device
