// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/scratch_file.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <vector>

#include "runtime/core/system_failure.hpp"
#include "runtime/files/io_thread.hpp"
#include "tests/runtime/train/file_size_limit.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using tests::ScratchFolder;

namespace {

constexpr std::size_t block = ScratchFile::block_values;

// Memory of whole blocks.
struct Blocks {
    explicit Blocks(std::size_t count)
        : memory(static_cast<float*>(
                     std::aligned_alloc(ScratchFile::block, count * ScratchFile::block)),
                 &std::free),
          values(memory.get(), count * block) {
        for (float& value : values) value = 0;
    }
    std::unique_ptr<float, decltype(&std::free)> memory;
    HostView<float> values;
};

}  // namespace

TEST_CASE("a scratch file has no name, and its ranges show what is read and written") {
    const ScratchFolder folder;
    ScratchFile file(folder.path()), other(folder.path());
    const ScratchRange first = file.extend(5);  // less than a block
    const ScratchRange second = file.extend(2 * block + 1);
    (void)other.extend(block);
    CHECK(folder.names().empty());
    CHECK(first.first == 0);
    CHECK(first.values.size() == 5);
    CHECK(second.first == ScratchFile::block);
    CHECK(second.values.size() == 2 * block + 1);
    CHECK(ScratchFile::bytes_of(2 * block + 1) == 3 * ScratchFile::block);
    for (const float value : second.values) REQUIRE(value == 0);

    second.values[block] = 7;
    file.flush();
    Blocks blocks(1);
    file.read(second.first + ScratchFile::block, blocks.values);
    CHECK(blocks.values[0] == 7);
    for (int i = 1; i < 4; ++i) {
        blocks.values[1] = static_cast<float>(i);
        file.write(second.first + ScratchFile::block, blocks.values);
        CHECK(second.values[block] == 7);
        CHECK(second.values[block + 1] == static_cast<float>(i));
    }
    CHECK(second.values[block - 1] == 0);
    CHECK_NOTHROW(file.check_readable());
    CHECK_THROWS_AS(file.read(second.first + 3 * ScratchFile::block, blocks.values),
                    SystemFailure);  // behind the end
}

TEST_CASE("a folder that cannot hold a scratch file is a wrong request") {
    const ScratchFolder folder;
    CHECK_THROWS_WITH_AS(ScratchFile(folder / "none"),
                         doctest::Contains("none: no file can be made there: No such file"), Error);
    ScratchFile file(folder.path());
    const tests::FileSizeLimit limit(2 * ScratchFile::block);
    CHECK_NOTHROW(file.reserve(2 * ScratchFile::block));
    try {
        (void)file.extend(2 * block + 1);
        FAIL("there was room");
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::config);
        CHECK(std::string(error.what()).starts_with(file.path() + ": no room for 12288 bytes"));
    }
}

TEST_CASE("a write that fails names the file and the call") {
    const ScratchFolder folder;
    ScratchFile file(folder.path());
    (void)file.extend(2 * block);
    Blocks blocks(2);
    const tests::FileSizeLimit limit(ScratchFile::block);
    CHECK_THROWS_WITH_AS(file.write(0, blocks.values),
                         doctest::Contains((file.path() + ": pwrite: File too large").c_str()),
                         SystemFailure);
}

TEST_CASE("jobs of an I/O thread run in order, and none after one that fails") {
    std::vector<int> done;
    IoThread io;
    CHECK_NOTHROW(io.wait(0));
    const auto first = io.start([&] { done.push_back(1); });
    const auto second = io.start([&] { done.push_back(2); });
    io.wait(second);
    io.wait(first);
    CHECK(done == std::vector{1, 2});
    (void)io.start([] { throw std::runtime_error("full"); });
    const auto last = io.start([&] { done.push_back(3); });
    CHECK_THROWS_WITH(io.wait(last), "full");
    CHECK(done == std::vector{1, 2});
}
