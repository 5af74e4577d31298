// SPDX-License-Identifier: Apache-2.0
#include "launcher/model_folder/model_folder.hpp"

#include <doctest/doctest.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>

#include "runtime/core/error.hpp"
#include "tests/support/files.hpp"

using namespace lockstep;
using namespace lockstep::tests;
namespace fs = std::filesystem;

namespace {

// While it lives, root is an owner like others: the rights of files count for this thread.
class OwnerRightsOnly {
public:
    OwnerRightsOnly() {
        REQUIRE(syscall(SYS_capget, &header_, before_) == 0);
        __user_cap_data_struct fewer[2] = {before_[0], before_[1]};
        fewer[0].effective &= ~(1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH);
        REQUIRE(syscall(SYS_capset, &header_, fewer) == 0);
    }
    ~OwnerRightsOnly() { CHECK(syscall(SYS_capset, &header_, before_) == 0); }
    OwnerRightsOnly(const OwnerRightsOnly&) = delete;
    OwnerRightsOnly& operator=(const OwnerRightsOnly&) = delete;

private:
    __user_cap_header_struct header_{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct before_[2]{};
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
    fs::permissions(scratch / "model/kept", fs::perms::none);
    {
        const OwnerRightsOnly owner;
        CHECK_THROWS_AS(fs::recursive_directory_iterator(scratch / "model/kept"), std::exception);
        CHECK(launcher::room_for(scratch / "model") > 0);
    }
    fs::permissions(scratch / "model/kept", fs::perms::all);
}

TEST_CASE("links to nowhere in a model's folder are named, and what the Hub's names want") {
    const ScratchFolder scratch;
    const std::string folder = scratch / "model";
    std::filesystem::create_directory(folder);
    const auto told = [&](const auto& open) {
        try {
            open();
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    for (const char* name : {"config.json", "adapter_config.json", "model.safetensors"}) {
        const std::string path = folder + "/" + name;
        std::filesystem::create_symlink("../blobs/abc", path);
        const std::string line = path + ": is a link to ../blobs/abc, which does not exist; fetch ";
        CHECK(told([&] { launcher::require_model(folder); }).starts_with(line));
        CHECK(told([&] { launcher::source_of("", folder); }).starts_with(line));
        std::filesystem::remove(path);
    }
    const std::string hint =
        "; a model of the Hugging Face Hub is fetched first: hf download no-one/Nothing-1B "
        "--local-dir FOLDER";
    CHECK(told([] { launcher::require_model("no-one/Nothing-1B"); }).ends_with(hint));
    CHECK(told([] { launcher::source_of("", "no-one/Nothing-1B"); }) ==
          "--init-model no-one/Nothing-1B: does not exist" + hint);
    for (const char* path : {"/no-one/nothing", "./nothing", "nothing", "a/b/c", "tests/nothing"})
        CHECK(told([&] { launcher::source_of("", path); }) ==
              "--init-model " + std::string(path) + ": does not exist");
}
