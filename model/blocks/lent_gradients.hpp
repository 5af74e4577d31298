// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "runtime/device/arena.hpp"
#include "runtime/kernels/dry/kernels.hpp"
#include "runtime/kernels/reduce.hpp"
#include "runtime/train/parameters.hpp"
#include "runtime/train/placement.hpp"

namespace lockstep::model {

// Lends the memory of gradients to the arena for a micro-batch that overwrites them. Backward
// writes the gradients block by block, from the front of the flat buffer to its end, so what
// forward keeps of a block may lie behind that block's gradients: backward of the block is the last
// to read it. The table of the embeddings at the end is not lent, because the loss writes it; nor
// is a head of its own, at the front, while the loss does.
// Usage:
//
//     lent.lend(arena);                  // destroys the gradients
//     lent.use_from(arena, end);         // forward begins a block; `end` is the element behind it
//     lent.use_none(arena);              // what comes now is for several blocks, or for backward
//     lent.clear_gaps(ctx, first, end);  // backward ended these; call it before the sink is told
//     lent.take_back(arena);
//
// After an exception the arena's next reset() ends the loan.
template <class Ctx>
class LentGradients {
public:
    using Space = typename Ctx::Space;
    using Arena = device::Arena<Space>;

    LentGradients() = default;  // lends nothing
    // Lends nothing if the device lends none, or if the gradients have slots or are not stored. The
    // store must outlive the object.
    explicit LentGradients(const train::ParameterStore<Space>& store) {
        if (!Ctx::lends_gradients || store.gradient_placement().has_slots()) return;
        if (store.gradient().size() == 0) return;
        const auto& all = store.table().all();
        floats_ = store.gradient().subview(0, all.back().offset);
        for (std::size_t i = 0; i + 1 < all.size(); ++i) {
            const std::size_t end = all[i].offset + all[i].count;
            if (end < all[i + 1].offset) gaps_.push_back({end, all[i + 1].offset - end});
        }
    }

    void lend(Arena& arena) const {
        arena.borrow({reinterpret_cast<std::byte*>(floats_.data()), bytes(floats_.size())});
    }
    void use_from(Arena& arena, std::size_t element) const {
        arena.keep_out_of(bytes(std::min(element, floats_.size())));
    }
    void use_none(Arena& arena) const { arena.keep_out_of(bytes(floats_.size())); }
    // Writes zeros between the parameters of a range of the flat buffer, as ParameterStore wants.
    void clear_gaps(Ctx& ctx, std::size_t first, std::size_t end) const {
        const auto before = [](const train::Segment& gap, std::size_t at) {
            return gap.first < at;
        };
        for (auto gap = std::lower_bound(gaps_.begin(), gaps_.end(), first, before);
             gap != gaps_.end() && gap->first < end; ++gap)
            kernels::fill_zero(ctx, floats_.subview(gap->first, gap->count));
    }
    void take_back(Arena& arena) const { arena.borrow({}); }

private:
    static std::size_t bytes(std::size_t count) noexcept { return count * sizeof(float); }

    View<float, Space> floats_;         // empty: nothing is lent
    std::vector<train::Segment> gaps_;  // in the order of the buffer
};

}  // namespace lockstep::model
