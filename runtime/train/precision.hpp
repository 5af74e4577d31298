// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/bf16.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/fp16.hpp"
#include "runtime/core/type_list.hpp"

namespace lockstep::train {

// Names the precision of the computation.
enum class Precision { fp32, bf16, fp16 };

constexpr const char* name(Precision precision) noexcept {
    return precision == Precision::fp32 ? "fp32" : precision == Precision::bf16 ? "bf16" : "fp16";
}

template <class T>
constexpr Precision precision_of = Precision::fp32;
template <>
inline constexpr Precision precision_of<bf16> = Precision::bf16;
template <>
inline constexpr Precision precision_of<fp16> = Precision::fp16;

// Calls work<T>() with the type of the list that `precision` denotes.
template <class T, class... More, class Work>
auto with_element(Types<T, More...>, Precision precision, const Work& work) {
    if constexpr (sizeof...(More) > 0) {
        if (precision != precision_of<T>) return with_element(Types<More...>{}, precision, work);
    }
    require(precision == precision_of<T>, "the device does not compute in this precision");
    return work.template operator()<T>();
}

}  // namespace lockstep::train
