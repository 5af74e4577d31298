// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// These functions are the index arithmetic of kernels. They are separate so that the host can test
// every thread of a grid.
namespace lockstep::kernels::cuda {

// The row and the column of an element of a row-major matrix.
struct Cell {
    std::int64_t row, col;
};

// Returns the first element of the i-th vector of a matrix that is divided, row by row, into
// vectors of `width` columns.
constexpr Cell vector_cell(std::int64_t i, std::int64_t cols, std::int64_t width) noexcept {
    const std::int64_t vectors = (cols + width - 1) / width;
    // Most sizes fit into 32 bits, where a division takes a quarter of the time.
    if (i <= 0xFFFFFFFF && vectors <= 0xFFFFFFFF) {
        const auto n = static_cast<std::uint32_t>(i), by = static_cast<std::uint32_t>(vectors);
        return {n / by, static_cast<std::int64_t>(n % by) * width};
    }
    return {i / vectors, i % vectors * width};
}
// Returns the vector that is `more` vectors after the one at `cell`. A row has fewer than 2^31
// vectors.
constexpr Cell vector_cell_after(Cell cell, std::uint32_t more, std::int64_t cols,
                                 std::int64_t width) noexcept {
    const auto by = static_cast<std::uint32_t>((cols + width - 1) / width);
    const std::uint32_t n = static_cast<std::uint32_t>(cell.col / width) + more;
    return {cell.row + n / by, static_cast<std::int64_t>(n % by) * width};
}
constexpr std::int64_t vector_cells(std::int64_t rows, std::int64_t cols,
                                    std::int64_t width) noexcept {
    return rows * ((cols + width - 1) / width);
}

// The sequence and the tile of a block of attention, which has `tiles` blocks for each sequence.
struct TileOffset {
    int sequence, tile;
};
enum class TileOrder { first_to_last, last_to_first };
constexpr TileOffset tile_place(unsigned block, int tiles, TileOrder order) noexcept {
    const int at = static_cast<int>(block), tile = at % tiles;
    return {at / tiles, order == TileOrder::first_to_last ? tile : tiles - 1 - tile};
}

// Returns the index in shared memory of a 16-byte chunk of a row of `chunks` (4, 8 or 16) chunks.
// The same chunk of 8 rows, from a multiple of 8 on, lies in different banks, so that a warp reads
// it with one wide read. Chunk c ^ x of the row has index swizzled(row, c) ^ x, and the index of
// the same chunk 8 rows later is larger by 8 * chunks.
constexpr unsigned swizzled(unsigned row, unsigned chunk, unsigned chunks) noexcept {
    constexpr unsigned line = 8;  // chunks that fill all banks
    const unsigned turn = chunks < line ? row / (line / chunks) % chunks : row % line;
    return row * chunks + (chunk ^ turn);
}

}  // namespace lockstep::kernels::cuda
