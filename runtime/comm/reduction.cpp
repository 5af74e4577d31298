// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/reduction.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "runtime/core/error.hpp"

namespace lockstep::comm {

namespace {

template <class T>
constexpr T widened(T value) noexcept {
    return value;
}
constexpr float widened(bf16 value) noexcept { return static_cast<float>(value); }

template <class T, class Combine>
void combine_into(void* into, const void* from, std::size_t count, Combine combine) {
    T* to = static_cast<T*>(into);
    const T* source = static_cast<const T*>(from);
    for (std::size_t i = 0; i < count; ++i) {
        to[i] = static_cast<T>(combine(widened(to[i]), widened(source[i])));
    }
}

template <class V>
bool is_nan(V value) noexcept {
    if constexpr (std::is_floating_point_v<V>)
        return std::isnan(value);
    else
        return false;
}

// A NaN wins, so that every rank sees an overflow on any rank.
template <class V>
V smaller(V a, V b) noexcept {
    return b < a || is_nan(b) ? b : a;
}
template <class V>
V larger(V a, V b) noexcept {
    return b > a || is_nan(b) ? b : a;
}

template <class T>
void reduce_typed(void* into, const void* from, std::size_t count, ReduceOp reduction) {
    switch (reduction) {
        case ReduceOp::sum:
            return combine_into<T>(into, from, count, [](auto a, auto b) { return a + b; });
        case ReduceOp::min:
            return combine_into<T>(into, from, count, [](auto a, auto b) { return smaller(a, b); });
        case ReduceOp::max:
            return combine_into<T>(into, from, count, [](auto a, auto b) { return larger(a, b); });
    }
}

}  // namespace

void reduce_into(void* into, const void* from, std::size_t count, Dtype element,
                 ReduceOp reduction) {
    switch (element) {
        case Dtype::fp32:
            return reduce_typed<float>(into, from, count, reduction);
        case Dtype::fp64:
            return reduce_typed<double>(into, from, count, reduction);
        case Dtype::bf16:
            return reduce_typed<bf16>(into, from, count, reduction);
        case Dtype::u64:
            return reduce_typed<std::uint64_t>(into, from, count, reduction);
        case Dtype::fp16:
        case Dtype::byte:
            break;
    }
    throw Error(ErrorKind::contract, "bytes and fp16 cannot be reduced");
}

HostRange part_of(const HostRange& range, std::size_t first, std::size_t count) {
    require(first <= range.count && count <= range.count - first, "part out of range");
    HostRange part = range;
    part.data = static_cast<std::byte*>(range.data) + first * bytes_of(range.element);
    part.count = count;
    return part;
}

HostRange even_part_of(const HostRange& range, int part, int parts) {
    const auto n = static_cast<std::size_t>(parts);
    const auto p = static_cast<std::size_t>(part);
    const std::size_t base = range.count / n;
    const std::size_t extra = range.count % n;
    return part_of(range, p * base + std::min(p, extra), base + (p < extra ? 1 : 0));
}

}  // namespace lockstep::comm
