// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/primitives/index.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace lockstep::kernels::cuda;

TEST_CASE("the vectors of a matrix cover each element once, in order of rows") {
    for (const std::int64_t rows : {0, 1, 7, 33})
        for (const std::int64_t cols : {1, 4, 31, 32, 33, 1000})
            for (const std::int64_t width : {1, 4, 8}) {
                std::vector<int> covered(static_cast<std::size_t>(rows * cols));
                Cell before{0, -1};
                for (std::int64_t i = 0; i < vector_cells(rows, cols, width); ++i) {
                    const Cell at = vector_cell(i, cols, width);
                    REQUIRE(at.row < rows);
                    REQUIRE(at.col % width == 0);
                    REQUIRE((at.row > before.row || at.col > before.col));
                    before = at;
                    for (std::int64_t j = at.col; j < std::min(at.col + width, cols); ++j)
                        ++covered[static_cast<std::size_t>(at.row * cols + j)];
                }
                REQUIRE(covered == std::vector<int>(covered.size(), 1));
            }
}

TEST_CASE("the vector that is some vectors after another") {
    for (const std::int64_t cols : {1, 31, 32, 1000})
        for (const std::int64_t width : {1, 8})
            for (std::int64_t first = 0; first < 300; first += 7)
                for (std::uint32_t more = 0; more < 600; ++more) {
                    const Cell begin = vector_cell(first, cols, width);
                    const Cell at = vector_cell_after(begin, more, cols, width);
                    const Cell expected = vector_cell(first + more, cols, width);
                    REQUIRE(at.row == expected.row);
                    REQUIRE(at.col == expected.col);
                }
    const Cell far = vector_cell_after({std::int64_t{1} << 33, 64}, 1000, 128, 8);
    CHECK(far.row == (std::int64_t{1} << 33) + 63);
    CHECK(far.col == 0);
}

TEST_CASE("the vectors of a matrix of more than 2^32 elements") {
    const std::int64_t cols = 50257, width = 1, last = 200'000 * cols - 1;
    const Cell at = vector_cell(last, cols, width);
    CHECK(at.row == 199'999);
    CHECK(at.col == cols - 1);
    CHECK(vector_cells(200'000, cols, width) == last + 1);
}

TEST_CASE("every tile of every sequence is a block's, in the order asked for") {
    for (const int tiles : {1, 2, 7})
        for (const TileOrder order : {TileOrder::first_to_last, TileOrder::last_to_first})
            for (unsigned block = 0; block < 5u * static_cast<unsigned>(tiles); ++block) {
                const TileOffset at = tile_place(block, tiles, order);
                const int within = static_cast<int>(block) % tiles;
                CHECK(at.sequence == static_cast<int>(block) / tiles);
                CHECK(at.tile == (order == TileOrder::first_to_last ? within : tiles - 1 - within));
            }
}

TEST_CASE("swizzled chunks stand apart, and 8 rows' chunks in different banks") {
    for (const unsigned chunks : {4u, 8u, 16u}) {
        std::vector<int> taken(64 * chunks);
        for (unsigned row = 0; row < 64; ++row)
            for (unsigned chunk = 0; chunk < chunks; ++chunk) {
                const unsigned at = swizzled(row, chunk, chunks);
                ++taken[at];
                // The addresses in kernels rely on this.
                for (unsigned turn = 0; turn < chunks; ++turn)
                    REQUIRE(swizzled(row, chunk ^ turn, chunks) == (at ^ turn));
                REQUIRE(swizzled(row + 8, chunk, chunks) == at + 8 * chunks);
            }
        REQUIRE(taken == std::vector<int>(taken.size(), 1));
        for (unsigned first = 0; first < 64; first += 8)
            for (unsigned chunk = 0; chunk < chunks; ++chunk) {
                unsigned banks = 0;
                for (unsigned row = first; row < first + 8; ++row)
                    banks |= 1u << swizzled(row, chunk, chunks) % 8;
                REQUIRE(banks == 0xFF);
            }
    }
}
