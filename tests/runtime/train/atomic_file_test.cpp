// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/atomic_file.hpp"

#include <doctest/doctest.h>

#include "runtime/core/error.hpp"
#include "tests/runtime/train/file_size_limit.hpp"
#include "tests/runtime/train/temporary_folder.hpp"

using namespace lockstep;
using train::AtomicDirectory;
using train::AtomicFile;
using train::OutputFile;
using Names = std::set<std::string>;

namespace {

template <class Action>
std::string io_error(Action action) {
    try {
        action();
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::io);
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("a file appears whole on commit, over an older one") {
    const test::TemporaryFolder folder;
    const std::string path = folder.path() + "/file";
    train::write_atomically(path, "old");
    {
        AtomicFile file(path);
        file.write("ne");
        file.write("w");
        CHECK(test::read_file(path) == "old");
        file.commit();
    }
    CHECK(test::read_file(path) == "new");
    CHECK(folder.names() == Names{"file"});
}

TEST_CASE("without commit nothing stays") {
    const test::TemporaryFolder folder;
    { AtomicFile(folder.path() + "/file").write("half"); }
    {
        const AtomicDirectory directory(folder.path() + "/directory");
        test::write_file(directory.path() + "/part", "half");
    }
    CHECK(folder.names().empty());
}

TEST_CASE("a folder appears whole on commit and replaces one of its name") {
    const test::TemporaryFolder folder;
    const std::string path = folder.path() + "/step-1";
    for (const std::string name : {"first", "second"}) {
        AtomicDirectory directory(path);
        test::write_file(directory.path() + "/" + name, name);
        directory.commit();
    }
    CHECK(folder.names() == Names{"step-1"});
    CHECK(folder.names("step-1") == Names{"second"});
}

TEST_CASE("leftovers of a killed writer are removed, nothing else") {
    const test::TemporaryFolder folder;
    test::write_file(folder.path() + "/model.safetensors.tmp-4711", "half");
    std::filesystem::create_directory(folder.path() + "/step-00000001.tmp-12");
    test::write_file(folder.path() + "/step-00000001.tmp-12/part", "half");
    for (const std::string name : {"kept.tmp-", "kept.tmp-1x", "kept"}) {
        test::write_file(folder.path() + "/" + name, "");
    }
    CHECK(train::remove_leftovers(folder.path()) == 2);
    CHECK(folder.names() == Names{"kept.tmp-", "kept.tmp-1x", "kept"});
    CHECK(train::remove_leftovers(folder.path() + "/none") == 0);
}

TEST_CASE("a disk that fills up leaves the old file and says so") {
    const test::TemporaryFolder folder;
    const std::string path = folder.path() + "/file";
    train::write_atomically(path, "old");
    std::string line;
    {
        const test::FileSizeLimit limit(1000);
        line = io_error([&] { train::write_atomically(path, std::string(5000, 'x')); });
    }
    CHECK(line.starts_with(path));
    CHECK(line.find("File too large; raise") != std::string::npos);
    CHECK(test::read_file(path) == "old");
    CHECK(folder.names() == Names{"file"});
}

TEST_CASE("errors name the path, the reason and the remedy") {
    CHECK(io_error([] { OutputFile("/dev/full", OutputFile::Mode::replace).write("x"); }) ==
          "/dev/full: cannot be written: No space left on device; free some space there or choose "
          "another folder");
    const test::TemporaryFolder folder;
    const std::string missing = folder.path() + "/none/file";
    CHECK(io_error([&] { AtomicFile file(missing); }).find("No such file") != std::string::npos);
    test::write_file(folder.path() + "/file", "");
    const std::string below = folder.path() + "/file/folder";
    CHECK(io_error([&] { train::make_folders(below); }).starts_with(below + ": cannot be made: "));
    CHECK(io_error([&] { AtomicDirectory directory(missing); }).starts_with(missing));
}

TEST_CASE("appending keeps what was there") {
    const test::TemporaryFolder folder;
    const std::string path = folder.path() + "/lines";
    for (const std::string line : {"a\n", "b\n"}) {
        OutputFile file(path, OutputFile::Mode::append);
        file.write(line);
        file.sync();
        file.close();
    }
    CHECK(test::read_file(path) == "a\nb\n");
}
