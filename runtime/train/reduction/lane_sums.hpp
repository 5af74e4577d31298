// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/device/buffer.hpp"
#include "runtime/device/cpu_context.hpp"
#include "runtime/device/traits.hpp"
#include "runtime/kernels/step.hpp"
#include "runtime/train/reduction/lane_exchange.hpp"

namespace lockstep::train {

// Adds the gradients and losses of a deterministic run: each lane's gradient is calculated by
// itself, and the lanes are added in the order of the lane tree. The result does not depend on the
// number of ranks. Only CPUs have it. Usage, in each step:
//
//     sums.begin_step();
//     for (each lane of this rank) {
//         backward overwrites the gradient;
//         sums.take_losses(step);
//         if (it is not the last one) sums.keep_gradient();
//     }
//     sums.reduce(first, count, label);  // each range, when it is final in the last lane
//     communicator.all_reduce(sums.losses(), comm::ReduceOp::sum, "losses");
//     communicator.finish();
//     sums.give_losses(step);
template <class Ctx>
class CpuLaneSums {
public:
    using Space = typename Ctx::Space;

    // `max_count` is the size of the largest range that is reduced. The references and the memory
    // of `gradient` must outlive the object.
    CpuLaneSums(Ctx& context, comm::Communicator& communicator, View<float, Space> gradient,
                std::int64_t lanes, std::size_t max_count);

    void begin_step();
    // Moves the sums of the lane that was trained last out of the step.
    void take_losses(kernels::Step* step);
    // Keeps the gradient of a lane, and adds the branches that are complete with it.
    void keep_gradient();
    // Adds the kept branches to a range of the last lane's gradient and queues its sum over all
    // ranks. A rank without lanes only takes part.
    void reduce(std::size_t first, std::size_t count, const std::string& label);
    // Returns the sums of every lane of the run; the caller adds them up over the ranks. Each has
    // one addend that is not zero, so that no order changes the result.
    View<double, Space> losses() { return {losses_.data(), losses_.size()}; }
    // Writes the sums over all lanes to the step, added in the order of the lanes.
    void give_losses(kernels::Step* step) const;
    // Returns the bytes of the gradients that wait, and of those that arrive.
    std::size_t bytes() const noexcept;

private:
    void add_branch(std::size_t branch, std::size_t first, std::size_t count);

    Ctx& context_;
    View<float, Space> gradient_;
    LaneRange range_;
    std::vector<std::size_t> sums_;  // of each lane of this rank: see LaneStack::push
    std::vector<device::Buffer<float, Space>> branches_;
    device::Buffer<float, Space> received_;  // of the other ranks
    std::optional<LaneExchange> exchange_;   // none: there is one rank
    std::vector<double> losses_;             // [lanes, StepSums::count]
    std::size_t lane_ = 0;                   // current one of this rank's, from 0
    std::size_t kept_ = 0;                   // number of branches that wait
};

// Takes the place of these sums on devices that do not have them.
template <class Ctx>
class RefusedLaneSums {
public:
    using Space = typename Ctx::Space;

    RefusedLaneSums(Ctx&, comm::Communicator&, View<float, Space>, std::int64_t, std::size_t) {
        throw Error(ErrorKind::config,
                    "--deterministic: only CPUs can add the lanes in a fixed order; give --device "
                    "cpu or leave the option out");
    }
    void begin_step() {}
    void take_losses(kernels::Step*) {}
    void keep_gradient() {}
    void reduce(std::size_t, std::size_t, const std::string&) {}
    View<double, Space> losses() { return {}; }
    void give_losses(kernels::Step*) const {}
    std::size_t bytes() const noexcept { return 0; }
};

template <class Ctx>
using LaneSums = std::conditional_t<std::is_base_of_v<device::CpuTraits, Ctx>, CpuLaneSums<Ctx>,
                                    RefusedLaneSums<Ctx>>;

}  // namespace lockstep::train
