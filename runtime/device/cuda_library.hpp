// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runtime/core/error.hpp"

namespace lockstep::device {

struct OpenedLibrary {
    void* handle = nullptr;     // null: none could be opened
    std::string file, problem;  // the opened file, or all names; the reason why none could be
                                // opened
};

// Opens the first of `files` that can be opened. File names contain versions, such as
// "libcublasLt.so.13". The system's loader searches first, then the folders under /usr/local/cuda.
// The library is never closed.
OpenedLibrary open_cuda_library(const std::vector<std::string>& files);

// Represents a library of CUDA. It is opened when a GPU is first used, so that the program starts
// without it. It stays open until the program ends because its own threads and exit handlers need
// its code.
class CudaLibrary {
public:
    // Opens a library as open_cuda_library() does. Throws an error of kind cuda that says what to
    // install.
    explicit CudaLibrary(const std::vector<std::string>& files);

    // Returns the function of that name, for example
    // library.function<decltype(cublasLtCreate)>("cublasLtCreate").
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
