// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/device/dry_context.hpp"
#include "runtime/device/dry_host_side.hpp"
#include "runtime/kernels/company.hpp"
#include "runtime/kernels/dry/kernels.hpp"
#include "runtime/kernels/hash.hpp"
#include "runtime/kernels/optimizers.hpp"
#include "runtime/kernels/reduce.hpp"
#include "runtime/kernels/scatter.hpp"
#include "runtime/kernels/step.hpp"

namespace lockstep::device {

// The host of a dry device skips every update, because there is nothing that it could calculate.
template <class Like>
class Readback<kernels::StepState, DryContext<Like>> {
public:
    explicit Readback(DryContext<Like>&) {}

    void send(const kernels::StepState*) noexcept {}
    kernels::StepState take() const {
        kernels::StepState state;
        state.skip = 1;
        return state;
    }
};

}  // namespace lockstep::device

namespace lockstep::kernels {

// The kernels that a step calls besides the model's, on a device that computes nothing. Include
// this before the step's templates, which then find them.

using device::DryContext;
using device::DrySpace;

template <class Like>
void begin_step(DryContext<Like>&, const StepOrder&, Step*) {}
template <class Like>
void end_micro_batch(DryContext<Like>&, Step*) {}
template <class Like>
void finish_step(DryContext<Like>&, const StepRules&, Step*) {}
template <class Like>
void plan_products_for(DryContext<Like>&, Company) {}

template <class Like>
void add_sum_of_squares(DryContext<Like>&, View<const float, DrySpace>, View<ExactSum, DrySpace>) {}
template <class Like>
void add_count_nonfinite(DryContext<Like>&, View<const float, DrySpace>,
                         View<std::int64_t, DrySpace>) {}
template <class Like>
void reserve_sums(DryContext<Like>&, std::size_t) {}
template <class From, class To, class Like>
void cast(DryContext<Like>&, View<const From, DrySpace>, View<To, DrySpace>) {}
template <class Like>
void hash(DryContext<Like>&, View<const std::byte, DrySpace>, View<std::uint64_t, DrySpace>) {}
template <class Like>
void add_gathered_rows(DryContext<Like>&, View<const std::int32_t, DrySpace>,
                       MatrixView<const float, DrySpace>, MatrixView<float, DrySpace>) {}

template <class T, class Like>
void sgd(DryContext<Like>&, const Sgd<T, DrySpace>&) {}
template <class T, class Like>
void adam(DryContext<Like>&, const Adam<T, DrySpace>&) {}
template <class T, class Like>
void coded_adam(DryContext<Like>&, const CodedAdam<T, DrySpace>&) {}
template <class T, class Like>
void lion(DryContext<Like>&, const Lion<T, DrySpace>&) {}
template <class Like>
void muon_direction(DryContext<Like>&, const MuonDirection<DrySpace>&) {}
template <class T, class Like>
void muon(DryContext<Like>&, const Muon<T, DrySpace>&) {}
template <class T, class Like>
void adafactor(DryContext<Like>&, const Adafactor<T, DrySpace>&) {}
template <class Like>
void reserve_adafactor(DryContext<Like>&) {}

}  // namespace lockstep::kernels
