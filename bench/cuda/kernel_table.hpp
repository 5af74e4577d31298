// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/core/bf16.hpp"
#include "runtime/core/fp16.hpp"
#include "runtime/core/philox.hpp"
#include "runtime/device/cuda/cuda_context.hpp"

namespace lockstep::bench {

using device::CudaContext;

template <class T>
constexpr const char* type_name = "fp32";
template <>
inline constexpr const char* type_name<bf16> = "bf16";
template <>
inline constexpr const char* type_name<fp16> = "fp16";

// Prints a table in Markdown, each row as soon as its kernel is timed: bytes or floating-point
// operations per second by the GPU's clock, and their share of the GPU's measured maximum.
class KernelTable {
public:
    // Prints the table's head.
    explicit KernelTable(CudaContext& ctx);

    // copies() and multiplies() time the references for the rows that follow: a copy, and a matrix
    // product for each type.
    void copies(const char* name, double bytes, const std::function<void()>& work);
    void multiplies(const std::string& name, const char* type, double operations,
                    const std::function<void()>& work);

    void moves(const std::string& name, const char* type, double bytes,
               const std::function<void()>& work);
    void computes(const std::string& name, const char* type, double operations,
                  const std::function<void()>& work);
    // Prints a row that replaces the rows of a group that failed.
    void fails(const char* group, const char* type, const char* why);

private:
    CudaContext& ctx_;
    double copied_bytes_per_s_ = 0, multiplied_operations_per_s_ = 0;
};

template <class T>
CudaView<const T> constant(const device::Buffer<T, CudaSpace>& buffer) {
    return buffer.view();
}

template <class T>
CudaMatrix<T> matrix(const device::Buffer<T, CudaSpace>& buffer, std::int64_t rows,
                     std::int64_t cols) {
    return {buffer.view().data(), rows, cols};
}

template <class T>
device::Buffer<T, CudaSpace> on_device(CudaContext& ctx, const std::vector<T>& values) {
    device::Buffer<T, CudaSpace> buffer(values.size());
    device::copy(ctx, view_of(values), buffer.view());
    ctx.synchronize();
    return buffer;
}

// Returns a buffer that repeats a few values between -1/2 and 1/2. The results do not matter as
// long as they are finite.
template <class T>
device::Buffer<T, CudaSpace> numbers(CudaContext& ctx, std::int64_t count) {
    device::Buffer<T, CudaSpace> buffer(static_cast<std::size_t>(count));
    std::vector<T> few(std::min<std::size_t>(4099, buffer.size()));
    PhiloxStream stream(1);
    for (T& value : few) value = static_cast<T>(static_cast<float>(stream.uniform() - 0.5));
    device::copy(ctx, HostView<const T>(view_of(few)), buffer.view().subview(0, few.size()));
    for (std::size_t filled = few.size(); filled < buffer.size();) {
        const std::size_t more = std::min(filled, buffer.size() - filled);
        device::copy(ctx, constant(buffer).subview(0, more), buffer.view().subview(filled, more));
        filled += more;
    }
    ctx.synchronize();
    return buffer;
}

}  // namespace lockstep::bench
