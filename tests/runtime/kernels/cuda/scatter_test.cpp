// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/scatter.hpp"

#include <doctest/doctest.h>

#include "tests/support/on_device.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::CudaContext;

namespace {

constexpr std::int64_t to_rows = 9, from_stride = 48, to_stride = 40;
const std::vector<std::int64_t> indices{7, 0, 3};

}  // namespace

TEST_CASE_TEMPLATE("CUDA's scatter writes the CPU's rows and no others", T, float, bf16) {
    CudaContext ctx(0);
    device::CpuContext cpu(1);
    for (const std::int64_t cols : {1, 7, 16, 31, 32, 40}) {
        const auto rows = static_cast<std::int64_t>(indices.size());
        auto from = random_numbers<T>(rows * from_stride, 1);
        auto to = random_numbers<T>(to_rows * to_stride, 2);
        const OnDevice device_places(ctx, indices), device_from(ctx, from), device_to(ctx, to);
        kernels::scatter_rows<T>(ctx, device_places.const_view(),
                                 device_from.matrix(rows, cols, from_stride),
                                 device_to.matrix(to_rows, cols, to_stride));
        kernels::scatter_rows<T>(cpu, const_view_of(indices),
                                 HostMatrix<const T>{from.data(), rows, cols, from_stride},
                                 HostMatrix<T>{to.data(), to_rows, cols, to_stride});
        CHECK(same_bits(device_to.values(), to));
        for (std::int64_t i = 0; i < rows; ++i)
            for (std::int64_t j = 0; j < cols; ++j)
                REQUIRE(to_double(to[static_cast<std::size_t>(
                            indices[static_cast<std::size_t>(i)] * to_stride + j)]) ==
                        to_double(from[static_cast<std::size_t>(i * from_stride + j)]));
    }
}

TEST_CASE("an index that is not there is refused on the CPU, and left alone on a GPU") {
    CudaContext ctx(0);
    const std::vector<std::int64_t> wrong{-1, 2};
    const OnDevice device_places(ctx, wrong);
    const OnDevice from(ctx, std::vector<fp16>(8, fp16(1.0f)));
    const OnDevice to(ctx, std::vector<fp16>(8, fp16(5.0f)));
    kernels::scatter_rows<fp16>(ctx, device_places.const_view(), from.matrix(2, 4),
                                to.matrix(2, 4));
    CHECK(to_doubles(to.values()) == std::vector<double>(8, 5.0));
    device::CpuContext cpu(1);
    std::vector<float> host(8);
    CHECK_THROWS_AS(kernels::scatter_rows<float>(cpu, const_view_of(wrong), matrix_of(host, 2, 4),
                                                 matrix_of(host, 2, 4)),
                    Error);
}

TEST_CASE("rows are added where they have a slot, and nowhere else") {
    CudaContext ctx(0);
    device::CpuContext cpu(1);
    const std::vector<std::int32_t> slots{2, -1, 0, 3, -1, 1};  // 3 is no row
    const auto rows = static_cast<std::int64_t>(slots.size());
    for (const std::int64_t cols : {1, 7, 16, 31, 32, 40}) {
        const auto from = random_numbers<float>(3 * from_stride, 1);
        auto to = random_numbers<float>(rows * to_stride, 2);
        const auto before = to;
        const OnDevice on_slots(ctx, slots);
        const OnDevice on_from(ctx, from), on_to(ctx, to);
        kernels::add_gathered_rows(ctx, on_slots.const_view(), on_from.matrix(3, cols, from_stride),
                                   on_to.matrix(rows, cols, to_stride));
        kernels::add_gathered_rows(cpu, const_view_of(slots),
                                   HostMatrix<const float>{from.data(), 3, cols, from_stride},
                                   HostMatrix<float>{to.data(), rows, cols, to_stride});
        CHECK(same_bits(on_to.values(), to));
        for (std::size_t i = 0; i < to.size(); ++i) {
            const std::size_t row = i / to_stride, col = i % to_stride;
            const std::int32_t slot = slots[row];
            const bool added = slot >= 0 && slot < 3 && col < static_cast<std::size_t>(cols);
            const float more = added ? from[static_cast<std::size_t>(slot) * from_stride + col] : 0;
            REQUIRE(to[i] == before[i] + more);
        }
    }
}
