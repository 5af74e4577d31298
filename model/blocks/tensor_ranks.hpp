// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/comm/communicator.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/view.hpp"
#include "runtime/kernels/loss_sums.hpp"
#include "runtime/train/tensor_slice.hpp"

namespace lockstep::model {

// Ranks that compute every layer together. Each has some heads of attention and some columns of
// the feed-forward block, and outside of these, in embeddings, norms, residual sums and the loss, a
// part of the micro-batch's tokens: the rank's number times that many come before it. Rows are
// gathered before the first product of a branch, and the results of its last product are added and
// scattered, as Megatron-LM's sequence parallelism does (arXiv 2205.05198).
template <class Space>
struct TensorRanks {
    train::TensorSlice slice;
    // Among these ranks, with the same numbers. It is there before the first batch, except in the
    // calculation of a plan's memory.
    comm::Collectives<Space>* collectives = nullptr;

    template <class T>
    void gather(MatrixView<const T, Space> own, MatrixView<T, Space> all) const {
        require(own.stride == own.cols && own.rows * slice.size == all.rows,
                "gathered rows have gaps, or are not a part of all");
        if (collectives == nullptr) return;
        const comm::Range<Space> from(const_cast<T*>(own.data), elements(own), dtype_of<T>);
        collectives->finish(
            collectives->all_gather(from, {all.data, elements(all), dtype_of<T>}, label_of_rows));
    }
    // Gathers the values of all tokens, of which this rank's part has `tokens`.
    void gather_losses(kernels::LossSums* own, kernels::LossSums* all, std::int64_t tokens) const {
        if (collectives == nullptr) return;
        const std::size_t bytes = static_cast<std::size_t>(tokens) * sizeof(kernels::LossSums);
        const auto size = static_cast<std::size_t>(slice.size);
        collectives->finish(collectives->all_gather({own, bytes, Dtype::byte},
                                                    {all, bytes * size, Dtype::byte}, "losses"));
    }
    // Returns this rank's part of `all`, in place; the rest is undefined.
    template <class T>
    MatrixView<T, Space> scatter_sums(MatrixView<T, Space> all) const {
        const std::int64_t rows = all.rows / slice.size;
        require(all.stride == all.cols && rows * slice.size == all.rows,
                "scattered rows have gaps, or are not divided");
        if (collectives != nullptr)
            collectives->finish(collectives->reduce_scatter({all.data, elements(all), dtype_of<T>},
                                                            comm::ReduceOp::sum, label_of_rows));
        return all.rows_from(slice.rank * rows, rows);
    }

private:
    static constexpr const char* label_of_rows = "rows";

    template <class Matrix>
    static std::size_t elements(const Matrix& matrix) {
        return static_cast<std::size_t>(matrix.rows * matrix.cols);
    }
};

}  // namespace lockstep::model
