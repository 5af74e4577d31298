// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/folder/atomic_file.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>

#include "runtime/core/error.hpp"
#include "runtime/files/durable_files.hpp"
#include "tests/runtime/train/file_size_limit.hpp"
#include "tests/support/files.hpp"

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
    const tests::ScratchFolder folder;
    const std::string path = folder / "file";
    train::write_atomically(path, "old");
    {
        AtomicFile file(path);
        file.write("ne");
        file.write("w");
        CHECK(tests::read_text(path) == "old");
        file.commit();
    }
    CHECK(tests::read_text(path) == "new");
    CHECK(folder.names() == Names{"file"});
}

TEST_CASE("two writers of one name do not write into one file") {
    const tests::ScratchFolder folder;
    const std::string path = folder / "file";
    AtomicFile first(path), second(path);
    first.write("first");
    second.write("2nd");
    first.commit();
    CHECK(tests::read_text(path) == "first");
    second.commit();
    CHECK(tests::read_text(path) == "2nd");
    CHECK(folder.names() == Names{"file"});
}

TEST_CASE("without commit nothing stays") {
    const tests::ScratchFolder folder;
    { AtomicFile(folder / "file").write("half"); }
    {
        const AtomicDirectory directory(folder / "directory");
        tests::write_text(directory.path() + "/part", "half");
    }
    CHECK(folder.names().empty());
}

TEST_CASE("a folder appears whole on commit and replaces one of its name") {
    const tests::ScratchFolder folder;
    const std::string path = folder / "step-1";
    for (const std::string name : {"first", "second"}) {
        AtomicDirectory directory(path);
        tests::write_text(directory.path() + "/" + name, name);
        directory.commit();
    }
    CHECK(folder.names() == Names{"step-1"});
    CHECK(folder.names("step-1") == Names{"second"});
}

TEST_CASE("leftovers of a killed writer are removed, nothing else") {
    const tests::ScratchFolder folder;
    tests::write_text(folder / "model.safetensors.tmp-4711", "half");
    std::filesystem::create_directory(folder / "step-00000001.tmp-12");
    tests::write_text(folder / "step-00000001.tmp-12/part", "half");
    for (const std::string name : {"kept.tmp-", "kept.tmp-1x", "kept"}) {
        tests::write_text(folder.path() + "/" + name, "");
    }
    CHECK(train::remove_leftovers(folder.path()) == 2);
    CHECK(folder.names() == Names{"kept.tmp-", "kept.tmp-1x", "kept"});
    CHECK(train::remove_leftovers(folder / "none") == 0);
}

TEST_CASE("a folder that was replaced by renames is a leftover once its name is there") {
    const tests::ScratchFolder folder;
    const std::string older = "step-00000001.tmp-12ab-old";
    for (const std::string& name : {older, std::string("step-00000001"), std::string("kept-old")})
        std::filesystem::create_directory(folder.path() + "/" + name);
    CHECK(train::remove_leftovers(folder.path()) == 1);
    CHECK(folder.names() == Names{"step-00000001", "kept-old"});
    // A cut of the power between the two renames leaves the older folder alone.
    std::filesystem::create_directory(folder.path() + "/step-00000002.tmp-12ab-old");
    CHECK(train::remove_leftovers(folder.path()) == 0);
}

TEST_CASE("a disk that fills up leaves the old file and says so") {
    const tests::ScratchFolder folder;
    const std::string path = folder / "file";
    train::write_atomically(path, "old");
    std::string line;
    {
        const tests::FileSizeLimit limit(1000);
        line = io_error([&] { train::write_atomically(path, std::string(5000, 'x')); });
    }
    CHECK(line.starts_with(path));
    CHECK(line.find("File too large; raise") != std::string::npos);
    CHECK(tests::read_text(path) == "old");
    CHECK(folder.names() == Names{"file"});
}

TEST_CASE("a device or a pipe is not replaced by a file, and a link stays a link") {
    const tests::ScratchFolder folder;
    const std::string pipe = folder / "pipe", link = folder / "link", file = folder / "file";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK(io_error([&] { train::write_atomically(pipe, "text"); }) ==
          pipe + ": is no regular file, and is not replaced; choose another name");
    CHECK(std::filesystem::is_fifo(pipe));
    train::write_atomically(file, "old");
    std::filesystem::create_symlink(file, link);
    train::write_atomically(link, "new");
    CHECK(std::filesystem::is_symlink(link));
    CHECK(tests::read_text(file) == "new");
    CHECK(folder.names() == Names{"file", "link", "pipe"});
}

TEST_CASE("errors name the path, the reason and the remedy") {
    CHECK(io_error([] { OutputFile("/dev/full", OutputFile::Mode::append).write("x"); }) ==
          "/dev/full: cannot be written: No space left on device; free some space there or choose "
          "another folder");
    const tests::ScratchFolder folder;
    const std::string missing = folder / "none/file";
    CHECK(io_error([&] { AtomicFile file(missing); }).find("No such file") != std::string::npos);
    tests::write_text(folder / "file", "");
    const std::string below = folder / "file/folder";
    CHECK(
        io_error([&] { lockstep::make_folders(below); }).starts_with(below + ": cannot be made: "));
    CHECK(io_error([&] { AtomicDirectory directory(missing); }).starts_with(missing));
}

TEST_CASE("a new file takes no name that exists, and follows no link") {
    const tests::ScratchFolder folder;
    const std::string theirs = folder / "theirs", link = folder / "link";
    tests::write_text(theirs, "kept");
    std::filesystem::create_symlink(theirs, link);
    std::filesystem::create_symlink(folder / "new", folder / "dangling");
    for (const std::string& path : {theirs, link, folder / "dangling"}) {
        const std::string error = io_error([&] { OutputFile(path, OutputFile::Mode::create); });
        CHECK(error == path + ": cannot be opened for writing: File exists");
    }
    CHECK(tests::read_text(theirs) == "kept");
    CHECK(folder.names() == Names{"theirs", "link", "dangling"});
}

TEST_CASE("appending keeps what was there") {
    const tests::ScratchFolder folder;
    const std::string path = folder / "lines";
    for (const std::string line : {"a\n", "b\n"}) {
        OutputFile file(path, OutputFile::Mode::append);
        file.write(line);
        file.sync();
        file.close();
    }
    CHECK(tests::read_text(path) == "a\nb\n");
}
