// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/coded_tensors.hpp"

namespace lockstep::train {

std::string scales_name(std::string_view tensor) { return std::string(tensor) + ".scale"; }

kernels::DynamicMap moment_map(std::string_view tensor) noexcept {
    return tensor.ends_with(".exp_avg_sq") ? kernels::DynamicMap::without_sign
                                           : kernels::DynamicMap::with_sign;
}

}  // namespace lockstep::train
