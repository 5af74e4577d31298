// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#include "runtime/core/bf16.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/view.hpp"
#include "runtime/device/buffer.hpp"
#include "runtime/kernels/reduce.hpp"

namespace lockstep::train {

// So many elements of bf16 are enough scratch memory to convert most of a large bucket in few
// steps.
constexpr std::size_t usual_narrowing_scratch = std::size_t{1} << 18;

// Converts buckets to bf16 for the way to other ranks, and back, without a second buffer: the bf16
// elements of a bucket lie in the first half of its own memory. The first ones are converted by
// way of scratch memory. After that, elements n to 2n fit into the room that the first n have left.
template <class Ctx>
class NarrowGradients {
public:
    using Space = typename Ctx::Space;

    // The context must outlive it. `max_scratch` is in elements of bf16, and not 0. Without buckets
    // it has no memory, and converts nothing.
    NarrowGradients(Ctx& context, std::size_t largest_bucket,
                    std::size_t max_scratch = usual_narrowing_scratch)
        : context_(context), scratch_(std::min(largest_bucket, max_scratch)) {
        require(max_scratch > 0, "buckets are narrowed by way of scratch memory");
    }

    bool used() const noexcept { return scratch_.size() > 0; }
    std::size_t bytes() const noexcept { return scratch_.size() * sizeof(bf16); }

    // Returns where the elements of a narrowed bucket are.
    static View<bf16, Space> narrowed(View<float, Space> bucket) {
        return {reinterpret_cast<bf16*>(bucket.data()), bucket.size()};
    }

    void narrow(View<float, Space> bucket) {
        const View<bf16, Space> to = narrowed(bucket);
        const std::size_t begin = std::min(scratch_.size(), bucket.size());
        const View<bf16, Space> scratch = scratch_.view().subview(0, begin);
        kernels::cast<float, bf16>(context_, bucket.subview(0, begin), scratch);
        copy(scratch, to.subview(0, begin));
        for (std::size_t first = begin; first < bucket.size(); first *= 2) {
            const std::size_t count = std::min(first, bucket.size() - first);
            kernels::cast<float, bf16>(context_, bucket.subview(first, count),
                                       to.subview(first, count));
        }
    }

    // Converts `count` elements of a narrowed bucket back, from element `first` on. The rest of
    // the bucket is undefined afterwards. If `first` is not 0, it is not less than `count`.
    void widen(View<float, Space> bucket, std::size_t first, std::size_t count) {
        if (first > 0) {
            require(first >= count, "these elements are not widened in place");
            return widen_apart(bucket, first, count);
        }
        const std::size_t begin = std::min(scratch_.size(), count);
        std::size_t end = begin;
        while (end < count) end *= 2;
        for (std::size_t from = end / 2; from >= begin && end > begin; from /= 2)
            widen_apart(bucket, from, std::min(from, count - from));
        const View<bf16, Space> scratch = scratch_.view().subview(0, begin);
        copy(narrowed(bucket).subview(0, begin), scratch);
        kernels::cast<bf16, float>(context_, scratch, bucket.subview(0, begin));
    }

private:
    // The elements do not lie where they are written.
    void widen_apart(View<float, Space> bucket, std::size_t first, std::size_t count) {
        kernels::cast<bf16, float>(context_, narrowed(bucket).subview(first, count),
                                   bucket.subview(first, count));
    }
    void copy(View<bf16, Space> from, View<bf16, Space> to) {
        device::copy(context_, View<const bf16, Space>(from), to);
    }

    Ctx& context_;
    device::Buffer<bf16, Space> scratch_;
};

}  // namespace lockstep::train
