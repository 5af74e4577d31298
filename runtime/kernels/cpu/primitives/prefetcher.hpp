// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <xmmintrin.h>

#include <array>
#include <cstdint>

#include "runtime/core/view.hpp"

namespace lockstep::kernels::cpu {

// Loads two matrices, which may be empty, into the second-level cache, a part at each of `times`
// calls of prefetch(), one or more. Without it a product waits for the rows of its next block,
// whose runs are too short for the processor's own prefetcher.
template <class T>
class Prefetcher {
public:
    using Matrices = std::array<HostMatrix<const T>, 2>;

    Prefetcher(const Matrices& matrices, std::int64_t times) noexcept : matrices_(matrices) {
        std::int64_t lines = 0;
        for (const auto& matrix : matrices)
            lines += matrix.rows * ((matrix.cols + line_elements - 1) / line_elements);
        each_time_ = (lines + times - 1) / times;
    }

    void prefetch() noexcept {
        for (std::int64_t i = 0; i < each_time_; ++i, line_ += line_elements) {
            if (line_ >= row_end_ && !find_row()) return;
            _mm_prefetch(line_, _MM_HINT_T1);
        }
    }

private:
    static constexpr std::int64_t line_bytes = 64;  // of the caches
    static constexpr std::int64_t line_elements = line_bytes / sizeof(T);

    bool find_row() noexcept {
        while (matrix_ < matrices_.size() && row_ >= matrices_[matrix_].rows) {
            ++matrix_;
            row_ = 0;
        }
        if (matrix_ == matrices_.size()) return false;
        const auto& matrix = matrices_[matrix_];
        line_ = matrix.data + row_++ * matrix.stride;
        row_end_ = line_ + matrix.cols;
        return true;
    }

    Matrices matrices_;
    std::int64_t each_time_ = 0, row_ = 0;
    std::size_t matrix_ = 0;
    const T *line_ = nullptr, *row_end_ = nullptr;
};

}  // namespace lockstep::kernels::cpu
