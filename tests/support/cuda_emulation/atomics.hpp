// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <type_traits>

// Defines CUDA's atomic functions, which return the old value. Only one thread runs at a time, so
// they need no synchronisation.
namespace lockstep::tests::cuda_emulation {
template <class T, class Function>
T replace(T* address, const Function& function) {
    const T old = *address;
    *address = function(old);
    return old;
}
}  // namespace lockstep::tests::cuda_emulation

template <class T>
T atomicAdd(T* address, std::type_identity_t<T> value) {
    return lockstep::tests::cuda_emulation::replace(address, [&](T old) { return old + value; });
}
template <class T>
T atomicMax(T* address, std::type_identity_t<T> value) {
    return lockstep::tests::cuda_emulation::replace(address,
                                                    [&](T old) { return std::max(old, value); });
}
template <class T>
T atomicMin(T* address, std::type_identity_t<T> value) {
    return lockstep::tests::cuda_emulation::replace(address,
                                                    [&](T old) { return std::min(old, value); });
}
template <class T>
T atomicOr(T* address, std::type_identity_t<T> value) {
    return lockstep::tests::cuda_emulation::replace(address, [&](T old) { return old | value; });
}
template <class T>
T atomicExch(T* address, std::type_identity_t<T> value) {
    return lockstep::tests::cuda_emulation::replace(address, [&](T) { return value; });
}
template <class T>
T atomicCAS(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
    return lockstep::tests::cuda_emulation::replace(
        address, [&](T old) { return old == expected ? value : old; });
}
