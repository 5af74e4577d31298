// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/core/error.hpp"

namespace lockstep::device {

// One of CUDA's libraries, opened when a GPU is first used, so that the program starts without it.
// It stays open until the program ends, since its own threads and exit handlers live in it.
class CudaLibrary {
public:
    // `file` with its version, as "libcublasLt.so.13". Looked for where the system's loader looks,
    // then under /usr/local/cuda; throws an error of kind cuda that says what to install.
    explicit CudaLibrary(const std::string& file);

    // The function of that name: library.function<decltype(cublasLtCreate)>("cublasLtCreate").
    template <class Function>
    Function* function(const char* name) const {
        return reinterpret_cast<Function*>(symbol(name));
    }
    void* handle() const noexcept { return handle_; }

private:
    void* symbol(const char* name) const;

    std::string file_;
    void* handle_;
};

}  // namespace lockstep::device
