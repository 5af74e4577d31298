// SPDX-License-Identifier: Apache-2.0
#include "launcher/watch/slurm_step.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/files.hpp"

using namespace lockstep;
using namespace std::chrono_literals;

namespace {

// Puts a scancel with this shell text before all others, and sets PATH back at its end.
class FakeScancel {
public:
    explicit FakeScancel(const std::string& text) : path_(std::getenv("PATH")) {
        tests::write_text(folder / "scancel", "#!/bin/sh\n" + text + "\n");
        std::filesystem::permissions(folder / "scancel", std::filesystem::perms::owner_all);
        ::setenv("PATH", ((folder / "") + ":" + path_).c_str(), 1);
    }
    ~FakeScancel() { ::setenv("PATH", path_.c_str(), 1); }
    bool has(const std::string& name) const { return std::filesystem::exists(folder / name); }

    tests::ScratchFolder folder;

private:
    std::string path_;
};

}  // namespace

TEST_CASE("the step is killed by a scancel whose controller answers late") {
    const FakeScancel fake("sleep 3; echo $@ > ${0%/*}/words");
    launcher::kill_slurm_step("12.0", 60s);
    REQUIRE(fake.has("words"));
    CHECK(tests::read_text(fake.folder / "words") == "--signal=KILL --ctld 12.0\n");
}

TEST_CASE("a scancel that fails is called again") {
    const FakeScancel fake("cd ${0%/*}; [ -e first ] || { touch first; exit 1; }; touch second");
    launcher::kill_slurm_step("12.0", 60s);
    CHECK(fake.has("second"));
}

TEST_CASE("without an answer or a scancel the call returns") {
    const FakeScancel fake("exec sleep 5");
    launcher::kill_slurm_step("12.0", 100ms);
    ::setenv("PATH", "/nowhere", 1);
    launcher::kill_slurm_step("12.0", 1h);
}
