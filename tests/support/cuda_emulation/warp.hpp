// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/core/error.hpp"
#include "tests/support/cuda_emulation/block.hpp"

// Defines CUDA's functions that exchange values between the lanes of a warp.
namespace lockstep::tests::cuda_emulation {

template <class T>
struct Given {
    T value;
    int source;  // the lane whose value is read
    T result;
};

template <class T>
T shuffle(unsigned mask, T value, int source) {
    Given<T> given{value, source, value};
    wait_for_lanes(mask, &given, [](const Operands& operands) {
        for (void* operand : operands) {
            if (operand == nullptr) continue;
            auto& wanted = *static_cast<Given<T>*>(operand);
            const auto* source_lane =
                static_cast<const Given<T>*>(operands[static_cast<std::size_t>(wanted.source)]);
            // A lane that does not take part has no reliable value.
            require(source_lane != nullptr, "a shuffle reads a lane outside of its mask");
            wanted.result = source_lane->value;
        }
    });
    return given.result;
}

// Returns the values of all lanes, combined in the order of the lanes.
template <class T, class Combine>
T reduce(unsigned mask, T value, Combine) {
    Given<T> given{value, 0, value};
    wait_for_lanes(mask, &given, [](const Operands& operands) {
        const Given<T>* first = nullptr;
        T result{};
        for (const void* operand : operands) {
            if (operand == nullptr) continue;
            const auto* one = static_cast<const Given<T>*>(operand);
            result = first == nullptr ? one->value : Combine{}(result, one->value);
            first = one;
        }
        for (void* operand : operands)
            if (operand != nullptr) static_cast<Given<T>*>(operand)->result = result;
    });
    return given.result;
}

// Returns `source`, or this lane itself if `source` is outside its segment of `width` lanes.
inline int within_segment(int source, int width) {
    const int own = static_cast<int>(lane());
    return source / width == own / width && source >= 0 ? source : own;
}

struct Or {
    unsigned operator()(unsigned a, unsigned b) const { return a | b; }
};
struct And {
    unsigned operator()(unsigned a, unsigned b) const { return a & b; }
};
struct Plus {
    template <class T>
    T operator()(T a, T b) const {
        return a + b;
    }
};
struct Maximum {
    template <class T>
    T operator()(T a, T b) const {
        return std::max(a, b);
    }
};
struct Minimum {
    template <class T>
    T operator()(T a, T b) const {
        return std::min(a, b);
    }
};

}  // namespace lockstep::tests::cuda_emulation

inline void __syncwarp(unsigned mask = 0xFFFFFFFFu) {
    lockstep::tests::cuda_emulation::wait_for_lanes(
        mask, nullptr, [](const lockstep::tests::cuda_emulation::Operands&) {});
}
template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
    namespace emulation = lockstep::tests::cuda_emulation;
    const int segment = static_cast<int>(emulation::lane()) / width * width;
    return emulation::shuffle(mask, value, segment + source % width);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int distance, int width = 32) {
    namespace emulation = lockstep::tests::cuda_emulation;
    return emulation::shuffle(
        mask, value,
        emulation::within_segment(static_cast<int>(emulation::lane()) ^ distance, width));
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32) {
    namespace emulation = lockstep::tests::cuda_emulation;
    return emulation::shuffle(
        mask, value,
        emulation::within_segment(static_cast<int>(emulation::lane() + distance), width));
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = 32) {
    namespace emulation = lockstep::tests::cuda_emulation;
    return emulation::shuffle(
        mask, value,
        emulation::within_segment(static_cast<int>(emulation::lane()) - static_cast<int>(distance),
                                  width));
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
    namespace emulation = lockstep::tests::cuda_emulation;
    return emulation::reduce(mask, predicate != 0 ? 1u << emulation::lane() : 0u, emulation::Or{});
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) {
    return __ballot_sync(mask, predicate) == mask;
}
template <class T>
T __reduce_add_sync(unsigned mask, T value) {
    return lockstep::tests::cuda_emulation::reduce(mask, value,
                                                   lockstep::tests::cuda_emulation::Plus{});
}
template <class T>
T __reduce_max_sync(unsigned mask, T value) {
    return lockstep::tests::cuda_emulation::reduce(mask, value,
                                                   lockstep::tests::cuda_emulation::Maximum{});
}
template <class T>
T __reduce_min_sync(unsigned mask, T value) {
    return lockstep::tests::cuda_emulation::reduce(mask, value,
                                                   lockstep::tests::cuda_emulation::Minimum{});
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned value) {
    return lockstep::tests::cuda_emulation::reduce(mask, value,
                                                   lockstep::tests::cuda_emulation::Or{});
}
// Returns the lanes that have the same value as this lane.
template <class T>
unsigned __match_any_sync(unsigned mask, T value) {
    namespace emulation = lockstep::tests::cuda_emulation;
    struct Given {
        T value;
        unsigned lanes;
    } given{value, 0};
    emulation::wait_for_lanes(mask, &given, [](const emulation::Operands& operands) {
        for (void* one : operands)
            for (std::size_t i = 0; one != nullptr && i < operands.size(); ++i)
                if (operands[i] != nullptr && static_cast<const Given*>(operands[i])->value ==
                                                  static_cast<Given*>(one)->value)
                    static_cast<Given*>(one)->lanes |= 1u << i;
    });
    return given.lanes;
}
