// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "runtime/core/error.hpp"

namespace lockstep {

struct HostSpace {};
struct CudaSpace {};  // the memory of one GPU

// Refers to a range without owning it. Its type names the memory it lives in, so that mixing
// memories does not compile.
template <class T, class Space>
class View {
public:
    using Element = T;

    constexpr View() noexcept = default;
    constexpr View(T* data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <class U>
    requires std::is_convertible_v<U (*)[], T (*)[]>
    constexpr View(View<U, Space> other) noexcept : data_(other.data()), size_(other.size()) {}

    constexpr T* data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }

    View subview(std::size_t offset, std::size_t count) const {
        require(offset <= size_ && count <= size_ - offset, "subview out of range");
        return {data_ + offset, count};
    }

    constexpr T& operator[](std::size_t i) const noexcept requires std::same_as<Space, HostSpace> {
        return data_[i];
    }
    constexpr T* begin() const noexcept requires std::same_as<Space, HostSpace> { return data_; }
    constexpr T* end() const noexcept requires std::same_as<Space, HostSpace> {
        return data_ + size_;
    }

private:
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

// Refers to a row-major matrix [rows, cols] without owning it. Consecutive rows are `stride`
// elements apart.
template <class T, class Space>
struct MatrixView {
    T* data = nullptr;
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    std::int64_t stride = 0;

    constexpr MatrixView() noexcept = default;
    constexpr MatrixView(T* d, std::int64_t r, std::int64_t c) noexcept
        : data(d), rows(r), cols(c), stride(c) {}
    constexpr MatrixView(T* d, std::int64_t r, std::int64_t c, std::int64_t s) noexcept
        : data(d), rows(r), cols(c), stride(s) {}
    template <class U>
    requires std::is_convertible_v<U (*)[], T (*)[]>
    constexpr MatrixView(MatrixView<U, Space> m) noexcept
        : data(m.data), rows(m.rows), cols(m.cols), stride(m.stride) {}

    constexpr MatrixView columns(std::int64_t first, std::int64_t count) const noexcept {
        return {data + first, rows, count, stride};
    }
    constexpr MatrixView rows_from(std::int64_t first, std::int64_t count) const noexcept {
        return {data + first * stride, count, cols, stride};
    }
    constexpr bool empty() const noexcept { return rows == 0 || cols == 0; }
};

template <class T>
using HostView = View<T, HostSpace>;
template <class T>
using HostMatrix = MatrixView<T, HostSpace>;

template <class T>
using CudaView = View<T, CudaSpace>;
template <class T>
using CudaMatrix = MatrixView<T, CudaSpace>;

template <class Vector>
auto view_of(Vector& v) noexcept {
    return HostView<std::remove_pointer_t<decltype(v.data())>>(v.data(), v.size());
}

}  // namespace lockstep
