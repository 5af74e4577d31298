// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <type_traits>

#include "tests/support/failing_disk/fault_plan.hpp"

namespace lockstep::failing_disk {

// Returns the C library's own function of that name.
template <class Function>
Function* next(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

// Is true while this thread runs the library's own code, whose calls are not counted.
inline bool& inside() {
    thread_local bool value = false;
    return value;
}

class Inside {
public:
    Inside() { inside() = true; }
    ~Inside() { inside() = false; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
};

struct Nothing {
    void operator()() const {}
};

template <class Result>
constexpr Result failure() {
    if constexpr (std::is_pointer_v<Result>)
        return nullptr;
    else
        return Result{-1};
}

// Makes the call on `path` as the plan says. `call` gets the plan's act, and `after` runs when it
// has succeeded.
template <class Call, class After = Nothing>
auto counted(Kind kind, const std::string& path, Call call, After after = {}) {
    using Result = decltype(call(Act::pass));
    FaultPlan& plan = FaultPlan::of_this_process();
    if (inside() || !plan.covers(path)) return call(Act::pass);
    const Inside guard;
    const Decision decision = plan.decide(kind, path);
    if (decision.act == Act::kill_before) ::kill(::getpid(), SIGKILL);
    // Linux frees the descriptor also when close() reports an error.
    if (decision.act == Act::fail && kind == Kind::close) (void)call(decision.act);
    if (decision.act == Act::fail) {
        errno = decision.error;
        return failure<Result>();
    }
    const Result result = call(decision.act);
    const int error = errno;
    if (result != failure<Result>()) after();
    if (decision.act == Act::kill_after) ::kill(::getpid(), SIGKILL);
    errno = error;
    return result;
}

}  // namespace lockstep::failing_disk
