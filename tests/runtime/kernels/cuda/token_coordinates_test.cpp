// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/token_coordinates.hpp"

#include <doctest/doctest.h>

#include "tests/support/on_device.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using Ids = std::vector<std::int32_t>;
using Rows = std::vector<std::uint32_t>;

namespace {

// Returns the coordinates calculated on both devices, which must be equal.
std::pair<Ids, Rows> places_of(const Ids& offsets, const Rows& rows, std::size_t total) {
    device::CpuContext cpu(1);
    Ids positions(total, -7);
    Rows token_rows(total, 77);
    kernels::locate_tokens(cpu, const_view_of(offsets), const_view_of(rows), view_of(positions),
                           view_of(token_rows));
    device::CudaContext ctx(0);
    const OnDevice on_offsets(ctx, offsets), on_positions(ctx, Ids(total, -7));
    const OnDevice on_rows(ctx, rows), on_token_rows(ctx, Rows(total, 77));
    kernels::locate_tokens(ctx, on_offsets.view(), on_rows.view(), on_positions.view(),
                           on_token_rows.view());
    CHECK(on_positions.values() == positions);
    CHECK(on_token_rows.values() == token_rows);
    return {positions, token_rows};
}

}  // namespace

TEST_CASE("tokens' coordinates follow from the offsets, with zeros for filler") {
    const auto [positions, rows] = places_of({0, 2, 3, 6}, {9, 4, 5}, 8);
    CHECK(positions == Ids{0, 1, 0, 0, 1, 2, 0, 0});
    CHECK(rows == Rows{9, 9, 4, 5, 5, 5, 0, 0});
}

TEST_CASE("tokens' coordinates pass over empty sequences, first, last and in between") {
    const auto [positions, rows] = places_of({0, 0, 2, 2, 2, 3, 3}, {1, 2, 3, 4, 5, 6}, 4);
    CHECK(positions == Ids{0, 1, 0, 0});
    CHECK(rows == Rows{2, 2, 5, 0});
    CHECK(places_of({0, 0}, {3}, 2).second == Rows{0, 0});
    CHECK(places_of({0, 1}, {3}, 1).second == Rows{3});
}

TEST_CASE("labels follow from the tokens, but for what stands before and the last ones") {
    const Ids offsets{0, 3, 3, 4, 8, 10}, tokens{10, 11, 12, 20, 30, 31, 32, 33, 40, 41, 0, 0};
    const Ids starts{0, 0, 0, 2, 2}, last{13, 5, 21, 34, -1};
    const Ids expected{11, 12, 13, 21, -1, -1, 33, 34, -1, -1, -1, -1};
    const Rows rows(5);
    device::CpuContext cpu(1);
    Ids positions(12), labels(12, -7);
    Rows token_rows(12);
    kernels::locate_tokens(
        cpu, const_view_of(offsets), const_view_of(rows), view_of(positions), view_of(token_rows),
        {const_view_of(tokens), const_view_of(starts), const_view_of(last), view_of(labels)});
    CHECK(labels == expected);
    device::CudaContext ctx(0);
    const OnDevice on_offsets(ctx, offsets), on_tokens(ctx, tokens), on_starts(ctx, starts),
        on_last(ctx, last), on_positions(ctx, positions), on_labels(ctx, Ids(12, -7));
    const OnDevice on_rows(ctx, rows), on_token_rows(ctx, token_rows);
    kernels::locate_tokens(ctx, on_offsets.view(), on_rows.view(), on_positions.view(),
                           on_token_rows.view(),
                           {on_tokens.view(), on_starts.view(), on_last.view(), on_labels.view()});
    CHECK(on_labels.values() == expected);
}

TEST_CASE("tokens' coordinates of many sequences are the same on both devices") {
    Ids offsets{0};
    Rows rows;
    for (std::int32_t s = 0; s < 300; ++s) {
        offsets.push_back(offsets.back() + s * s % 17);
        rows.push_back(static_cast<std::uint32_t>(7 * s + 1));
    }
    const auto total = static_cast<std::size_t>(offsets.back()) + 5;
    const auto [positions, token_rows] = places_of(offsets, rows, total);
    CHECK(token_rows[total - 6] == rows[299]);
    CHECK(positions[total - 6] == 299 * 299 % 17 - 1);
}
