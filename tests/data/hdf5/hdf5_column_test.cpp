// SPDX-License-Identifier: Apache-2.0
#include "data/hdf5/hdf5_column.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "data/hdf5/hdf5_read.hpp"
#include "data/hdf5/hdf5_writer.hpp"
#include "runtime/core/philox.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::data;

namespace {

constexpr std::uint64_t chunks = 64, chunk_rows = 1024, kept_chunks = 4;
constexpr char filling = 0x5A;

void write_file(const std::string& path) {
    Hdf5Output file(path);
    {
        Hdf5Column column(file, "values", H5T_STD_I32LE, sizeof(std::int32_t), 1, chunk_rows);
        const std::vector<std::int32_t> values(chunks * chunk_rows, 0x5A5A5A5A);
        column.append(std::span<const std::int32_t>(values));
        column.close();
    }
    file.close();
}

}  // namespace

// Rows that are cut are not read to their ends.
TEST_CASE("chunks of which a part was read leave a cache that is full") {
    const tests::ScratchFolder folder;
    const std::string path = folder / "file.h5";
    write_file(path);
    const Hdf5Section section;
    const Hdf5File file = hdf5::open_file(path);
    constexpr std::size_t cache_bytes = kept_chunks * chunk_rows * sizeof(std::int32_t);
    const hdf5::Column column = hdf5::open_column(file, "values", {H5T_STD_I32LE, 1}, cache_bytes);
    REQUIRE_MESSAGE(column, column.problem);
    const auto read_at = [&](std::uint64_t row) {
        std::array<std::int32_t, 1> value{};
        return hdf5::read<std::int32_t>(column, row, value);
    };
    PhiloxStream random(7);
    for (int i = 0; i < 5000; ++i)
        REQUIRE(read_at(random() % (chunks * chunk_rows)) == hdf5::Outcome::done);
    // What is read from the file again has a wrong checksum now.
    std::string bytes = tests::read_text(path);
    std::ranges::replace(bytes, filling, 'x');
    tests::write_text(path, bytes);
    std::size_t kept = 0;
    for (std::uint64_t chunk = 0; chunk < chunks; ++chunk)
        kept += read_at(chunk * chunk_rows) == hdf5::Outcome::done ? 1 : 0;
    CHECK(kept <= kept_chunks);
}
