// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <vector>

#include "runtime/device/cuda/cuda_context.hpp"
#include "runtime/kernels/step_state.hpp"
#include "tests/support/numbers.hpp"

namespace lockstep::tests {

// Owns a copy of host values in the device's memory.
template <class T>
class OnDevice {
public:
    OnDevice(device::CudaContext& ctx, const std::vector<T>& values)
        : ctx_(&ctx), buffer_(values.size()) {
        device::copy(ctx, const_view_of(values), buffer_.view());
        ctx.synchronize();
    }

    CudaView<T> view() const { return buffer_.view(); }
    CudaView<const T> const_view() const { return buffer_.view(); }
    CudaMatrix<T> matrix(std::int64_t rows, std::int64_t cols) const {
        return {buffer_.view().data(), rows, cols};
    }
    CudaMatrix<T> matrix(std::int64_t rows, std::int64_t cols, std::int64_t stride) const {
        return {buffer_.view().data(), rows, cols, stride};
    }
    T* data() const { return buffer_.view().data(); }

    // Returns the values after all queued work has run.
    std::vector<T> values() const {
        std::vector<T> result(buffer_.size());
        device::copy(*ctx_, const_view(), view_of(result));
        ctx_->synchronize();
        return result;
    }

private:
    device::CudaContext* ctx_;
    device::Buffer<T, CudaSpace> buffer_;
};

template <class T>
OnDevice(device::CudaContext&, const std::vector<T>&) -> OnDevice<T>;

// Returns initial values for memory that a kernel must write: NaN, because zeros could be right by
// chance.
template <class T>
std::vector<T> unwritten(std::int64_t count) {
    return std::vector<T>(static_cast<std::size_t>(count), static_cast<T>(__builtin_nanf("")));
}

struct CoordinatesOnDevice {
    CoordinatesOnDevice(device::CudaContext& ctx, const Coordinates& coordinates)
        : rows(ctx, coordinates.rows), positions(ctx, coordinates.positions) {}
    kernels::TokenCoordinates<CudaSpace> view() const {
        return {rows.const_view(), positions.const_view()};
    }

    OnDevice<std::uint32_t> rows;
    OnDevice<std::int32_t> positions;
};

// Returns true if two results have equal bits, for kernels that promise the CPU's results.
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    if (a.size() != b.size()) return false;
    return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

}  // namespace lockstep::tests
