// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/core/view.hpp"
#include "runtime/train/parameters.hpp"

namespace lockstep::model {

// Writes the initial weights of parameter_rows(), which depend only on (table, seed). Every
// parameter has its own random numbers, selected by its name, so changing one layer keeps the
// others' values.
void initial_weights(const train::ParameterTable& table, std::uint64_t seed,
                     HostView<float> master);

// Writes those of one parameter's elements [first, first + values.size()); `first` is even.
void initial_weights(const train::Parameter& parameter, std::uint64_t seed, std::size_t first,
                     HostView<float> values);

}  // namespace lockstep::model
