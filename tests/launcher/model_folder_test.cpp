// SPDX-License-Identifier: Apache-2.0
#include "launcher/model_folder.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>

#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::tests;
namespace fs = std::filesystem;

namespace {

constexpr uid_t nobody = 65534;

// Root may read everything; while this lives, it is somebody who may not.
struct Unprivileged {
    const uid_t before = geteuid();
    Unprivileged() {
        if (before == 0) REQUIRE(seteuid(nobody) == 0);
    }
    ~Unprivileged() {
        if (before == 0) CHECK(seteuid(before) == 0);
    }
};

}  // namespace

TEST_CASE("the room for a model is what is free and what its folder holds") {
    const ScratchFolder scratch;
    const std::string model = scratch / "model";
    constexpr std::size_t bytes = std::size_t{64} << 20;
    const std::string file = model + "/checkpoints/file";
    write_text(file, "");
    fs::resize_file(file, bytes);  // sparse: it takes no room
    const auto alone = launcher::room_for(scratch / "other");
    CHECK(launcher::room_for(model) > alone + bytes / 2);
    CHECK_THROWS_WITH_AS(launcher::require_room(model, alone * 2 + bytes),
                         doctest::Contains("free some space"), Error);
    launcher::require_room(model, bytes);
}

TEST_CASE("a folder inside the model's that others keep to themselves does not count") {
    const ScratchFolder scratch;
    fs::create_directories(scratch / "model/kept");
    fs::permissions(scratch.path(), fs::perms::all);
    fs::permissions(scratch / "model/kept", fs::perms::none);
    {
        const Unprivileged user;
        CHECK(launcher::room_for(scratch / "model") > 0);
    }
    fs::permissions(scratch / "model/kept", fs::perms::all);
}
