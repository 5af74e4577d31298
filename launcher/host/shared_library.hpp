// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>

namespace lockstep::launcher {

// Opens a shared library at run time, so that the build does not depend on it. The library may be
// missing. It stays open because drivers do not survive being closed.
class SharedLibrary {
public:
    // Opens the first of these names that can be opened.
    explicit SharedLibrary(std::initializer_list<std::string> names);

    bool opened() const noexcept { return handle_ != nullptr; }
    const std::string& problem() const noexcept { return problem_; }

    // Returns null when the library has no such function.
    template <class Function>
    Function* find(const char* name) const {
        return reinterpret_cast<Function*>(symbol(name));
    }

private:
    void* symbol(const char* name) const;

    void* handle_ = nullptr;
    std::string problem_;
};

// Returns the MPI library's version, as "Open MPI v4.1.4 ...", or "none" when there is no MPI.
std::string mpi_version();
std::string nccl_version();  // "2.28.9", or "none"

}  // namespace lockstep::launcher
