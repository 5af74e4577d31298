// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/output_claim.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "runtime/core/error.hpp"
#include "runtime/files/durable_files.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;

TEST_CASE("one claim of a path holds at a time, and leaves nothing") {
    const tests::ScratchFolder folder;
    std::filesystem::create_directory(folder / "made");
    for (const char* name : {"file", "made", "new"}) {
        std::optional<OutputClaim> first;
        first.emplace("--out", folder / name);
        const std::string what = (folder / name) +
                                 ": another program writes there at this moment; wait for its "
                                 "end, or choose another name";
        CHECK_THROWS_WITH_AS(OutputClaim("--out", folder / name), ("--out " + what).c_str(), Error);
        CHECK_THROWS_WITH_AS(OutputClaim("", folder / name), what.c_str(), Error);
        first.reset();
        CHECK_NOTHROW(OutputClaim("--out", folder / name));
        CHECK(folder.names() == std::set<std::string>{"made"});
    }
}

TEST_CASE("several names of a folder, and links to a file, are one claim") {
    const tests::ScratchFolder folder;
    const OutputClaim made("--out", folder / "made");
    for (const char* name : {"made/", "made//", "made/.", "./made"})
        CHECK_THROWS_AS(OutputClaim("--out", folder / name), Error);
    std::filesystem::create_symlink("made", folder / "link");
    CHECK_THROWS_AS(OutputClaim("--out", folder / "link"), Error);
}

TEST_CASE("a path without a folder, an empty one and a device need no claim") {
    const tests::ScratchFolder folder;
    for (const std::string& path : {std::string(), std::string("/dev/null"), folder / "no/file"}) {
        const OutputClaim first("--out", path);
        CHECK_NOTHROW(OutputClaim("--out", path));
    }
}

TEST_CASE("a claim removes what a killed program left of this output, and nothing else") {
    namespace fs = std::filesystem;
    const tests::ScratchFolder folder;
    const std::string random = ".tmp-0123456789abcdef";
    fs::create_directories(folder / ("out" + random + "/checkpoints"));
    std::ofstream(folder / ("out.tmp-00000000000000ff")) << "left";
    const std::set<std::string> kept{"out.tmp-2", "out.tmp-0123456789abcdeg", "out.old",
                                     "out2" + random};
    for (const std::string& name : kept) std::ofstream(folder / name) << "kept";
    { const OutputClaim claim("--out", folder / "out/"); }
    CHECK(folder.names() == kept);
    fs::create_directory(folder / ("out" + random));
    fs::create_directory_symlink(folder / "out2", folder / "out");
    { const OutputClaim claim("--out", folder / "out"); }
    CHECK_FALSE(fs::exists(folder / ("out" + random)));
}

TEST_CASE("a claim gives an older folder its name back, which a killed program was replacing") {
    namespace fs = std::filesystem;
    const tests::ScratchFolder folder;
    const std::string temporary = folder / "out.tmp-0123456789abcdef";
    fs::create_directory(temporary);
    fs::create_directories(name_aside(temporary) + "/older");
    { const OutputClaim claim("", folder / "out"); }
    CHECK(folder.names() == std::set<std::string>{"out"});
    CHECK(fs::exists(folder / "out/older"));
    fs::create_directory(name_aside(temporary));
    { const OutputClaim claim("", folder / "out"); }
    CHECK(folder.names() == std::set<std::string>{"out"});
}
