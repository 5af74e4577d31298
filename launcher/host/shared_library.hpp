// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>

namespace lockstep::launcher {

// A library that is there or not, opened at run time: building needs nothing of it. Stays open, as
// drivers do not survive being closed.
class SharedLibrary {
public:
    // The first of the names that opens.
    explicit SharedLibrary(std::initializer_list<std::string> names);

    bool opened() const noexcept { return handle_ != nullptr; }
    const std::string& problem() const noexcept { return problem_; }

    // Null: it has no such function.
    template <class Function>
    Function* find(const char* name) const {
        return reinterpret_cast<Function*>(symbol(name));
    }

private:
    void* symbol(const char* name) const;

    void* handle_ = nullptr;
    std::string problem_;
};

// "Open MPI v4.1.4 ..."; "none" where there is none.
std::string mpi_version();
std::string nccl_version();  // "2.28.9"

}  // namespace lockstep::launcher
