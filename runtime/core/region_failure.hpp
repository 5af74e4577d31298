// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <mutex>

namespace lockstep {

// Keeps the first exception of an OpenMP region, because none may leave such a region.
class RegionFailure {
public:
    template <class Work>
    void guard(const Work& work) noexcept {
        try {
            work();
        } catch (...) {
            const std::lock_guard lock(mutex_);
            if (!first_) first_ = std::current_exception();
        }
    }
    void rethrow() const {
        if (first_) std::rethrow_exception(first_);
    }

private:
    std::mutex mutex_;
    std::exception_ptr first_;
};

}  // namespace lockstep
